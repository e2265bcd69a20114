//! # Observed
//! A segment as it passes the tap.

use super::records::Stamp;
use crate::decode::{Flags, Segment};
use crate::track::at::At;

/// A segment, with what its connection knows of it.
#[derive(Debug, Clone, Copy)]
pub struct ObservedSegment<'a> {
    /// The segment.
    pub segment: &'a Segment,
    /// When and where.
    pub at: At,
    /// Its sequence number, relative.
    pub sequence: i64,
    /// The scale of its window, as far as it is known.
    pub shift: Option<u8>,
    /// Its sender's clock (TSval).
    pub tsval: Option<u32>,
    /// The clock of the other side that it echoes (TSecr), if it acknowledges anything.
    pub tsecr: Option<u32>,
    /// Is it nothing but an acknowledgment?
    pub pure_ack: bool,
    /// Did the capture hold it before?
    pub copy: bool,
}

impl ObservedSegment<'_> {
    /// When it passes.
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        Stamp {
            time_ns: self.at.time_ns,
            tsval: self.tsval,
        }
    }

    /// Payload.
    #[must_use]
    pub fn length(&self) -> i64 {
        self.segment.payload_bytes.into()
    }

    /// The sequence number after its payload.
    #[must_use]
    pub fn end(&self) -> i64 {
        self.sequence + self.length()
    }

    /// The window that it advertises, in bytes; `None` where the scale is unknown.
    #[must_use]
    pub fn window(&self) -> Option<i64> {
        let Segment { flags, window, .. } = *self.segment;
        // A reset's field means nothing: its sender has no connection, or none any more.
        if flags.has(Flags::RST) {
            return None;
        }
        // A window of 0 is 0 at any scale; a SYN's is never scaled (RFC 7323 section 2.2).
        if flags.has(Flags::SYN) || window == 0 {
            return Some(window.into());
        }
        self.shift.map(|shift| i64::from(window) << shift)
    }
}
