//! # IPv4
//! The IPv4 header (RFC 791).

use super::cursor::{Cursor, u16_at};
use super::ip;
use super::ip_header::Header;
use super::next::Next;
use super::segment::Path;
use super::undecoded::Undecoded;

/// Mask of the flag "more fragments" and the fragment offset, which are 0 in a packet that is not fragmented.
pub(super) const MORE_FRAGMENTS_AND_OFFSET: u16 = 0x3fff;

pub(super) fn header<'a>(at: &mut Cursor<'a>, path: &mut Path) -> Result<Next<'a>, Undecoded> {
    const FIXED_BYTES: usize = 20;

    let fixed: &[u8; FIXED_BYTES] = at.take(Undecoded::Ipv4)?;
    let header_len = usize::from(fixed[0] & 0x0f) * 4;
    let total_len = usize::from(u16_at(fixed, 2));
    if fixed[0] >> 4 != 4 || header_len < FIXED_BYTES {
        return Err(Undecoded::Ipv4);
    }
    // The length is 0 after segmentation offload and in packets beyond 65535 bytes ("BIG TCP").
    // Then the wire length holds.
    if total_len != 0 {
        if total_len < header_len {
            return Err(Undecoded::Ipv4);
        }
        at.set_wire_len(total_len - FIXED_BYTES);
    }
    if u16_at(fixed, 6) & MORE_FRAGMENTS_AND_OFFSET != 0 {
        return Err(Undecoded::Ipv4Fragment);
    }
    at.take_slice(header_len - FIXED_BYTES, Undecoded::Ipv4)?;
    ip::payload(Header::V4(fixed), fixed[9], path)
}

#[cfg(test)]
mod tests {
    use super::super::Layer;
    use super::*;

    /// Returns a TCP packet of 40 bytes, and one byte of Ethernet padding.
    fn packet() -> [u8; 41] {
        let mut packet = [0; 41];
        packet[..20].copy_from_slice(&[
            0x45, 0x01, 0, 40, 0x12, 0x34, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ]);
        packet
    }

    fn read(packet: &[u8]) -> (Result<Next<'_>, Undecoded>, usize) {
        let mut at = Cursor::new(packet, 0);
        (header(&mut at, &mut Path::default()), at.wire_len())
    }

    #[test]
    fn the_fields_are_read_and_the_padding_is_dropped() {
        let packet = packet();
        let (Ok(Next::Tcp(header)), 20) = read(&packet) else {
            panic!("no TCP of 20 bytes");
        };
        assert_eq!(
            header.layer(),
            Layer::Ip([10, 0, 0, 1].into(), [10, 0, 0, 2].into())
        );
        assert_eq!(
            (header.ttl(), header.ecn(), header.identification()),
            (64, 1, Some(0x1234))
        );
    }

    #[test]
    fn options_are_skipped() {
        let mut packet = packet();
        packet[0] = 0x47;
        assert_eq!(read(&packet).1, 12);
    }

    #[test]
    fn with_a_length_of_zero_the_wire_length_holds() {
        let mut packet = packet();
        packet[3] = 0;
        assert_eq!(read(&packet).1, 21);
    }

    #[test]
    fn fragments_are_recognised_and_dont_fragment_is_ignored() {
        for (flags_and_offset, is_fragment) in
            [([0x20, 0], true), ([0, 1], true), ([0x40, 0], false)]
        {
            let mut packet = packet();
            packet[6..8].copy_from_slice(&flags_and_offset);
            assert_eq!(read(&packet).0 == Err(Undecoded::Ipv4Fragment), is_fragment);
        }
    }

    #[test]
    fn impossible_headers_are_malformed() {
        for (offset, value) in [(0, 0x65), (0, 0x44), (3, 19)] {
            let mut packet = packet();
            packet[offset] = value;
            assert_eq!(read(&packet).0, Err(Undecoded::Ipv4));
        }
    }
}
