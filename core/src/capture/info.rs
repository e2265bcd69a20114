//! # Info
//! The description of a capture in its headers and blocks.

use super::clock::Clock;
use super::times::Times;

/// Description of a capture as far as it has been read. pcapng may describe interfaces and drops anywhere in the file,
/// so this is complete only after the last frame.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CaptureInfo {
    /// Format, time unit and byte order, e.g. "pcap (microseconds, little-endian)".
    pub format: String,
    /// "gzip", "zstd" or "lz4".
    pub compression: Option<&'static str>,
    /// Version of the format, major and minor.
    pub version: (u16, u16),
    /// Number of sections of a pcapng file; 1 for pcap.
    pub sections: u32,
    /// Interfaces of all sections in the order of their description; one for pcap.
    pub interfaces: Vec<Interface>,
    /// Comments on sections and interfaces, not on single packets.
    pub comments: Vec<String>,
    /// Number of comments, names and other texts that are not kept, since there are too many.
    pub texts_left_out: u64,
    /// Number of bytes of all texts, kept or not.
    pub text_bytes: usize,
    /// Hardware of the capturing machine, from the last section that states it.
    pub hardware: Option<String>,
    /// Operating system of the capturing machine, from the last section that states it.
    pub os: Option<String>,
    /// Program that wrote the capture, from the last section that states it.
    pub application: Option<String>,
    /// Number of frames read from the capture.
    pub frames: u64,
    /// Times of these frames.
    pub times: Times,
}

impl CaptureInfo {
    /// Maximum number of bytes of text that are kept, so that hostile input cannot fill memory, or a page, with
    /// comments.
    const MAX_TEXT_BYTES: usize = 1 << 20;

    /// Decodes a text; `None` if there are too many texts. Bytes that are not UTF-8 become U+FFFD.
    pub(super) fn text(&mut self, value: &[u8]) -> Option<String> {
        self.text_bytes = self.text_bytes.saturating_add(value.len());
        if self.text_bytes > Self::MAX_TEXT_BYTES {
            self.texts_left_out = self.texts_left_out.saturating_add(1);
            return None;
        }
        let text = String::from_utf8_lossy(value);
        Some(text.trim_end_matches('\0').to_owned())
    }

    /// Returns the coarsest unit of the interfaces' timestamps, in ns; 1 without an interface.
    #[must_use]
    pub fn unit_ns(&self) -> i64 {
        let units_ns = (self.interfaces.iter()).map(|one| Clock::new(one.resolution, 0).unit_ns());
        units_ns.max().unwrap_or(1)
    }

    /// Returns the number of packets that all interfaces together report as dropped; `None` if none reports drops.
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
    /// Maximum number of captured bytes of a packet; `None` if there is no such limit.
    pub snaplen: Option<u32>,
    /// Unit of the timestamps as pcapng encodes it (if_tsresol).
    pub resolution: u8,
    /// Unit of the timestamps, e.g. "10^-6 s" or "2^-32 s".
    pub time_unit: String,
    /// Seconds to add to all timestamps (if_tsoffset). The frames' times already include them.
    pub time_offset_s: i64,
    /// Name of the interface, e.g. "eth0".
    pub name: Option<String>,
    /// Description of the interface.
    pub description: Option<String>,
    /// Hardware of the interface.
    pub hardware: Option<String>,
    /// Operating system of the interface's machine.
    pub os: Option<String>,
    /// Capture filter in force.
    pub filter: Option<String>,
    /// Packets dropped by the interface and the system, by its latest statistics block (isb_ifdrop + isb_osdrop).
    pub(super) drops_by_statistics: Option<u64>,
    /// Sum of the drops that its packet blocks report (epb_dropcount, or the field of the obsolete packet block).
    pub(super) drops_by_packets: Option<u64>,
}

impl Interface {
    /// Returns an interface of which only the link type and the unit of the timestamps are known.
    #[must_use]
    pub fn new(link_type: u32, resolution: u8) -> Self {
        Self {
            link_type,
            resolution,
            ..Self::default()
        }
    }

    /// Returns the number of packets dropped by the interface or the system; `None` if unknown.
    ///
    /// Statistics blocks and packet blocks count the same drops (draft-ietf-opsawg-pcapng sections 4.3 and 4.6), and
    /// either count may be incomplete. The result therefore is the larger count, not their sum.
    #[must_use]
    pub fn drops(&self) -> Option<u64> {
        self.drops_by_statistics.max(self.drops_by_packets)
    }
}
