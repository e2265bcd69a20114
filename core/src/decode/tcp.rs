//! # TCP
//! The TCP header (RFC 9293 section 3.1).

use super::cursor::{Cursor, u16_at, u32_at};
use super::ip_header::Header;
use super::marks::Marks;
use super::segment::{Endpoint, Flags, Options, Segment};
use super::undecoded::Undecoded;

/// A TCP header in a frame, whose fields are not read yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tcp<'a> {
    ip: Header<'a>,
    fixed: &'a [u8; Tcp::FIXED_BYTES],
    /// Captured bytes after the fixed part: options and payload.
    rest: &'a [u8],
    options_bytes: u8,
    payload_bytes: u32,
}

impl<'a> Tcp<'a> {
    const FIXED_BYTES: usize = 20;

    /// Returns source and destination.
    #[must_use]
    pub fn ends(&self) -> [Endpoint; 2] {
        self.ip.ends(self.fixed)
    }

    /// Returns the time to live or hop limit.
    #[must_use]
    pub fn ttl(&self) -> u8 {
        self.ip.ttl()
    }

    /// Returns whether payload follows the header on the wire.
    #[inline]
    #[must_use]
    pub fn has_payload(&self) -> bool {
        self.payload_bytes > 0
    }

    /// Returns whether the segment acknowledges alone: it has neither payload nor SYN, FIN or RST.
    #[inline]
    #[must_use]
    pub fn is_pure_ack(&self) -> bool {
        let control = Flags::SYN | Flags::FIN | Flags::RST;
        !self.has_payload() && self.flags().0 & control == 0
    }

    /// Returns the captured part of the options, which are the end of the header.
    #[inline]
    pub(super) fn options(&self) -> &'a [u8] {
        let length = usize::from(self.options_bytes).min(self.rest.len());
        &self.rest[..length]
    }

    /// Returns whether the snaplen cut the options.
    #[inline]
    fn is_cut(&self) -> bool {
        self.rest.len() < usize::from(self.options_bytes)
    }

    /// Reads the fields of the header.
    #[must_use]
    pub fn segment(&self) -> Segment {
        let mut segment = self.with(Options::parse(self.options(), self.is_cut()));
        if self.may_have_marks() {
            segment.marks = self.marks();
        }
        segment
    }

    /// Reads the fields of a header over IPv4, without marks and without options other than timestamps. Nearly every
    /// segment of an open connection has such a header; `None` for any other one.
    #[must_use]
    #[inline(always)] // for every segment, and most of its fields stay in registers
    pub fn usual(&self) -> Option<Segment> {
        let Header::V4(fixed) = self.ip else {
            return None;
        };
        if self.is_cut() || self.may_have_marks() {
            return None;
        }
        let timestamps = Options::usual_timestamps(self.options())?;
        let options = Options {
            timestamps,
            ..Options::default()
        };
        // The addresses then have one size only.
        let ip = Header::V4(fixed);
        Some(Self { ip, ..*self }.with(options))
    }

    /// Returns the segment with these options and without marks.
    #[inline(always)] // see `usual`
    fn with(&self, options: Options) -> Segment {
        let fixed = self.fixed;
        let [source, destination] = self.ends();
        Segment {
            source,
            destination,
            sequence: u32_at(fixed, 4),
            acknowledgment: u32_at(fixed, 8),
            flags: self.flags(),
            window: u16_at(fixed, 14),
            header_bytes: (fixed[12] >> 4) * 4,
            payload_bytes: self.payload_bytes,
            options,
            ttl: self.ip.ttl(),
            identification: self.ip.identification(),
            ecn: self.ip.ecn(),
            checksum: u16_at(fixed, 16),
            marks: Marks::default(),
        }
    }

    /// Returns the flag bits.
    #[must_use]
    pub fn flags(&self) -> Flags {
        Flags(self.fixed[13])
    }

    /// Is this a SYN, or has the payload the length or the beginning of one with a mark?
    fn may_have_marks(&self) -> bool {
        self.flags().has(Flags::SYN) || Marks::may_mark(self.payload_bytes, self.payload())
    }

    /// Returns the captured bytes of the payload, and those that pad it.
    fn payload(&self) -> &[u8] {
        (self.rest.get(usize::from(self.options_bytes)..)).unwrap_or_default()
    }

    /// Returns the marks of a SYN, or of a payload that may have one.
    #[cold]
    #[inline(never)]
    fn marks(&self) -> Marks {
        if self.flags().has(Flags::SYN) {
            Marks::of_syn(
                self.ip.identification(),
                self.ip.dont_fragment(),
                self.options(),
                self.is_cut(),
                self.payload_bytes > 0,
            )
        } else {
            Marks::of_payload(self.payload_bytes, self.payload())
        }
    }
}

