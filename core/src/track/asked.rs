//! # Asked
//! A connection of which there is a SYN and no more: what makes it a connection when more comes.

use super::flow::At;
use super::passed::client_and_server;
use crate::decode::{Endpoint, Flags, Options, Path, Segment};
use std::sync::Arc;

/// A SYN that nothing followed yet; small, as a scan leaves millions.
#[derive(Debug)]
pub struct Asked {
    /// Client, server.
    pub ends: [Endpoint; 2],
    /// Outer headers.
    pub path: Arc<Path>,
    /// When it was captured.
    pub at: At,
    sequence: u32,
    acknowledgment: u32,
    timestamps: Option<(u32, u32)>,
    mss: Option<u16>,
    identification: Option<u16>,
    window: u16,
    checksum: u16,
    window_scale: Option<u8>,
    flags: Flags,
    header_bytes: u8,
    ttl: u8,
    ecn: u8,
    sack_permitted: bool,
    fast_open: bool,
    multipath: bool,
    incomplete: bool,
}

impl Asked {
    /// Of a SYN without anything that it seldom has, as payload; `None` of any other segment.
    #[must_use]
    pub fn new(segment: &Segment, path: &Arc<Path>, at: At) -> Option<Self> {
        let options = &segment.options;
        let plain = segment.opens() && segment.payload_bytes == 0 && options.sack_blocks == 0;
        let alone = segment.flags.0 & (Flags::FIN | Flags::RST) == 0;
        (plain && alone).then(|| Self {
            ends: client_and_server(segment),
            path: Arc::clone(path),
            at,
            sequence: segment.sequence,
            acknowledgment: segment.acknowledgment,
            timestamps: options.timestamps,
            mss: options.mss,
            identification: segment.identification,
            window: segment.window,
            checksum: segment.checksum,
            window_scale: options.window_scale,
            flags: segment.flags,
            header_bytes: segment.header_bytes,
            ttl: segment.ttl,
            ecn: segment.ecn,
            sack_permitted: options.sack_permitted,
            fast_open: options.fast_open,
            multipath: options.multipath,
            incomplete: options.incomplete,
        })
    }

    /// The SYN.
    #[must_use]
    pub fn segment(&self) -> Segment {
        let [source, destination] = self.ends;
        Segment {
            source,
            destination,
            sequence: self.sequence,
            acknowledgment: self.acknowledgment,
            flags: self.flags,
            window: self.window,
            header_bytes: self.header_bytes,
            payload_bytes: 0,
            options: Options {
                mss: self.mss,
                window_scale: self.window_scale,
                sack_permitted: self.sack_permitted,
                timestamps: self.timestamps,
                sack: Default::default(),
                sack_blocks: 0,
                fast_open: self.fast_open,
                multipath: self.multipath,
                incomplete: self.incomplete,
            },
            ttl: self.ttl,
            identification: self.identification,
            ecn: self.ecn,
            checksum: self.checksum,
        }
    }

    /// As [`super::connection::Connection::is_reopened_by`].
    #[must_use]
    pub fn is_reopened_by(&self, segment: &Segment) -> bool {
        segment.opens() && segment.source == self.ends[0] && segment.sequence != self.sequence
    }
}
