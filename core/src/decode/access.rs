//! # Access
//! Tunnels of access networks over UDP: GTP-U (mobile networks), L2TP (dial-in) and CAPWAP (wireless LANs).

use super::cursor::{Cursor, u16_at, u32_at};
use super::ip_header::Header;
use super::next::Next;
use super::segment::{Layer, Path};
use super::undecoded::Undecoded;

/// Decodes GTP-U version 1 (3GPP TS 29.281 section 5). Only G-PDUs carry packets; `None` for other messages, which
/// count as plain datagrams.
pub(super) fn gtp<'a>(
    at: &mut Cursor<'a>,
    path: &mut Path,
    outer: Header<'a>,
) -> Result<Option<Next<'a>>, Undecoded> {
    const VERSION_AND_PROTOCOL: u8 = 0xf0;
    const VERSION_1_OF_GTP: u8 = 0x30;
    const EXTENDED: u8 = 0x07;
    const G_PDU: u8 = 255;
    let header: &[u8; 8] = at.take(Undecoded::Tunnel)?;
    if header[0] & VERSION_AND_PROTOCOL != VERSION_1_OF_GTP || header[1] != G_PDU {
        return Ok(None);
    }
    // If any of the flags is set, all three fields are present: sequence number, N-PDU number, type of the extension.
    if header[0] & EXTENDED != 0 {
        let [.., mut extension] = *at.take::<4>(Undecoded::Tunnel)?;
        while extension != 0 {
            let [words] = *at.take(Undecoded::Tunnel)?;
            let len = (usize::from(words) * 4).checked_sub(1);
            let content = at.take_slice(len.ok_or(Undecoded::Tunnel)?, Undecoded::Tunnel)?;
            extension = *content.last().ok_or(Undecoded::Tunnel)?;
        }
    }
    path.push(outer.layer());
    path.push(Layer::Gtp(u32_at(header, 4)));
    Ok(Some(Next::Ip))
}

/// Decodes L2TP version 2 (RFC 2661 section 3.1). `None` for control messages, which carry no packets, and for other
/// versions. Packets of version 3 do not state the length of their cookie (RFC 3931 section 4.1).
pub(super) fn l2tp<'a>(
    at: &mut Cursor<'a>,
    path: &mut Path,
    outer: Header<'a>,
) -> Result<Option<Next<'a>>, Undecoded> {
    const CONTROL: u16 = 0x8000;
    const LENGTH: u16 = 0x4000;
    const SEQUENCE: u16 = 0x0800;
    const OFFSET: u16 = 0x0200;
    const VERSION: u16 = 0x000f;
    let flags = u16::from_be_bytes(*at.take(Undecoded::Tunnel)?);
    if flags & VERSION != 2 || flags & CONTROL != 0 {
        return Ok(None);
    }
    if flags & LENGTH != 0 {
        at.take::<2>(Undecoded::Tunnel)?;
    }
    let numbers: &[u8; 4] = at.take(Undecoded::Tunnel)?;
    if flags & SEQUENCE != 0 {
        at.take::<4>(Undecoded::Tunnel)?;
    }
    if flags & OFFSET != 0 {
        let padding = u16::from_be_bytes(*at.take(Undecoded::Tunnel)?);
        at.take_slice(padding.into(), Undecoded::Tunnel)?;
    }
    path.push(outer.layer());
    path.push(Layer::L2tp(u16_at(numbers, 0), u16_at(numbers, 2)));
    Ok(Some(Next::Ppp))
}

