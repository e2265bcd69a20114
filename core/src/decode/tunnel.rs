//! # Tunnel
//! GRE (and ERSPAN over it), VXLAN and Geneve. IP in IP has no tunnel header and is handled by `ip`.

use super::cursor::{Cursor, u16_at, u32_at};
use super::ip_header::Header;
use super::next::Next;
use super::segment::{Layer, Path};
use super::undecoded::Undecoded;
use super::{access, ethernet};

/// Decodes GRE (RFC 2784, with key and sequence number of RFC 2890), and the version of PPTP (RFC 2637 section 4.1).
pub(super) fn gre<'a>(
    at: &mut Cursor<'a>,
    path: &mut Path,
    outer: Header<'a>,
) -> Result<Next<'a>, Undecoded> {
    const CHECKSUM: u16 = 0x8000;
    const ROUTING: u16 = 0x4000;
    const KEY: u16 = 0x2000;
    const SEQUENCE: u16 = 0x1000;
    const PPTP_ACKNOWLEDGMENT: u16 = 0x0080;
    const PPTP_CALL: u32 = 0xffff;

    let start: &[u8; 4] = at.take(Undecoded::Tunnel)?;
    let flags = u16_at(start, 0);
    let is_pptp = match flags & 0x0007 {
        0 => false,
        1 => true,
        _ => return Err(Undecoded::Tunnel),
    };
    if flags & ROUTING != 0 {
        return Err(Undecoded::Tunnel); // routing of RFC 1701, deprecated by RFC 2784
    }
    if flags & CHECKSUM != 0 {
        at.take::<4>(Undecoded::Tunnel)?;
    }
    let mut key = None;
    if flags & KEY != 0 {
        let field = u32_at(at.take::<4>(Undecoded::Tunnel)?, 0);
        key = Some(if is_pptp { field & PPTP_CALL } else { field });
    }
    if flags & SEQUENCE != 0 {
        at.take::<4>(Undecoded::Tunnel)?;
    }
    if is_pptp && flags & PPTP_ACKNOWLEDGMENT != 0 {
        at.take::<4>(Undecoded::Tunnel)?;
    }
    path.push(outer.layer());
    path.push(Layer::Gre(key));
    match u16_at(start, 2) {
        0x880b => Ok(Next::Ppp),
        // ERSPAN type I has neither sequence number nor header, type II has both.
        0x88be if flags & SEQUENCE == 0 => Ok(Next::Ethernet),
        0x88be => Ok(Next::Erspan2),
        0x22eb => Ok(Next::Erspan3),
        // Access points of one manufacturer use these numbers for 802.11 frames.
        0x8200..=0x83ff => Ok(Next::Wifi {
            padded: false,
            swapped: false,
        }),
        ether_type => ethernet::payload(ether_type),
    }
}

/// Decodes ERSPAN type II (draft-foschiano-erspan-03 section 4.2).
pub(super) fn erspan2(at: &mut Cursor<'_>) -> Result<Next<'static>, Undecoded> {
    at.take::<8>(Undecoded::Tunnel)?;
    Ok(Next::Ethernet)
}

/// Decodes ERSPAN type III (draft-foschiano-erspan-03 section 4.3).
pub(super) fn erspan3(at: &mut Cursor<'_>) -> Result<Next<'static>, Undecoded> {
    const PLATFORM_SUBHEADER: u8 = 0x01;
    let header: &[u8; 12] = at.take(Undecoded::Tunnel)?;
    if header[11] & PLATFORM_SUBHEADER != 0 {
        at.take::<8>(Undecoded::Tunnel)?;
    }
    match header[10] >> 2 & 0x1f {
        0 => Ok(Next::Ethernet),
        2 => Ok(Next::Ip),
        _ => Err(Undecoded::NotIp),
    }
}

/// Decodes a UDP header whose ports are those of a tunnel; any other datagram is left to [`Next::Datagram`]. For L2TP
/// and CAPWAP the known port is the server's, and so may be the source or the destination port.
pub(super) fn udp<'a>(
    at: &mut Cursor<'a>,
    path: &mut Path,
    outer: Header<'a>,
) -> Result<Next<'a>, Undecoded> {
    let mut ahead = *at;
    let header: &[u8; 8] = ahead.take(Undecoded::Udp)?;
    let next = match (u16_at(header, 0), u16_at(header, 2)) {
        // Linux used 8472 before the port was assigned.
        (_, 4789 | 8472) => vxlan(&mut ahead, path, outer).map(Some),
        (_, 6081) => geneve(&mut ahead, path, outer).map(Some),
        (_, 2152) => access::gtp(&mut ahead, path, outer),
        (_, 1701) | (1701, _) => access::l2tp(&mut ahead, path, outer),
        (_, 5247) | (5247, _) => access::capwap(&mut ahead, path, outer),
        _ => Ok(None),
    };
    let Some(next) = next? else {
        return Ok(Next::Datagram(outer));
    };
    *at = ahead;
    Ok(next)
}