/// Decodes the TCP header, the last of a frame. Its fixed part must be captured completely, its options need not be.
#[inline]
pub(super) fn header<'a>(at: &mut Cursor<'a>, ip: Header<'a>) -> Result<Tcp<'a>, Undecoded> {
    let fixed: &[u8; Tcp::FIXED_BYTES] = at.take(Undecoded::Tcp)?;
    let header_len = usize::from(fixed[12] >> 4) * 4;
    let options_len = header_len
        .checked_sub(Tcp::FIXED_BYTES)
        .ok_or(Undecoded::Tcp)?;
    let payload_len = at
        .wire_len()
        .checked_sub(options_len)
        .ok_or(Undecoded::Tcp)?;
    Ok(Tcp {
        ip,
        fixed,
        rest: at.data(),
        options_bytes: options_len as u8, // at most 40: the field that holds the length has four bits
        payload_bytes: u32::try_from(payload_len).unwrap_or(u32::MAX),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], wire_len: u32) -> Result<Segment, Undecoded> {
        header(&mut Cursor::new(bytes, wire_len), Header::V4(&[0; 20])).map(|tcp| tcp.segment())
    }

    /// Header with ports 1 and 2, sequence 3, acknowledgment 4, SYN and ACK, window 5, checksum 6, and an MSS of 1460.
    const SYN_ACK: [u8; 24] = [
        0, 1, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0x60, 0x12, 0, 5, 0, 6, 0, 0, 2, 4, 0x05, 0xb4,
    ];

    #[test]
    fn the_fields_are_read() {
        let segment = read(&SYN_ACK, 30).expect("a segment");
        assert_eq!((segment.source.port, segment.destination.port), (1, 2));
        assert_eq!((segment.sequence, segment.acknowledgment), (3, 4));
        assert_eq!(
            (segment.flags, segment.window, segment.checksum),
            (Flags(Flags::SYN | Flags::ACK), 5, 6)
        );
        assert_eq!(
            segment.options,
            Options {
                mss: Some(1460),
                ..Options::default()
            }
        );
        assert_eq!(segment.payload_bytes, 6);
    }

    #[test]
    fn options_cut_by_the_snaplen_are_incomplete() {
        let segment = read(&SYN_ACK[..22], 30).expect("a segment");
        assert_eq!(
            segment.options,
            Options {
                incomplete: true,
                ..Options::default()
            }
        );
        assert_eq!(segment.payload_bytes, 6);
    }

    #[test]
    fn a_header_that_ends_early_is_cut_or_malformed() {
        assert_eq!(read(&SYN_ACK[..19], 30), Err(Undecoded::Cut));
        assert_eq!(read(&SYN_ACK[..19], 19), Err(Undecoded::Tcp));
        assert_eq!(read(&SYN_ACK[..23], 23), Err(Undecoded::Tcp));
        let mut short_offset = SYN_ACK;
        short_offset[12] = 0x40;
        assert_eq!(read(&short_offset, 24), Err(Undecoded::Tcp));
    }
}
