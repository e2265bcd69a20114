//! # PPP
//! The Point-to-Point Protocol on serial lines (RFC 1661, RFC 1662) and over Ethernet (RFC 2516), and Cisco HDLC.

use super::cursor::{Cursor, u16_at};
use super::ethernet;
use super::next::Next;
use super::segment::{Layer, Path};
use super::undecoded::Undecoded;

/// Decodes PPP, with or without address and control fields, with a compressed or full protocol field.
pub(super) fn header(at: &mut Cursor<'_>) -> Result<Next<'static>, Undecoded> {
    if at.data().starts_with(&[0xff, 0x03]) {
        at.take::<2>(Undecoded::Link)?;
    }
    let [first] = *at.take(Undecoded::Link)?;
    // The last octet of a protocol number is odd, the others are even (RFC 1661 section 2).
    let protocol = if first & 1 == 1 {
        u16::from(first)
    } else {
        let [second] = *at.take(Undecoded::Link)?;
        u16::from_be_bytes([first, second])
    };
    match protocol {
        0x0021 => Ok(Next::Ipv4),
        0x0057 => Ok(Next::Ipv6),
        0x0281 | 0x0283 => Ok(Next::Mpls), // RFC 3032 section 4.3
        _ => Err(Undecoded::NotIp),
    }
}

/// Decodes LINKTYPE_PPP_WITH_DIR: one byte shows whether the capturing host sent the frame.
pub(super) fn after_direction(at: &mut Cursor<'_>) -> Result<Next<'static>, Undecoded> {
    at.take::<1>(Undecoded::Link)?;
    Ok(Next::Ppp)
}

/// Decodes PPPoE (RFC 2516 section 4). Only the session stage carries IP.
pub(super) fn pppoe(at: &mut Cursor<'_>, path: &mut Path) -> Result<Next<'static>, Undecoded> {
    const VERSION_AND_TYPE: u8 = 0x11;
    const SESSION: u8 = 0;
    let header: &[u8; 6] = at.take(Undecoded::Link)?;
    match header {
        [VERSION_AND_TYPE, SESSION, ..] => {
            path.push(Layer::Pppoe(u16_at(header, 2)));
            Ok(Next::Ppp)
        }
        [VERSION_AND_TYPE, ..] => Err(Undecoded::NotIp),
        _ => Err(Undecoded::Link),
    }
}

/// Returns whether a frame of LINKTYPE_PPP_HDLC is PPP or Cisco HDLC, by its address field.
pub(super) fn ppp_or_cisco_hdlc(at: &Cursor<'_>) -> Next<'static> {
    match at.data().first() {
        Some(0x0f | 0x8f) => Next::CiscoHdlc,
        _ => Next::Ppp,
    }
}

/// Decodes Cisco HDLC (RFC 1547 section 4.3.1): address, control, EtherType.
pub(super) fn cisco_hdlc(at: &mut Cursor<'_>) -> Result<Next<'static>, Undecoded> {
    let header: &[u8; 4] = at.take(Undecoded::Link)?;
    ethernet::payload(u16_at(header, 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ppp(bytes: &[u8]) -> Result<Next<'static>, Undecoded> {
        header(&mut Cursor::new(bytes, 0))
    }

    #[test]
    fn the_protocol_is_found_in_all_four_framings() {
        for framing in [
            &[0xff, 0x03, 0x00, 0x21][..],
            &[0xff, 0x03, 0x21],
            &[0x00, 0x21],
            &[0x21],
        ] {
            assert_eq!(ppp(framing), Ok(Next::Ipv4));
        }
        assert_eq!(ppp(&[0x57]), Ok(Next::Ipv6));
        assert_eq!(ppp(&[0x02, 0x81]), Ok(Next::Mpls));
        assert_eq!(ppp(&[0xff, 0x03, 0xc0, 0x21]), Err(Undecoded::NotIp));
        assert_eq!(ppp(&[0xff, 0x03]), Err(Undecoded::Link));
    }

    #[test]
    fn a_pppoe_session_is_kept_in_the_path() {
        let mut path = Path::default();
        assert_eq!(
            pppoe(&mut Cursor::new(&[0x11, 0, 0x12, 0x34, 0, 2], 6), &mut path),
            Ok(Next::Ppp)
        );
        assert_eq!(path.layers().collect::<Vec<_>>(), [&Layer::Pppoe(0x1234)]);
        let discovery = [0x11, 0x09, 0, 0, 0, 0];
        assert_eq!(
            pppoe(&mut Cursor::new(&discovery, 6), &mut path),
            Err(Undecoded::NotIp)
        );
    }

    #[test]
    fn cisco_hdlc_is_recognised_by_its_address() {
        assert_eq!(
            ppp_or_cisco_hdlc(&Cursor::new(&[0x0f, 0, 0x08, 0], 4)),
            Next::CiscoHdlc
        );
        assert_eq!(
            ppp_or_cisco_hdlc(&Cursor::new(&[0xff, 3, 0, 0x21], 4)),
            Next::Ppp
        );
        assert_eq!(
            cisco_hdlc(&mut Cursor::new(&[0x0f, 0, 0x08, 0], 4)),
            Ok(Next::Ipv4)
        );
    }
}
