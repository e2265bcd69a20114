//! # Wi-Fi retry
//! The retry bit of IEEE 802.11: the link's own retransmissions, which TCP does not see.

use super::next::Next;
use super::segment::Path;
use super::undecoded::Undecoded;
use super::walk::walk;

/// Returns whether an IEEE 802.11 frame is a retry: its station sent it before, but got no acknowledgment from the link
/// (IEEE 802.11-2020 section 9.2.4.1.8). `None` if the frame has no such header, or too little of it was captured.
pub(super) fn is_retry(link_type: u32, data: &[u8], wire_len: u32) -> Option<bool> {
    const RETRY: u16 = 0x0800;
    /// A pseudo header may precede that of IEEE 802.11.
    const HEADERS: usize = 2;

    let mut control = None;
    let mut path = Path::default();
    let _ = walk(link_type, data, wire_len, HEADERS, &mut path, |next, at| {
        if let Next::Wifi { swapped, .. } = next {
            let mut ahead = *at;
            let bytes: Option<&[u8; 2]> = ahead.take(Undecoded::Link).ok();
            control = bytes.map(|bytes| match swapped {
                true => u16::from_be_bytes(*bytes),
                false => u16::from_le_bytes(*bytes),
            });
        }
    });
    control.map(|control| control & RETRY != 0)
}
