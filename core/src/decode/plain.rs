//! # Plain
//! Fast path for nearly every frame of nearly every capture: Ethernet, IPv4 without options or fragments, TCP. The
//! result is that of the walk over all headers.

use super::cursor::{Cursor, u16_at};
use super::ip_header::Header;
use super::ipv4;
use super::link::ETHERNET;
use super::tcp::{self, Tcp};
use super::undecoded::Undecoded;

/// Decodes a frame of Ethernet, IPv4 and TCP; `None` if the walk over all headers has to decode the frame.
#[inline]
pub(super) fn frame(link_type: u32, data: &[u8], wire_len: u32) -> Option<Tcp<'_>> {
    const IPV4: u16 = 0x0800;
    const WITHOUT_OPTIONS: u8 = 0x45;
    const TCP: u8 = 6;
    if link_type != ETHERNET {
        return None;
    }
    let mut at = Cursor::new(data, wire_len);
    let ethernet: &[u8; 14] = at.take(Undecoded::Link).ok()?;
    let ip: &[u8; 20] = at.take(Undecoded::Ipv4).ok()?;
    let total_len = usize::from(u16_at(ip, 2));
    let plain = u16_at(ethernet, 12) == IPV4
        && ip[0] == WITHOUT_OPTIONS
        && ip[9] == TCP
        && total_len >= ip.len()
        && u16_at(ip, 6) & ipv4::MORE_FRAGMENTS_AND_OFFSET == 0;
    if !plain {
        return None;
    }
    at.set_wire_len(total_len - ip.len());
    tcp::header(&mut at, Header::V4(ip)).ok()
}

#[cfg(test)]
mod tests {
    use super::super::tests::packets::{HEADERS, ethernet_packet};
    use super::super::{Packet, Path, decode, walk};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn gives_the_result_of_the_walk(
            packet in ethernet_packet(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            kept in any::<prop::sample::Index>(),
            more in 0..20_u32,
        ) {
            let mut bytes = packet.bytes;
            for (at, value) in changes {
                let at = at.index(bytes.len().min(54)); // within the fixed headers
                bytes[at] = value;
            }
            let wire_len = bytes.len() as u32 + more;
            let kept = &bytes[..=kept.index(bytes.len())];
            let (mut path, mut walked) = (Path::default(), Path::default());
            let segment = |packet| match packet {
                Packet::Tcp(tcp) => Some(tcp.segment()),
                Packet::Datagram(_) | Packet::Quoted(_) => None,
            };
            let short = decode(1, kept, wire_len, HEADERS, &mut path).map(segment);
            let long = walk(1, kept, wire_len, HEADERS, &mut walked, |_, _| ()).map(segment);
            prop_assert_eq!((short, path), (long, walked));
        }
    }
}
