//! # Frame
//! One captured packet.

use std::ops::Range;

/// One captured frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Number of the frame in its file, counted from 1, as Wireshark's `frame.number`.
    pub number: u64,
    /// Time of capture in ns since the epoch; `None` if the format has no time (pcapng simple packet block) or the time
    /// does not fit in 64 bits.
    pub time_ns: Option<i64>,
    /// LINKTYPE_ value of the interface (<https://www.tcpdump.org/linktypes.html>).
    pub link_type: u32,
    /// Length on the wire in bytes; it exceeds `data.len()` if a snaplen cut the frame.
    pub wire_len: u32,
    /// The captured bytes.
    pub data: &'a [u8],
}

/// A frame without its number; `data` is the place of its bytes in the window.
pub(super) struct Record {
    pub(super) time_ns: Option<i64>,
    pub(super) link_type: u32,
    pub(super) wire_len: u32,
    pub(super) data: Range<usize>,
}

/// Returns the maximum number of captured bytes of a packet, by link type; a larger packet is damage. The values are
/// those of libpcap and Wireshark.
pub(super) fn max_captured(link_type: u32) -> u32 {
    /// D-Bus messages and USB transfers may be larger than packets.
    const DBUS: u32 = 231;
    const USBPCAP: u32 = 249;
    match link_type {
        DBUS | USBPCAP => 128 << 20,
        _ => 256 << 10,
    }
}
