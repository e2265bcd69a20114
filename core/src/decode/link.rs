//! # Link
//! Link types (<https://www.tcpdump.org/linktypes.html>) with the header that a frame begins with, and decoding of the
//! pseudo headers that exist in captures only.

use super::cursor::{Cursor, u16_at};
use super::ethernet;
use super::next::Next;
use super::undecoded::Undecoded;

const WIFI: Next<'_> = Next::Wifi {
    padded: false,
    swapped: false,
};

/// LINKTYPE_ETHERNET.
pub const ETHERNET: u32 = 1;

/// The link types that can be decoded: LINKTYPE_ value, name, first header. The most frequent one is the first.
const LINKS: &[(u32, &str, Next<'_>)] = &[
    (ETHERNET, "Ethernet", Next::Ethernet),
    (113, "Linux cooked v1", Next::Cooked),
    (276, "Linux cooked v2", Next::Cooked2),
    (0, "BSD loopback", Next::Null),
    (108, "OpenBSD loopback", Next::Null),
    (101, "raw IP", Next::Ip),
    (12, "raw IP", Next::Ip),
    (14, "raw IP", Next::Ip),
    (228, "raw IPv4", Next::Ipv4),
    (229, "raw IPv6", Next::Ipv6),
    (9, "PPP", Next::Ppp),
    (204, "PPP with direction", Next::PppWithDirection),
    (50, "PPP in HDLC framing", Next::PppOrCiscoHdlc),
    (51, "PPPoE", Next::Pppoe),
    (104, "Cisco HDLC", Next::CiscoHdlc),
    (105, "IEEE 802.11", WIFI),
    (127, "IEEE 802.11 with radiotap", Next::Radiotap),
    (119, "IEEE 802.11 with Prism header", Next::Prism),
    (163, "IEEE 802.11 with AVS header", Next::Prism),
    (10, "FDDI", Next::Fddi),
    (7, "ARCNET", Next::Arcnet),
    (129, "ARCNET of Linux", Next::ArcnetLinux),
    (242, "IP over InfiniBand", Next::Ipoib),
    (239, "NFLOG", Next::Nflog),
    (197, "ERF", Next::Erf),
];

/// Is it a link type of IEEE 802.11?
#[inline]
pub(super) const fn is_wifi(link_type: u32) -> bool {
    matches!(link_type, 105 | 119 | 127 | 163)
}

/// Did the capturing host send this frame, by the packet type of a cooked capture? `None` for frames of other links.
#[inline]
pub(super) fn was_sent(link_type: u32, data: &[u8]) -> Option<bool> {
    const PACKET_OUTGOING: u8 = 4;
    let packet_type = match link_type {
        113 => data.get(1)?,
        276 => data.get(10)?,
        _ => return None,
    };
    Some(*packet_type == PACKET_OUTGOING)
}

/// The LINKTYPE_ values that can be decoded.
pub const LINK_TYPES: &[u32] = &{
    let mut link_types = [0; LINKS.len()];
    let mut index = 0;
    while index < LINKS.len() {
        link_types[index] = LINKS[index].0;
        index += 1;
    }
    link_types
};

/// Returns the name of a link type; `None` if the link type cannot be decoded.
#[must_use]
pub fn link_type_name(link_type: u32) -> Option<&'static str> {
    LINKS
        .iter()
        .find(|link| link.0 == link_type)
        .map(|link| link.1)
}

/// Returns the kind of header that a frame of this link type begins with; `None` if it cannot be decoded.
pub(super) fn first_header(link_type: u32) -> Option<Next<'static>> {
    LINKS
        .iter()
        .find(|link| link.0 == link_type)
        .map(|link| link.2)
}

