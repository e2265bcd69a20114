//! # Capture
//! Bytes to frames: pcap and pcapng, plain or compressed, from a file or a pipe, in one pass.

/// One captured frame. `data` is what the capture kept of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Counted from 1 over the whole capture, as Wireshark's `frame.number`.
    pub number: u64,
    /// Nanoseconds since the epoch; `None` where the format carries no time (pcapng simple packet block).
    pub time_ns: Option<i64>,
    /// LINKTYPE_ value of the interface (<https://www.tcpdump.org/linktypes.html>).
    pub link_type: u32,
    /// Length on the wire, which is more than `data.len()` where a snaplen cut the frame.
    pub wire_len: u32,
    /// The bytes kept.
    pub data: &'a [u8],
}
