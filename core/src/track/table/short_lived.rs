//! # Short-lived
//! A connection of few segments so far. The segments are kept unprocessed until the connection ends, another one opens
//! between the same ports, or a limit of memory is reached. Most connections of a capture are short, and many may be
//! open at once: kept segments take less memory than the state of a connection.

use super::line::{Lines, Provenance};
use crate::decode::{Endpoint, Flags, Path, Segment};
use crate::track::at::At;
use crate::track::connection::client_and_server;
use std::sync::Arc;

/// A connection of few segments, which are not processed yet.
#[derive(Debug)]
pub struct ShortLived {
    /// Client and server.
    pub ends: [Endpoint; 2],
    /// Headers around the first segment.
    pub path: Arc<Path>,
    segments: Lines,
}

impl ShortLived {
    /// From this many bytes on, no more segments are kept: sixteen segments over IPv4, of which two are SYNs, or seven
    /// over IPv6. An open connection takes five times as much memory.
    const MAX_BYTES: usize = 1250;

    /// Returns a connection that begins with this segment; [`Self::take`] must still add it.
    #[must_use]
    pub fn new(first: &Segment, path: Arc<Path>) -> Self {
        Self {
            ends: client_and_server(first),
            path,
            // Few connections have fewer segments; the two SYNs do not fit a line.
            segments: Lines::with_room(8, 2),
        }
    }

    /// Can the segment be kept unprocessed? A FIN or reset cannot, since it may end the connection.
    #[must_use]
    pub fn can_keep(segment: &Segment) -> bool {
        segment.flags.0 & (Flags::FIN | Flags::RST) == 0
    }

    /// Adds a segment that opens no other connection; returns `false` where it cannot be kept or the limit is reached.
    pub fn take(&mut self, segment: &Segment, at: At) -> bool {
        let has_room = Self::can_keep(segment) && self.segments.bytes() < Self::MAX_BYTES;
        if has_room {
            self.segments.push(Provenance::Captured, segment, 0, at);
        }
        has_room
    }

    /// Passes the segments to `take`, in the order of the capture.
    pub fn replay(&self, mut take: impl FnMut(&Segment, At)) {
        for line in self.segments.lines() {
            self.segments
                .read(line, |_, segment| take(segment, line.at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Commands, InferredScales, Table, WantedEvents};
    use super::*;
    use crate::budget::Budget;
    use crate::decode::{Marks, Options};
    use proptest::prelude::*;
    use std::net::IpAddr;

    fn between(client: IpAddr, from: usize, flags: u8) -> Segment {
        let ends = [(client, 40_000), (IpAddr::from([10, 0, 0, 2]), 80)];
        let [source, destination] =
            [ends[from], ends[1 - from]].map(|(address, port)| Endpoint { address, port });
        let syn = flags & Flags::SYN != 0;
        Segment {
            source,
            destination,
            sequence: 0,
            acknowledgment: 0,
            flags: Flags(flags),
            window: 1000,
            header_bytes: 20,
            payload_bytes: 0,
            options: Options {
                mss: syn.then_some(1460),
                window_scale: syn.then_some(7),
                ..Options::default()
            },
            ttl: 64,
            identification: Some(0),
            ecn: 0,
            checksum: 0,
            marks: Marks::default(),
        }
    }

    prop_compose! {
        /// A segment of one of two clients, with a control bit in half of the cases, near the start of the sequence
        /// space.
        fn segment()(
            client in 3..5u8, from in 0..2usize, control in prop::sample::select(vec![0, 0, 0, 1, 2, 4]), ack in 0..4u8,
            sequence in 0..4u32, acknowledgment in 0..4u32, full in 0..3u32, window in 0..3u16,
        ) -> Segment {
            let flags = control | if ack == 0 { 0 } else { Flags::ACK };
            let payload_bytes = if control == Flags::SYN { 0 } else { 1000 * full };
            let [sequence, acknowledgment] = [sequence, acknowledgment].map(|number| {
                if control == Flags::SYN { number / 3 } else { 1 + 1000 * number }
            });
            let window = 1000 * window;
            Segment { sequence, acknowledgment, payload_bytes, window, ..between([10, 0, 0, client].into(), from, flags) }
        }
    }

    proptest! {
        // The reference is a table that wants events, and so processes every segment at once.
        #[test]
        fn replayed_segments_have_the_results_of_immediate_processing(
            segments in prop::collection::vec((segment(), 0..20u8, 1..40_000_000i64), 0..60),
        ) {
            let tables = [WantedEvents::None, WantedEvents::All].map(|wanted| {
                let mut table = Table::new(wanted, InferredScales::default(), Budget::DEFAULT);
                let (mut time_ns, mut turns, mut all_ended) = (0, Vec::new(), Vec::new());
                for ((segment, chance, wait_ns), frame) in segments.iter().zip(1..) {
                    time_ns += wait_ns;
                    let provenance = if *chance == 0 { Provenance::Quoted } else { Provenance::Captured };
                    let client = segment.source.port.max(segment.destination.port);
                    table.take(provenance, client.into(), segment, &Path::default(), At { time_ns, frame });
                    if *chance == 1 {
                        let report = table.take_report();
                        turns.extend(report.rows.turns);
                        all_ended.extend(report.ended.iter().map(|ended| ended.frame));
                        table.execute(&Commands { ended: report.ended, full: false });
                    }
                }
                table.finish();
                turns.extend(table.take_report().rows.turns);
                turns.sort_by_key(|turn| (turn.stream, turn.first_frame));
                (table, turns, all_ended)
            });
            let [(late, late_turns, late_ended), (at_once, turns, ended)] = tables;
            prop_assert_eq!((late_turns, late_ended), (turns, ended));
            prop_assert_eq!(late.len(), at_once.len());
            for stream in 0..at_once.len() {
                prop_assert_eq!(late.summaries(stream), at_once.summaries(stream));
                prop_assert_eq!(late.life(stream), at_once.life(stream));
                for from in 0..2 {
                    prop_assert!(late.rounds(stream, from).eq(at_once.rounds(stream, from)));
                }
            }
        }
    }

    #[test]
    fn a_short_connection_is_small() {
        for (client, fitting) in [([10, 0, 0, 1].into(), 16), ([0; 16].into(), 7)] {
            let syn = between(client, 0, Flags::SYN);
            let mut short_lived = ShortLived::new(&syn, Arc::default());
            let at = At {
                time_ns: 0,
                frame: 1,
            };
            let flags = [Flags::SYN, Flags::SYN | Flags::ACK].into_iter();
            let segments = flags.chain(std::iter::repeat(Flags::ACK));
            let kept = segments
                .zip([0, 1].into_iter().cycle())
                .take_while(|&(flags, from)| short_lived.take(&between(client, from, flags), at));
            assert_eq!(kept.count(), fitting);
        }
    }
}
