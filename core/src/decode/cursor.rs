//! # Cursor
//! The remaining bytes of a frame, as captured and as on the wire.

use super::undecoded::Undecoded;

/// A position in a frame. `wire_len` is at least `data.len()`; it is larger if a snaplen cut the frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    data: &'a [u8],
    wire_len: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(data: &'a [u8], wire_len: u32) -> Self {
        Self {
            data,
            wire_len: data.len().max(wire_len as usize),
        }
    }

    /// Returns the captured bytes from here on.
    pub(super) const fn data(&self) -> &'a [u8] {
        self.data
    }

    /// Returns the number of bytes on the wire from here on, captured or not.
    pub(super) const fn wire_len(&self) -> usize {
        self.wire_len
    }

    /// Takes a header of `N` bytes. The error is `malformed` if there were fewer bytes on the wire, and
    /// [`Undecoded::Cut`] if only the capture has fewer.
    pub(super) fn take<const N: usize>(
        &mut self,
        malformed: Undecoded,
    ) -> Result<&'a [u8; N], Undecoded> {
        let (header, rest) = self
            .data
            .split_first_chunk()
            .ok_or_else(|| self.shortage(N, malformed))?;
        self.data = rest;
        self.wire_len -= N;
        Ok(header)
    }

    /// Returns the next `N` bytes without taking them, with the errors of [`Cursor::take`].
    pub(super) fn peek<const N: usize>(
        self,
        malformed: Undecoded,
    ) -> Result<&'a [u8; N], Undecoded> {
        let mut ahead = self;
        ahead.take(malformed)
    }

    /// Takes a header of `len` bytes, with the errors of [`Cursor::take`].
    pub(super) fn take_slice(
        &mut self,
        len: usize,
        malformed: Undecoded,
    ) -> Result<&'a [u8], Undecoded> {
        let (header, rest) = self
            .data
            .split_at_checked(len)
            .ok_or_else(|| self.shortage(len, malformed))?;
        self.data = rest;
        self.wire_len -= len;
        Ok(header)
    }

    const fn shortage(&self, len: usize, malformed: Undecoded) -> Undecoded {
        if self.wire_len < len {
            malformed
        } else {
            Undecoded::Cut
        }
    }

    /// Sets the number of bytes that follow, as a header states it. It is smaller than before if the link layer padded
    /// the frame, and larger if a tool truncated the frame and changed its wire length.
    pub(super) fn set_wire_len(&mut self, wire_len: usize) {
        self.data = self.data.get(..wire_len).unwrap_or(self.data);
        self.wire_len = wire_len;
    }
}

/// Reads a big-endian 16-bit number at `offset` of a header.
pub(super) fn u16_at<const N: usize>(header: &[u8; N], offset: usize) -> u16 {
    u16::from_be_bytes([header[offset], header[offset + 1]])
}

/// Reads a big-endian 32-bit number at `offset` of a header.
pub(super) fn u32_at<const N: usize>(header: &[u8; N], offset: usize) -> u32 {
    u32::from_be_bytes([
        header[offset],
        header[offset + 1],
        header[offset + 2],
        header[offset + 3],
    ])
}

/// Reads a big-endian 128-bit number at `offset` of a header.
pub(super) fn u128_at<const N: usize>(header: &[u8; N], offset: usize) -> u128 {
    let mut octets = [0; 16];
    octets.copy_from_slice(&header[offset..offset + 16]);
    u128::from_be_bytes(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_cut_or_malformed() {
        let mut cut = Cursor::new(&[1, 2], 4);
        assert_eq!(cut.take::<4>(Undecoded::Tcp), Err(Undecoded::Cut));
        assert_eq!(cut.take::<5>(Undecoded::Tcp), Err(Undecoded::Tcp));
        assert_eq!(cut.take_slice(4, Undecoded::Tcp), Err(Undecoded::Cut));
        assert_eq!(cut.take::<2>(Undecoded::Tcp), Ok(&[1, 2]));
        assert_eq!(cut.wire_len(), 2);
    }

    #[test]
    fn a_stated_length_drops_padding_and_allows_missing_bytes() {
        let mut at = Cursor::new(&[1, 2, 3], 3);
        at.set_wire_len(2);
        assert_eq!((at.data(), at.wire_len()), (&[1, 2][..], 2));
        at.set_wire_len(9);
        assert_eq!((at.data(), at.wire_len()), (&[1, 2][..], 9));
    }

    #[test]
    fn a_wire_length_below_the_captured_length_is_raised() {
        assert_eq!(Cursor::new(&[0; 60], 0).wire_len(), 60);
    }
}
