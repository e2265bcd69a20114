//! # Ignored
//! A connection of which no results are wanted. Only the state is kept that detects the next connection between the same
//! ports.

use crate::decode::{Endpoint, Flags, Path, Segment};
use crate::track::connection::client_and_server;
use std::sync::Arc;

/// A connection whose segments are not analysed.
#[derive(Debug)]
pub struct IgnoredConnection {
    /// Client and server.
    pub ends: [Endpoint; 2],
    /// Headers around the first packet.
    pub path: Arc<Path>,
    /// Origins of both ends' relative sequence numbers; `None` where unknown.
    origins: [Option<u32>; 2],
    has_payload: bool,
    handshake_complete: bool,
}

impl IgnoredConnection {
    /// Returns a connection that begins with this segment; [`Self::segment`] must still process it.
    #[must_use]
    pub fn new(segment: &Segment, path: Arc<Path>) -> Self {
        Self {
            ends: client_and_server(segment),
            path,
            origins: [None; 2],
            has_payload: false,
            handshake_complete: false,
        }
    }

    /// Returns 0 where the client sent the segment, 1 where the server did.
    fn direction(&self, segment: &Segment) -> usize {
        usize::from(segment.source != self.ends[0])
    }

    /// Does this segment open another connection between the same ports? See
    /// [`crate::track::connection::Connection::is_reopened_by`].
    #[must_use]
    pub fn is_reopened_by(&self, segment: &Segment) -> bool {
        segment.opens()
            && self.origins[self.direction(segment)]
                .is_some_and(|origin| origin != segment.sequence)
    }

    /// Is all known that a segment without SYN could show?
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.origins.iter().all(Option::is_some) && (self.has_payload || self.handshake_complete)
    }

    /// Processes the next segment; the origins follow the rules of [`crate::track::connection::Connection::segment`].
    pub fn segment(&mut self, segment: &Segment) {
        let from = self.direction(segment);
        let [syn, ack, reset] =
            [Flags::SYN, Flags::ACK, Flags::RST].map(|flag| segment.flags.has(flag));
        let another = self.origins[from].is_some_and(|origin| origin != segment.sequence);
        if syn && another && !self.handshake_complete && !self.has_payload {
            self.origins = [None; 2];
        }
        let before = |number: u32| number.wrapping_sub(1);
        self.origins[from].get_or_insert(if syn {
            segment.sequence
        } else {
            before(segment.sequence)
        });
        if ack {
            self.origins[1 - from].get_or_insert(before(segment.acknowledgment));
        }
        self.handshake_complete |= from == 0 && ack && !syn && !reset;
        self.has_payload |= segment.payload_bytes > 0;
    }
}