/// Decodes LINKTYPE_NULL and LINKTYPE_LOOP: an address family, in the byte order of the capturing host or of the
/// network.
pub(super) fn null(at: &mut Cursor<'_>) -> Result<Next<'static>, Undecoded> {
    let family = u32::from_le_bytes(*at.take(Undecoded::Link)?);
    // Families are small numbers, which reveals the byte order.
    let family = if family > 0xffff {
        family.swap_bytes()
    } else {
        family
    };
    match family {
        2 => Ok(Next::Ipv4),
        // AF_INET6 of Linux, Windows, NetBSD and OpenBSD, Solaris, FreeBSD, Darwin.
        10 | 23 | 24 | 26 | 28 | 30 => Ok(Next::Ipv6),
        _ => Err(Undecoded::NotIp),
    }
}

/// Decodes LINKTYPE_LINUX_SLL.
pub(super) fn cooked(at: &mut Cursor<'_>) -> Result<Next<'static>, Undecoded> {
    let header: &[u8; 16] = at.take(Undecoded::Link)?;
    cooked_payload(u16_at(header, 2), u16_at(header, 14))
}

/// Decodes LINKTYPE_LINUX_SLL2.
pub(super) fn cooked2(at: &mut Cursor<'_>) -> Result<Next<'static>, Undecoded> {
    let header: &[u8; 20] = at.take(Undecoded::Link)?;
    cooked_payload(u16_at(header, 8), u16_at(header, 0))
}

fn cooked_payload(hardware: u16, protocol: u16) -> Result<Next<'static>, Undecoded> {
    const ARPHRD_IEEE80211_RADIOTAP: u16 = 803;
    const LINUX_SLL_P_802_2: u16 = 4;
    match (hardware, protocol) {
        (ARPHRD_IEEE80211_RADIOTAP, _) => Ok(Next::Radiotap),
        (_, LINUX_SLL_P_802_2) => Ok(Next::Llc),
        (_, protocol) => ethernet::payload(protocol),
    }
}

/// Decodes LINKTYPE_NFLOG, a log message of Netfilter. Each field has a length and a type in the byte order of the
/// capturing host; one field is the packet.
pub(super) fn nflog(at: &mut Cursor<'_>) -> Result<Next<'static>, Undecoded> {
    const VERSION: u8 = 0;
    const PAYLOAD: u16 = 9;
    const TYPES_END: u16 = 0x0100;
    let [family, version, ..] = *at.take::<4>(Undecoded::Link)?;
    if version != VERSION {
        return Err(Undecoded::Link);
    }
    loop {
        let field: &[u8; 4] = at.take(Undecoded::Link)?;
        let read = [u16::from_le_bytes, u16::from_be_bytes]
            .map(|order| (order([field[0], field[1]]), order([field[2], field[3]])));
        // Types are small numbers, which reveals the byte order.
        let (len, kind) = read[usize::from(read[0].1 >= TYPES_END)];
        if kind == PAYLOAD {
            return match family {
                2 => Ok(Next::Ipv4),
                10 => Ok(Next::Ipv6),
                _ => Err(Undecoded::NotIp),
            };
        }
        let content = usize::from(len).checked_sub(4).ok_or(Undecoded::Link)?;
        at.take_slice(content.next_multiple_of(4), Undecoded::Link)?;
    }
}

/// Decodes LINKTYPE_ERF: a record of a DAG card (Endace's Extensible Record Format), whose type determines the next
/// header. `editcap` converts an ERF file to a capture of this link type.
pub(super) fn erf(at: &mut Cursor<'_>) -> Result<Next<'static>, Undecoded> {
    const MORE: u8 = 0x80;
    let record: &[u8; 16] = at.take(Undecoded::Link)?;
    let kind = record[8];
    let mut more = kind & MORE;
    while more != 0 {
        let [extension, ..] = *at.take::<8>(Undecoded::Link)?;
        more = extension & MORE;
    }
    match kind & !MORE {
        // Packets over SONET: plain, coloured, by channel or stream, with a hash.
        1 | 10 | 15 | 17 | 19 => Ok(Next::PppOrCiscoHdlc),
        // Ethernet: plain, coloured, by channel or stream, with a hash; two bytes of padding precede it.
        2 | 11 | 16 | 20 => {
            at.take::<2>(Undecoded::Link)?;
            Ok(Next::Ethernet)
        }
        22 => Ok(Next::Ipv4),
        23 => Ok(Next::Ipv6),
        _ => Err(Undecoded::NotIp),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packet_of_an_nflog_message_follows_other_fields() {
        let mark = |len: [u8; 2], kind: [u8; 2]| [&len[..], &kind, &[1, 0]].concat();
        let little = [
            &[10, 0, 0, 0][..],
            &mark([6, 0], [10, 0]),
            &[0, 0],
            &[5, 0, 9, 0, 0x60],
        ]
        .concat();
        let big = [
            &[2, 0, 0, 5][..],
            &mark([0, 6], [0, 10]),
            &[0, 0],
            &[0, 5, 0, 9, 0x45],
        ]
        .concat();
        for (frame, next) in [(little, Next::Ipv6), (big, Next::Ipv4)] {
            let mut at = Cursor::new(&frame, 0);
            assert_eq!(nflog(&mut at), Ok(next));
            assert_eq!(at.wire_len(), 1);
        }
        let mut without_end = Cursor::new(&[2, 0, 0, 5, 0, 0, 10, 0, 0], 0);
        assert_eq!(nflog(&mut without_end), Err(Undecoded::Link));
    }

    #[test]
    fn the_type_of_an_erf_record_determines_the_next_header() {
        let record = |kind: u8, rest: &[u8]| [&[0; 8][..], &[kind], &[0; 7], rest].concat();
        let read = |frame: &[u8]| erf(&mut Cursor::new(frame, 0));
        for (kind, next) in [
            (1, Next::PppOrCiscoHdlc),
            (22, Next::Ipv4),
            (23, Next::Ipv6),
        ] {
            assert_eq!(read(&record(kind, &[])), Ok(next));
        }
        assert_eq!(read(&record(2, &[0; 2])), Ok(Next::Ethernet));
        assert_eq!(read(&record(2, &[0])), Err(Undecoded::Link));
        let extended = |last: u8| [&[0x80][..], &[0; 7], &[last], &[0; 7]].concat();
        assert_eq!(read(&record(0x80 | 22, &extended(0))), Ok(Next::Ipv4));
        // A metadata record of the card, and extensions without an end.
        assert_eq!(read(&record(27, &[])), Err(Undecoded::NotIp));
        assert_eq!(
            read(&record(0x80 | 22, &extended(0x80))),
            Err(Undecoded::Link)
        );
    }

    fn family(bytes: [u8; 4]) -> Result<Next<'static>, Undecoded> {
        null(&mut Cursor::new(&bytes, 4))
    }

    #[test]
    fn a_family_is_read_in_both_byte_orders() {
        for family_inet6 in [10, 23, 24, 26, 28, 30_u32] {
            assert_eq!(family(family_inet6.to_be_bytes()), Ok(Next::Ipv6));
            assert_eq!(family(family_inet6.to_le_bytes()), Ok(Next::Ipv6));
        }
        assert_eq!(family([0, 0, 0, 2]), Ok(Next::Ipv4));
        assert_eq!(family([2, 0, 0, 0]), Ok(Next::Ipv4));
        assert_eq!(family([0, 0, 0, 7]), Err(Undecoded::NotIp));
    }

    #[test]
    fn cooked_frames_carry_an_ether_type_llc_or_radiotap() {
        let v1 = |hardware: u8, high: u8, low: u8| {
            let header = [0, 0, 3, hardware, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, high, low];
            cooked(&mut Cursor::new(&header, 16))
        };
        assert_eq!(v1(1, 0x08, 0x00), Ok(Next::Ipv4));
        assert_eq!(v1(1, 0x00, 0x04), Ok(Next::Llc));
        assert_eq!(v1(35, 0x08, 0x00), Ok(Next::Radiotap)); // 0x0323 = 803
        let v2 = [
            0x86, 0xdd, 0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0,
        ];
        assert_eq!(cooked2(&mut Cursor::new(&v2, 20)), Ok(Next::Ipv6));
    }

    #[test]
    fn every_link_type_has_a_name_and_occurs_once() {
        for (index, link_type) in LINK_TYPES.iter().enumerate() {
            assert!(link_type_name(*link_type).is_some());
            assert!(!LINK_TYPES[..index].contains(link_type));
        }
        assert_eq!(link_type_name(147), None);
    }
}