/// Decodes VXLAN (RFC 7348 section 5).
fn vxlan<'a>(
    at: &mut Cursor<'a>,
    path: &mut Path,
    outer: Header<'a>,
) -> Result<Next<'a>, Undecoded> {
    const NETWORK_IDENTIFIER_VALID: u8 = 0x08;
    let header: &[u8; 8] = at.take(Undecoded::Tunnel)?;
    if header[0] & NETWORK_IDENTIFIER_VALID == 0 {
        return Err(Undecoded::Tunnel);
    }
    path.push(outer.layer());
    path.push(Layer::Vxlan(u32_at(header, 4) >> 8));
    Ok(Next::Ethernet)
}

/// Decodes Geneve (RFC 8926 section 3.4).
fn geneve<'a>(
    at: &mut Cursor<'a>,
    path: &mut Path,
    outer: Header<'a>,
) -> Result<Next<'a>, Undecoded> {
    let header: &[u8; 8] = at.take(Undecoded::Tunnel)?;
    if header[0] >> 6 != 0 {
        return Err(Undecoded::Tunnel);
    }
    at.take_slice(usize::from(header[0] & 0x3f) * 4, Undecoded::Tunnel)?;
    path.push(outer.layer());
    path.push(Layer::Geneve(u32_at(header, 4) >> 8));
    ethernet::payload(u16_at(header, 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTER: Header<'_> = Header::V4(&[0; 20]);

    type Reader = for<'a> fn(&mut Cursor<'a>, &mut Path, Header<'a>) -> Result<Next<'a>, Undecoded>;

    /// Returns the kind of the next header, the bytes from there on, and the innermost layer of the path.
    fn read(reader: Reader, bytes: &[u8]) -> Result<(Next<'_>, &[u8], Option<Layer>), Undecoded> {
        let (mut at, mut path) = (Cursor::new(bytes, 0), Path::default());
        let next = reader(&mut at, &mut path, OUTER)?;
        Ok((next, at.data(), path.layers().last().copied()))
    }

    #[test]
    fn gre_flags_determine_its_fields() {
        let end = &[0xee][..];
        let plain = [0, 0, 0x08, 0x00, 0xee];
        assert_eq!(
            read(gre, &plain),
            Ok((Next::Ipv4, end, Some(Layer::Gre(None))))
        );
        let keyed = [0x20, 0, 0x65, 0x58, 0, 0, 0, 7, 0xee];
        assert_eq!(
            read(gre, &keyed),
            Ok((Next::Ethernet, end, Some(Layer::Gre(Some(7)))))
        );
        let all = [
            0xb0, 0, 0x86, 0xdd, 9, 9, 0, 0, 0, 0, 0, 8, 1, 1, 1, 1, 0xee,
        ];
        assert_eq!(
            read(gre, &all),
            Ok((Next::Ipv6, end, Some(Layer::Gre(Some(8)))))
        );
        let pptp = [
            0x30, 0x81, 0x88, 0x0b, 0, 50, 0, 9, 0, 0, 0, 1, 0, 0, 0, 2, 0xee,
        ];
        assert_eq!(
            read(gre, &pptp),
            Ok((Next::Ppp, end, Some(Layer::Gre(Some(9)))))
        );
        assert_eq!(read(gre, &[0x40, 0, 0x08, 0]), Err(Undecoded::Tunnel));
        assert_eq!(read(gre, &[0x00, 2, 0x08, 0]), Err(Undecoded::Tunnel));
    }

    #[test]
    fn erspan_types_differ_in_their_headers() {
        assert_eq!(
            read(gre, &[0, 0, 0x88, 0xbe]).map(|r| r.0),
            Ok(Next::Ethernet)
        );
        assert_eq!(
            read(gre, &[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1]).map(|r| r.0),
            Ok(Next::Erspan2)
        );
        assert_eq!(
            read(gre, &[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1]).map(|r| r.0),
            Ok(Next::Erspan3)
        );
        let type3 = |frame_type: u8, subheader| {
            let header = [
                &[0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, frame_type << 2, subheader][..],
                &[0; 8],
            ]
            .concat();
            let mut at = Cursor::new(&header, 0);
            (erspan3(&mut at), at.wire_len())
        };
        assert_eq!(type3(0, 0), (Ok(Next::Ethernet), 8));
        assert_eq!(type3(2, 1), (Ok(Next::Ip), 0));
    }

    #[test]
    fn overlays_are_recognised_by_port_and_keep_their_network() {
        let vxlan = [
            0xc0, 0, 0x12, 0xb5, 0, 0, 0, 0, 8, 0, 0, 0, 0, 1, 2, 0, 0xee,
        ];
        assert_eq!(
            read(udp, &vxlan),
            Ok((Next::Ethernet, &[0xee][..], Some(Layer::Vxlan(0x102))))
        );
        let geneve = [
            0xc0, 0, 0x17, 0xc1, 0, 0, 0, 0, 1, 0, 0x08, 0x00, 0, 0, 3, 0, 9, 9, 9, 9, 0xee,
        ];
        assert_eq!(
            read(udp, &geneve),
            Ok((Next::Ipv4, &[0xee][..], Some(Layer::Geneve(3))))
        );
        let without_identifier = [0xc0, 0, 0x12, 0xb5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0];
        assert_eq!(read(udp, &without_identifier), Err(Undecoded::Tunnel));
        let query = [0xc0, 0, 0, 53, 0, 0, 0, 0];
        assert_eq!(
            read(udp, &query),
            Ok((Next::Datagram(OUTER), &query[..], None))
        );
    }
}
