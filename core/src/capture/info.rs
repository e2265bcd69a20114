//! # Info
//! What a capture says about itself.

use super::times::Times;

/// What is known of a capture so far. pcapng describes interfaces and drops anywhere, so this is complete only
/// when the last frame has been read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CaptureInfo {
    /// Format, time unit and byte order, e.g. "pcap (microseconds, little-endian)".
    pub format: String,
    /// "gzip", "zstd" or "lz4".
    pub compression: Option<&'static str>,
    /// Version of the format, major and minor.
    pub version: (u16, u16),
    /// Sections of a pcapng file; 1 for pcap.
    pub sections: u32,
    /// Interfaces of all sections in the order of their description; one for pcap.
    pub interfaces: Vec<Interface>,
    /// Comments on sections and interfaces, not on single packets.
    pub comments: Vec<String>,
    /// Comments, names and other texts that are not kept, since there are too many.
    pub texts_left_out: u64,
    /// Bytes of all texts, kept or not.
    pub text_bytes: usize,
    /// The capturing machine, of the last section that says so.
    pub hardware: Option<String>,
    /// Its operating system, likewise.
    pub os: Option<String>,
    /// The program that wrote the capture, likewise.
    pub application: Option<String>,
    /// Frames read from it.
    pub frames: u64,
    /// When they were captured.
    pub times: Times,
}

impl CaptureInfo {
    /// Most bytes of text that are kept: hostile input must not fill memory, or a page, with comments.
    const MOST_TEXT_BYTES: usize = 1 << 20;

    /// A text, while there is room for it. Strings are UTF-8 by the book; what is not is marked.
    pub(super) fn text(&mut self, value: &[u8]) -> Option<String> {
        self.text_bytes = self.text_bytes.saturating_add(value.len());
        if self.text_bytes > Self::MOST_TEXT_BYTES {
            self.texts_left_out = self.texts_left_out.saturating_add(1);
            return None;
        }
        let text = String::from_utf8_lossy(value);
        Some(text.trim_end_matches('\0').to_owned())
    }

    /// Packets that all interfaces together report as lost; `None` if none reports.
    #[must_use]
    pub fn drops(&self) -> Option<u64> {
        self.interfaces
            .iter()
            .filter_map(Interface::drops)
            .reduce(u64::saturating_add)
    }
}

/// An interface that packets were captured on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Interface {
    /// LINKTYPE_ value.
    pub link_type: u32,
    /// Most bytes kept of a packet; `None` if there is no such limit.
    pub snaplen: Option<u32>,
    /// Unit of the timestamps as pcapng writes it (if_tsresol).
    pub resolution: u8,
    /// Unit of the timestamps, e.g. "10^-6 s" or "2^-32 s".
    pub time_unit: String,
    /// Seconds to add to all timestamps (if_tsoffset); already in the frames' times.
    pub time_offset_s: i64,
    /// Name, e.g. "eth0".
    pub name: Option<String>,
    /// Description.
    pub description: Option<String>,
    /// Hardware of the interface.
    pub hardware: Option<String>,
    /// Operating system of the machine it is in.
    pub os: Option<String>,
    /// Capture filter in force.
    pub filter: Option<String>,
    /// Drops by its latest statistics block: interface and system (isb_ifdrop + isb_osdrop).
    pub(super) drops_by_statistics: Option<u64>,
    /// Drops that its packets report, added up (epb_dropcount, or the packet block's field).
    pub(super) drops_by_packets: Option<u64>,
}

impl Interface {
    /// Packets that the interface or the system lost.
    ///
    /// Statistics and packets count the same losses (draft-ietf-opsawg-pcapng sections 4.3 and 4.6: both from the
    /// start of the capture), each perhaps incompletely: the larger of the two, not their sum.
    #[must_use]
    pub fn drops(&self) -> Option<u64> {
        self.drops_by_statistics.max(self.drops_by_packets)
    }
}
