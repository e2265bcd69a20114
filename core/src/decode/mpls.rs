//! # MPLS
//! Label stacks (RFC 3032) and Ethernet pseudowires (RFC 4448).

use super::cursor::{Cursor, u32_at};
use super::next::Next;
use super::segment::{Layer, Path};
use super::undecoded::Undecoded;

/// Decodes one label stack entry (RFC 3032 section 2.1).
pub(super) fn label(at: &mut Cursor<'_>, path: &mut Path) -> Result<Next<'static>, Undecoded> {
    const BOTTOM_OF_STACK: u32 = 0x100;
    let entry = u32_at(at.take::<4>(Undecoded::Link)?, 0);
    path.push(Layer::Mpls(entry >> 12));
    if entry & BOTTOM_OF_STACK == 0 {
        return Ok(Next::Mpls);
    }
    // No field names the payload. Its first four bits are 0 in a pseudowire's control word (RFC 4385 section 2).
    match at.data().first() {
        Some(first) if first >> 4 == 0 => Ok(Next::ControlWord),
        _ => Ok(Next::Ip),
    }
}

/// Decodes the control word of an Ethernet pseudowire (RFC 4448 section 4.6). Other pseudowires have it too; their
/// frames are then counted as not IP.
pub(super) fn control_word(at: &mut Cursor<'_>) -> Result<Next<'static>, Undecoded> {
    at.take::<4>(Undecoded::Link)?;
    Ok(Next::Ethernet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_is_walked_to_its_bottom() {
        let mut path = Path::default();
        let mut at = Cursor::new(&[0x00, 0x01, 0x00, 0xff, 0xff, 0xff, 0xf1, 0x40, 0x45], 9);
        assert_eq!(label(&mut at, &mut path), Ok(Next::Mpls));
        assert_eq!(label(&mut at, &mut path), Ok(Next::Ip));
        assert_eq!(
            path.layers().collect::<Vec<_>>(),
            [&Layer::Mpls(0x10), &Layer::Mpls(0xf_ffff)]
        );
    }

    #[test]
    fn the_first_four_bits_distinguish_ip_from_a_pseudowire() {
        let below = |first| {
            label(
                &mut Cursor::new(&[0, 1, 1, 64, first], 5),
                &mut Path::default(),
            )
        };
        assert_eq!(below(0x45), Ok(Next::Ip));
        assert_eq!(below(0x60), Ok(Next::Ip));
        assert_eq!(below(0x00), Ok(Next::ControlWord));
    }
}
