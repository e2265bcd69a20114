//! # Wi-Fi
//! IEEE 802.11 data frames, and the pseudo headers that drivers add before them.

use super::cursor::{Cursor, u32_at};
use super::next::Next;
use super::undecoded::Undecoded;

/// Decodes radiotap (<https://www.radiotap.org>), whose flags announce padding and a frame check sequence.
pub(super) fn radiotap(at: &mut Cursor<'_>) -> Result<Next<'static>, Undecoded> {
    const FCS_AT_END: u8 = 0x10;
    const DATA_PAD: u8 = 0x20;
    const BAD_FCS: u8 = 0x40;
    const FCS_BYTES: usize = 4;

    let mut ahead = *at;
    let [_version, _pad, low, high, ..] = ahead.take::<8>(Undecoded::Link)?;
    let header = at.take_slice(u16::from_le_bytes([*low, *high]).into(), Undecoded::Link)?;
    let flags = radiotap_flags(header).unwrap_or(0);
    if flags & BAD_FCS != 0 {
        return Err(Undecoded::WifiBadFcs);
    }
    if flags & FCS_AT_END != 0 {
        at.set_wire_len(at.wire_len().saturating_sub(FCS_BYTES));
    }
    Ok(Next::Wifi {
        padded: flags & DATA_PAD != 0,
        swapped: false,
    })
}

/// Returns the flags field; `None` if there is none. It follows the presence words, and the 64-bit timestamp at its
/// natural alignment.
fn radiotap_flags(header: &[u8]) -> Option<u8> {
    const TIMESTAMP: u32 = 1 << 0;
    const FLAGS: u32 = 1 << 1;
    const MORE_PRESENCE_WORDS: u32 = 1 << 31;

    let mut words = header
        .get(4..)?
        .as_chunks::<4>()
        .0
        .iter()
        .map(|word| u32::from_le_bytes(*word));
    let present = words.next()?;
    let more_words = if present & MORE_PRESENCE_WORDS == 0 {
        0
    } else {
        1 + words
            .take_while(|word| word & MORE_PRESENCE_WORDS != 0)
            .count()
    };
    let mut offset = 8 + 4 * more_words;
    if present & TIMESTAMP != 0 {
        offset = offset.next_multiple_of(8) + 8;
    }
    if present & FLAGS != 0 {
        header.get(offset).copied()
    } else {
        None
    }
}

/// Decodes the Prism monitor header or the AVS header. Both occur under either link type, and both state their length.
pub(super) fn prism(at: &mut Cursor<'_>) -> Result<Next<'static>, Undecoded> {
    const AVS_MAGIC: u32 = 0x8021_1000;

    let mut ahead = *at;
    let start: &[u8; 8] = ahead.take(Undecoded::Link)?;
    let len = u32_at(start, 4);
    let is_avs = u32_at(start, 0) & 0xffff_f000 == AVS_MAGIC;
    // Prism uses the byte order of the capturing host; its length is a small number.
    let len = if !is_avs && len > 0xffff {
        len.swap_bytes()
    } else {
        len
    };
    at.take_slice(len as usize, Undecoded::Link)?;
    Ok(Next::Wifi {
        padded: false,
        swapped: false,
    })
}

/// Decodes the MAC header of a data frame, which LLC follows (IEEE 802.11-2020 section 9.2). `padded` means that the
/// header is padded to a multiple of 4 bytes, `swapped` that the two bytes of frame control are swapped.
pub(super) fn header(
    at: &mut Cursor<'_>,
    padded: bool,
    swapped: bool,
) -> Result<Next<'static>, Undecoded> {
    const VERSION: u16 = 0x0003;
    const TYPE: u16 = 0x000c;
    const TYPE_DATA: u16 = 0x0008;
    const NO_DATA: u16 = 0x0040;
    const QOS: u16 = 0x0080;
    const TO_AND_FROM_DS: u16 = 0x0300;
    const MORE_FRAGMENTS: u16 = 0x0400;
    const PROTECTED: u16 = 0x4000;
    const HT_CONTROL: u16 = 0x8000;
    const FRAGMENT_NUMBER: u8 = 0x0f;
    const AGGREGATE: u8 = 0x80;

    let start = at.wire_len();
    let control = u16::from_le_bytes(*at.take(Undecoded::Link)?);
    let control = if swapped {
        control.swap_bytes()
    } else {
        control
    };
    if control & VERSION != 0 {
        return Err(Undecoded::Link);
    }
    if control & TYPE != TYPE_DATA || control & NO_DATA != 0 {
        return Err(Undecoded::WifiNoData);
    }
    if control & PROTECTED != 0 {
        return Err(Undecoded::WifiProtected);
    }
    // The fields are duration, three addresses, sequence control.
    let addresses: &[u8; 22] = at.take(Undecoded::Link)?;
    if control & MORE_FRAGMENTS != 0 || addresses[20] & FRAGMENT_NUMBER != 0 {
        return Err(Undecoded::WifiFragment);
    }
    if control & TO_AND_FROM_DS == TO_AND_FROM_DS {
        at.take::<6>(Undecoded::Link)?;
    }
    if control & QOS != 0 {
        let [qos, _] = at.take(Undecoded::Link)?;
        if qos & AGGREGATE != 0 {
            return Err(Undecoded::WifiAggregate);
        }
        if control & HT_CONTROL != 0 {
            at.take::<4>(Undecoded::Link)?;
        }
    }
    if padded {
        let header_len = start - at.wire_len();
        at.take_slice(header_len.next_multiple_of(4) - header_len, Undecoded::Link)?;
    }
    Ok(Next::Llc)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIFI: Next<'_> = Next::Wifi {
        padded: false,
        swapped: false,
    };

    /// Returns a frame of frame control (in wire order), zeros for the rest of the three-address header, and `rest`.
    fn mac(control: [u8; 2], rest: &[u8]) -> Vec<u8> {
        [&control[..], &[0; 22], rest].concat()
    }

    /// Returns the kind of header after the MAC header, and the bytes from there on.
    fn after(frame: &[u8], padded: bool) -> Result<(Next<'_>, &[u8]), Undecoded> {
        let mut at = Cursor::new(frame, 0);
        header(&mut at, padded, false).map(|next| (next, at.data()))
    }

    #[test]
    fn frame_control_determines_the_length_of_the_header() {
        let end = &[0xaa][..];
        assert_eq!(
            after(&mac([0x08, 0x01], &[0xaa]), false),
            Ok((Next::Llc, end))
        );
        assert_eq!(
            after(&mac([0x08, 0x03], &[0, 0, 0, 0, 0, 0, 0xaa]), false),
            Ok((Next::Llc, end))
        );
        assert_eq!(
            after(&mac([0x88, 0x02], &[0, 0, 0xaa]), false),
            Ok((Next::Llc, end))
        );
        assert_eq!(
            after(&mac([0x88, 0x82], &[0, 0, 0, 0, 0, 0, 0xaa]), false),
            Ok((Next::Llc, end))
        );
        assert_eq!(
            after(&mac([0x88, 0x02], &[0, 0, 0, 0, 0xaa]), true),
            Ok((Next::Llc, end))
        );
    }

    #[test]
    fn frames_without_readable_data_have_different_reasons() {
        assert_eq!(
            after(&mac([0x80, 0x00], &[]), false),
            Err(Undecoded::WifiNoData)
        ); // beacon
        assert_eq!(after(&[0xd4, 0x00], false), Err(Undecoded::WifiNoData)); // acknowledgment
        assert_eq!(
            after(&mac([0x48, 0x01], &[]), false),
            Err(Undecoded::WifiNoData)
        ); // null
        assert_eq!(
            after(&mac([0x08, 0x41], &[]), false),
            Err(Undecoded::WifiProtected)
        );
        assert_eq!(
            after(&mac([0x08, 0x05], &[]), false),
            Err(Undecoded::WifiFragment)
        );
        assert_eq!(
            after(&mac([0x88, 0x01], &[0x80, 0]), false),
            Err(Undecoded::WifiAggregate)
        );
    }

    #[test]
    fn radiotap_flags_follow_all_presence_words_and_the_aligned_timestamp() {
        assert_eq!(radiotap_flags(&[0, 0, 9, 0, 2, 0, 0, 0, 0x10]), Some(0x10));
        let with_timestamp = [&[0, 0, 17, 0, 3, 0, 0, 0][..], &[0xff; 8], &[0x20]].concat();
        assert_eq!(radiotap_flags(&with_timestamp), Some(0x20));
        let two_words = [
            &[0, 0, 25, 0, 3, 0, 0, 0x80, 0, 0, 0, 0][..],
            &[0; 4],
            &[0xff; 8],
            &[0x30],
        ]
        .concat();
        assert_eq!(radiotap_flags(&two_words), Some(0x30));
        assert_eq!(radiotap_flags(&[0, 0, 8, 0, 0, 0, 0, 0]), None);
    }

    #[test]
    fn a_frame_check_sequence_is_removed() {
        let frame = [0, 0, 9, 0, 2, 0, 0, 0, 0x10, 1, 2, 3, 4, 5];
        let mut at = Cursor::new(&frame, 14);
        assert_eq!(radiotap(&mut at), Ok(WIFI));
        assert_eq!((at.data(), at.wire_len()), (&[1][..], 1));
    }

    #[test]
    fn prism_and_avs_headers_are_skipped() {
        for start in [
            [0, 0, 0, 0x44, 0, 0, 0, 9],
            [0x44, 0, 0, 0, 9, 0, 0, 0],
            [0x80, 0x21, 0x10, 1, 0, 0, 0, 9],
        ] {
            let frame = [&start[..], &[0, 0xaa]].concat();
            let mut at = Cursor::new(&frame, 0);
            assert_eq!(prism(&mut at), Ok(WIFI));
            assert_eq!(at.data(), [0xaa]);
        }
    }
}
