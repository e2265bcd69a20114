//! # Observed
//! A segment as observed at the tap.

use super::records::Stamp;
use crate::decode::{Flags, Segment};
use crate::track::at::At;

/// A segment, with facts that its connection adds.
#[derive(Debug, Clone, Copy)]
pub struct ObservedSegment<'a> {
    /// The decoded segment.
    pub segment: &'a Segment,
    /// Capture time and frame number.
    pub at: At,
    /// Relative sequence number.
    pub sequence: i64,
    /// Shift count of its window field; `None` while the scale is unknown.
    pub shift: Option<u8>,
    /// TSval, the time by its sender's timestamp clock (RFC 7323); `None` without the option.
    pub tsval: Option<u32>,
    /// TSecr, the TSval of the other side that it echoes; `None` without the option, without ACK, and on a reset.
    pub tsecr: Option<u32>,
    /// Does it carry neither payload nor SYN, FIN or RST, and is it no keep-alive?
    pub pure_ack: bool,
    /// Does it carry payload, and is it no keep-alive, which may carry one byte of garbage (RFC 9293 section 3.8.4)?
    pub reply: bool,
    /// Does the capture already hold a copy of it?
    pub copy: bool,
}

impl ObservedSegment<'_> {
    /// Returns its capture time and TSval.
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        Stamp {
            time_ns: self.at.time_ns,
            tsval: self.tsval,
        }
    }

    /// Returns the length of its payload in bytes.
    #[must_use]
    pub fn length(&self) -> i64 {
        self.segment.payload_bytes.into()
    }

    /// Returns the relative sequence number after its payload.
    #[must_use]
    pub fn end(&self) -> i64 {
        self.sequence + self.length()
    }

    /// Returns the window that it advertises, in bytes; `None` where the scale is unknown, and for a reset.
    #[must_use]
    pub fn window(&self) -> Option<i64> {
        let Segment { flags, window, .. } = *self.segment;
        // A reset's window field means nothing: its sender has no connection.
        if flags.has(Flags::RST) {
            return None;
        }
        // A window of 0 is 0 under any scale. A SYN's window is never scaled (RFC 7323 section 2.2).
        if flags.has(Flags::SYN) || window == 0 {
            return Some(window.into());
        }
        self.shift.map(|shift| i64::from(window) << shift)
    }
}