/// Decodes CAPWAP data (RFC 5415 section 4.3): frames of 802.3 or 802.11 (RFC 5416 section 2.1). `None` for keep-alives
/// and other formats.
pub(super) fn capwap<'a>(
    at: &mut Cursor<'a>,
    path: &mut Path,
    outer: Header<'a>,
) -> Result<Option<Next<'a>>, Undecoded> {
    const CLEAR: u8 = 0;
    const WORDS: u32 = 0x00f8_0000;
    const BINDING: u32 = 0x0000_3e00;
    const BINDING_802_11: u32 = 1 << 9;
    const NATIVE: u32 = 0x0000_0100;
    const FRAGMENT: u32 = 0x0000_0080;
    const KEEP_ALIVE: u32 = 0x0000_0008;
    let start = u32_at(at.peek::<4>(Undecoded::Tunnel)?, 0);
    match (start >> 24) as u8 {
        CLEAR => {}
        1 => return Err(Undecoded::Dtls),
        _ => return Ok(None),
    }
    if start & KEEP_ALIVE != 0 {
        return Ok(None);
    }
    if start & FRAGMENT != 0 {
        return Err(Undecoded::CapwapFragment);
    }
    let header_len = ((start & WORDS) >> 19) as usize * 4;
    at.take_slice(header_len.max(8), Undecoded::Tunnel)?;
    path.push(outer.layer());
    path.push(Layer::Capwap);
    match (start & NATIVE != 0, start & BINDING) {
        (false, _) => Ok(Some(Next::Ethernet)),
        (true, BINDING_802_11) => {
            // Controllers of one manufacturer swap the two bytes of frame control. The type of data frames reveals it.
            const TYPE_DATA: u8 = 0x08;
            let [first, second] = *at.peek(Undecoded::Tunnel)?;
            let swapped = first & 0x0f != TYPE_DATA && second & 0x0f == TYPE_DATA;
            let padded = false;
            Ok(Some(Next::Wifi { padded, swapped }))
        }
        (true, _) => Err(Undecoded::Tunnel),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTER: Header<'_> = Header::V4(&[0; 20]);

    type Reader =
        for<'a> fn(&mut Cursor<'a>, &mut Path, Header<'a>) -> Result<Option<Next<'a>>, Undecoded>;

    /// Returns the kind of the next header and the innermost layer of the path. The header must end two bytes before
    /// the end of `bytes`.
    fn read(reader: Reader, bytes: &[u8]) -> Result<(Option<Next<'_>>, Option<Layer>), Undecoded> {
        let (mut at, mut path) = (Cursor::new(bytes, 0), Path::default());
        let next = reader(&mut at, &mut path, OUTER)?;
        if next.is_some() {
            assert_eq!(at.data(), &bytes[bytes.len() - 2..]);
        }
        Ok((next, path.layers().last().copied()))
    }

    #[test]
    fn ip_follows_the_extensions_of_gtp() {
        let plain = [0x30, 255, 0, 2, 0, 0, 0, 7, 0x45, 0];
        assert_eq!(read(gtp, &plain), Ok((Some(Next::Ip), Some(Layer::Gtp(7)))));
        // A PDU session container (3GPP TS 38.415), followed by another extension of two words.
        let extended = [
            0x34, 255, 0, 18, 0, 0, 0, 9, 0, 0, 0, 0x85, 1, 0, 9, 0x20, 2, 1, 2, 3, 4, 5, 6, 0,
            0x60, 0,
        ];
        assert_eq!(
            read(gtp, &extended),
            Ok((Some(Next::Ip), Some(Layer::Gtp(9))))
        );
        let echo_request = [0x32, 1, 0, 4, 0, 0, 0, 0, 0, 1, 0, 0];
        assert_eq!(read(gtp, &echo_request), Ok((None, None)));
        let without_end = [0x34, 255, 0, 4, 0, 0, 0, 9, 0, 0, 0, 0x85, 0, 0];
        assert_eq!(read(gtp, &without_end), Err(Undecoded::Tunnel));
    }

    #[test]
    fn l2tp_flags_determine_its_fields() {
        let shortest = [0x00, 0x02, 0, 5, 0, 6, 0xff, 0x03];
        assert_eq!(
            read(l2tp, &shortest),
            Ok((Some(Next::Ppp), Some(Layer::L2tp(5, 6))))
        );
        let all = [
            0x4a, 0x02, 0, 18, 0, 5, 0, 6, 0, 1, 0, 2, 0, 2, 9, 9, 0xff, 0x03,
        ];
        assert_eq!(
            read(l2tp, &all),
            Ok((Some(Next::Ppp), Some(Layer::L2tp(5, 6))))
        );
        let control = [0xc8, 0x02, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(read(l2tp, &control), Ok((None, None)));
        let version3 = [0x00, 0x03, 0, 0, 0, 0, 0, 1];
        assert_eq!(read(l2tp, &version3), Ok((None, None)));
    }

    #[test]
    fn capwap_carries_ethernet_and_wifi_frames() {
        let frame = |flags: [u8; 3], rest: &[u8]| {
            [&[0, flags[0], flags[1], flags[2], 0, 0, 0, 0], rest].concat()
        };
        let layer = Some(Layer::Capwap);
        assert_eq!(
            read(capwap, &frame([0x10, 0x02, 0], &[2, 2])),
            Ok((Some(Next::Ethernet), layer))
        );
        let wifi = |swapped| {
            let padded = false;
            Ok((Some(Next::Wifi { padded, swapped }), layer))
        };
        // The header has four more bytes: the address of a radio.
        assert_eq!(
            read(
                capwap,
                &frame([0x18, 0x03, 0x10], &[9, 9, 9, 9, 0x08, 0x01])
            ),
            wifi(false)
        );
        assert_eq!(
            read(capwap, &frame([0x10, 0x03, 0], &[0x01, 0x88])),
            wifi(true)
        );
        assert_eq!(
            read(capwap, &frame([0x10, 0x02, 0x80], &[2, 2])),
            Err(Undecoded::CapwapFragment)
        );
        assert_eq!(
            read(capwap, &frame([0x10, 0x02, 0x08], &[2, 2])),
            Ok((None, None))
        );
        assert_eq!(read(capwap, &[1, 0, 0, 0, 22, 254]), Err(Undecoded::Dtls));
    }
}
