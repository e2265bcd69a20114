//! # Frame
//! What is captured of one packet.

use std::ops::Range;

/// One captured frame. `data` is what the capture kept of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Counted from 1 over the whole capture, as Wireshark's `frame.number`.
    pub number: u64,
    /// Nanoseconds since the epoch; `None` where the format carries no time (pcapng simple packet block) or one
    /// that 64 bits cannot hold.
    pub time_ns: Option<i64>,
    /// LINKTYPE_ value of the interface (<https://www.tcpdump.org/linktypes.html>).
    pub link_type: u32,
    /// Length on the wire, which is more than `data.len()` where a snaplen cut the frame.
    pub wire_len: u32,
    /// The bytes kept.
    pub data: &'a [u8],
}

/// A frame before it is numbered, its bytes a place in the window.
pub(super) struct Record {
    pub(super) time_ns: Option<i64>,
    pub(super) link_type: u32,
    pub(super) wire_len: u32,
    pub(super) data: Range<usize>,
}

/// The most bytes that are captured of a packet, by link type: larger ones are damage. As libpcap and Wireshark.
pub(super) fn max_captured(link_type: u32) -> u32 {
    /// Messages and transfers may be as large with these.
    const DBUS: u32 = 231;
    const USBPCAP: u32 = 249;
    match link_type {
        DBUS | USBPCAP => 128 << 20,
        _ => 256 << 10,
    }
}
