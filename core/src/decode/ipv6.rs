//! # IPv6
//! The IPv6 header and its extension headers (RFC 8200).

use super::cursor::{Cursor, u16_at};
use super::ip;
use super::ip_header::Header;
use super::next::Next;
use super::segment::Path;
use super::undecoded::Undecoded;

pub(super) fn header<'a>(at: &mut Cursor<'a>, path: &mut Path) -> Result<Next<'a>, Undecoded> {
    let fixed: &[u8; 40] = at.take(Undecoded::Ipv6)?;
    if fixed[0] >> 4 != 6 {
        return Err(Undecoded::Ipv6);
    }
    // The length is 0 in a jumbogram (RFC 2675) and after segmentation offload; then the wire length holds.
    let payload_len = u16_at(fixed, 4);
    if payload_len != 0 {
        at.set_wire_len(payload_len.into());
    }
    ip::payload(Header::V6(fixed), fixed[6], path)
}

/// Decodes an extension header of this `kind`, its protocol number. The authentication header may also follow IPv4.
pub(super) fn extension<'a>(
    at: &mut Cursor<'a>,
    path: &mut Path,
    outer: Header<'a>,
    kind: u8,
) -> Result<Next<'a>, Undecoded> {
    const FRAGMENT: u8 = 44;
    const AUTHENTICATION: u8 = 51;
    const OFFSET_AND_MORE_FRAGMENTS: u16 = 0xfff9;

    let start: &[u8; 8] = at.take(Undecoded::Ipv6)?;
    let [next, len, ..] = *start;
    let rest_bytes = match kind {
        FRAGMENT => 0,
        // The length counts units of 4 bytes, less 2 (RFC 4302 section 2.2).
        AUTHENTICATION => usize::from(len) * 4,
        // The length counts units of 8 bytes, without the first.
        _ => usize::from(len) * 8,
    };
    // A packet that is not fragmented may have a fragment header (RFC 6946, "atomic").
    if kind == FRAGMENT && u16_at(start, 2) & OFFSET_AND_MORE_FRAGMENTS != 0 {
        return Err(Undecoded::Ipv6Fragment);
    }
    at.take_slice(rest_bytes, Undecoded::Ipv6)?;
    ip::payload(outer, next, path)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::super::Layer;
    use super::*;

    const TCP: u8 = 6;

    const OUTER: Header<'_> = Header::V6(&[0; 40]);

    fn read(kind: u8, bytes: &[u8]) -> (Result<Next<'_>, Undecoded>, usize) {
        let mut at = Cursor::new(bytes, 0);
        (
            extension(&mut at, &mut Path::default(), OUTER, kind),
            at.wire_len(),
        )
    }

    #[test]
    fn the_fields_are_read_and_the_padding_is_dropped() {
        let mut packet = [0; 62];
        packet[..8].copy_from_slice(&[0x60, 0x30, 0, 0, 0, 20, TCP, 63]);
        packet[23] = 1;
        packet[39] = 2;
        let mut at = Cursor::new(&packet, 0);
        let Ok(Next::Tcp(header)) = header(&mut at, &mut Path::default()) else {
            panic!("no TCP");
        };
        let [source, destination] = [1, 2].map(|last| Ipv6Addr::from_bits(last).into());
        assert_eq!(header.layer(), Layer::Ip(source, destination));
        assert_eq!(
            (header.ttl(), header.ecn(), header.identification()),
            (63, 3, None)
        );
        assert_eq!(at.wire_len(), 20);
    }

    #[test]
    fn with_a_length_of_zero_the_wire_length_holds() {
        let mut packet = [0; 40];
        packet[0] = 0x60;
        packet[6] = TCP;
        let mut at = Cursor::new(&packet, 100_000);
        assert!(header(&mut at, &mut Path::default()).is_ok());
        assert_eq!(at.wire_len(), 99_960);
    }

    #[test]
    fn the_length_of_an_extension_counts_units_of_8_or_4_bytes() {
        let mut bytes = [0; 32];
        bytes[0] = TCP;
        bytes[1] = 2;
        assert_eq!(read(0, &bytes), (Ok(Next::Tcp(OUTER)), 8));
        assert_eq!(read(51, &bytes), (Ok(Next::Tcp(OUTER)), 16));
    }

    #[test]
    fn only_an_atomic_fragment_is_a_whole_packet() {
        let bytes = |high, low| [TCP, 0xff, high, low, 0, 0, 0, 9];
        assert_eq!(read(44, &bytes(0, 0)), (Ok(Next::Tcp(OUTER)), 0));
        assert_eq!(read(44, &bytes(0, 6)), (Ok(Next::Tcp(OUTER)), 0)); // reserved bits
        assert_eq!(read(44, &bytes(0, 1)).0, Err(Undecoded::Ipv6Fragment));
        assert_eq!(read(44, &bytes(0, 8)).0, Err(Undecoded::Ipv6Fragment));
    }
}
