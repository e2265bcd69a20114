//! # Datagram
//! UDP datagrams (RFC 768) that carry no tunnel: endpoints, payload length, and the first bytes of the payload.

use super::cursor::{Cursor, u16_at};
use super::ip_header::Header;
use super::segment::Endpoint;
use super::undecoded::Undecoded;

/// A decoded UDP datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// Source address and port.
    pub source: Endpoint,
    /// Destination address and port.
    pub destination: Endpoint,
    /// Number of payload bytes on the wire, captured or not.
    pub payload_bytes: u32,
    /// The first bytes of the payload; `None` if fewer bytes exist or were captured.
    pub head: Option<[u8; Datagram::HEAD_BYTES]>,
}

impl Datagram {
    /// Number of payload bytes kept: enough for the sequence numbers and times that measuring tools write there.
    pub const HEAD_BYTES: usize = 16;
}

/// Decodes the UDP header, the last of a frame, which must be captured completely.
pub(super) fn datagram(at: &mut Cursor<'_>, ip: Header<'_>) -> Result<Datagram, Undecoded> {
    const FIXED_BYTES: usize = 8;

    let fixed: &[u8; FIXED_BYTES] = at.take(Undecoded::Udp)?;
    // The length is 0 in a jumbogram (RFC 2675 section 4), and a length beyond the packet is wrong. In both cases the
    // length of the packet holds.
    let stated = usize::from(u16_at(fixed, 4)).checked_sub(FIXED_BYTES);
    let payload_len = stated.unwrap_or(usize::MAX).min(at.wire_len());
    at.set_wire_len(payload_len);
    let [source, destination] = ip.ends(fixed);
    Ok(Datagram {
        source,
        destination,
        payload_bytes: u32::try_from(payload_len).unwrap_or(u32::MAX),
        head: at.data().first_chunk().copied(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const IP: Header<'_> = Header::V4(&[0; 20]);

    /// Reads a datagram from port 1 to port 2; returns its payload length, and whether it has its first bytes.
    fn read(stated: u16, payload: &[u8], wire_len: u32) -> Result<(u32, bool), Undecoded> {
        let bytes = [&[0, 1, 0, 2][..], &stated.to_be_bytes(), &[0, 0], payload].concat();
        let datagram = datagram(&mut Cursor::new(&bytes, wire_len), IP)?;
        assert_eq!((datagram.source.port, datagram.destination.port), (1, 2));
        Ok((datagram.payload_bytes, datagram.head.is_some()))
    }

    #[test]
    fn the_payload_length_is_limited_by_header_and_packet() {
        assert_eq!(read(8 + 20, &[0; 20], 0), Ok((20, true)));
        assert_eq!(read(8 + 4, &[0; 20], 0), Ok((4, false)));
        assert_eq!(read(0, &[0; 20], 0), Ok((20, true)));
        assert_eq!(read(8 + 21, &[0; 20], 0), Ok((20, true)));
        assert_eq!(read(8 + 1000, &[0; 15], 8 + 1000), Ok((1000, false)));
    }

    #[test]
    fn a_header_that_ends_early_is_malformed_or_cut() {
        let header = [0, 1, 0, 2, 0, 8, 0];
        let read = |wire_len| datagram(&mut Cursor::new(&header, wire_len), IP);
        assert_eq!(read(7), Err(Undecoded::Udp));
        assert_eq!(read(8), Err(Undecoded::Cut));
    }
}
