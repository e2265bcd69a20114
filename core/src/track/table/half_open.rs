//! # Half-open
//! A connection of which only one SYN was captured. The SYN is kept in compact form: it is processed when more segments
//! follow, else the summaries are derived from it alone.

use super::summary::{Life, Summary, scale_or_null};
use crate::decode::{Endpoint, Flags, Path, Segment};
use crate::track::at::At;
use crate::track::connection::handshake::Handshake;
use crate::track::connection::lifecycle::{Ending, Lifecycle, Opening};
use crate::track::connection::{Connection, client_and_server};
use crate::track::null::NULL;
use crate::track::sender::first_packets::FirstPackets;
use crate::track::sender::scale::Scale;
use foldhash::fast::RandomState;
use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// The part that SYNs of one program on one path have in common.
#[derive(Debug, PartialEq, Eq, Hash)]
struct SynKind {
    path: Arc<Path>,
    /// A SYN in which all fields are 0 that differ from SYN to SYN.
    syn: Segment,
}

/// The kinds of SYNs captured so far; half-open connections share them.
#[derive(Debug, Default)]
pub struct SynKinds {
    known: HashSet<Arc<SynKind>, RandomState>,
    /// The kind of the last SYN; the next one often is of the same.
    last: Option<Arc<SynKind>>,
}

impl SynKinds {
    const NO_ENDPOINT: Endpoint = Endpoint {
        address: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        port: 0,
    };

    /// Returns the kind of a SYN, which is added if it is new.
    fn of(&mut self, segment: &Segment, path: &Arc<Path>) -> Arc<SynKind> {
        let syn = Segment {
            source: Self::NO_ENDPOINT,
            destination: Self::NO_ENDPOINT,
            sequence: 0,
            identification: segment.identification.map(|_| 0),
            checksum: 0,
            window: 0,
            ttl: 0,
            ..*segment
        };
        let path = Arc::clone(path);
        let mut kind = SynKind { path, syn };
        kind.syn.options.timestamps = segment.options.timestamps.map(|_| (0, 0));
        if let Some(last) = &self.last
            && **last == kind
        {
            return Arc::clone(last);
        }
        let known = self.known.get(&kind).map(Arc::clone);
        let kind = known.unwrap_or_else(|| {
            let kind = Arc::new(kind);
            self.known.insert(Arc::clone(&kind));
            kind
        });
        self.last = Some(Arc::clone(&kind));
        kind
    }
}

/// A SYN that no segment followed yet; compact, as a port scan leaves millions.
#[derive(Debug)]
pub struct HalfOpen {
    /// Client and server.
    pub ends: [Endpoint; 2],
    /// Position of the SYN in the capture.
    pub at: At,
    kind: Arc<SynKind>,
    sequence: u32,
    timestamp: u32,
    identification: u16,
    checksum: u16,
    window: u16,
    ttl: u8,
}

impl HalfOpen {
    /// Returns the compact form of a SYN; `None` for other segments and for unusual SYNs, as those with payload.
    #[must_use]
    pub fn new(
        segment: &Segment,
        path: &Arc<Path>,
        at: At,
        syn_kinds: &mut SynKinds,
    ) -> Option<Self> {
        let options = &segment.options;
        let plain = segment.opens() && segment.payload_bytes == 0 && options.sack_blocks == 0;
        let alone = segment.flags.0 & (Flags::FIN | Flags::RST) == 0;
        (plain && alone).then(|| Self {
            ends: client_and_server(segment),
            at,
            kind: syn_kinds.of(segment, path),
            sequence: segment.sequence,
            timestamp: options.timestamps.map_or(0, |(value, _)| value),
            identification: segment.identification.unwrap_or_default(),
            checksum: segment.checksum,
            window: segment.window,
            ttl: segment.ttl,
        })
    }

    /// Returns the headers around the SYN.
    #[must_use]
    pub fn path(&self) -> &Arc<Path> {
        &self.kind.path
    }

    /// Returns the SYN. Its TSecr is set to 0, since the field of a SYN has no meaning (RFC 7323 section 3.2).
    #[must_use]
    pub fn segment(&self) -> Segment {
        let [source, destination] = self.ends;
        let mut syn = Segment {
            source,
            destination,
            sequence: self.sequence,
            checksum: self.checksum,
            window: self.window,
            ttl: self.ttl,
            ..self.kind.syn
        };
        syn.identification = syn.identification.map(|_| self.identification);
        syn.options.timestamps = syn.options.timestamps.map(|_| (self.timestamp, 0));
        syn
    }

    /// Does this segment open another connection between the same ports? See
    /// [`crate::track::connection::Connection::is_reopened_by`].
    #[must_use]
    pub fn is_reopened_by(&self, segment: &Segment) -> bool {
        segment.opens() && segment.source == self.ends[0] && segment.sequence != self.sequence
    }

    /// Returns the summaries of both directions, the client's first.
    #[must_use]
    pub fn summaries(&self) -> [Summary; 2] {
        let syn = self.segment();
        let mut handshake = Handshake::default();
        handshake.add_syn(0, &syn, self.at.time_ns);
        let mut first_packets = FirstPackets::default();
        first_packets.add(&syn);
        let bounds = handshake.segment_bounds(0, syn.options.timestamps.is_some());
        let summary = |from: usize| {
            let (shift, source) = handshake.scale(1 - from);
            let mut scale = Scale::default();
            scale.set_negotiated(shift.unwrap_or_default());
            Summary {
                handshake: 1,
                tap_at_sender: 1,
                partial_checksum: u8::from(from == 0 && first_packets.has_partial_checksums()),
                scale_min: scale.min_shift(),
                scale_max: scale.max_shift(),
                window_scale_source: source as u8,
                start_ns: self.at.time_ns,
                end_ns: self.at.time_ns,
                first_frame: self.at.frame,
                last_frame: self.at.frame,
                origin: if from == 0 { syn.sequence.into() } else { NULL },
                packets: i64::from(from == 0),
                mss_bytes: (bounds.as_ref().filter(|_| from == 0))
                    .map_or(Connection::DEFAULT_MSS, |bounds| bounds.usual),
                announced_mss_bytes: (bounds.as_ref().filter(|_| from == 0))
                    .map_or(NULL, |bounds| bounds.announced),
                window_scale: scale_or_null(shift, source),
                ttl: if from == 0 { syn.ttl.into() } else { NULL },
                reset_ttl: NULL,
                syn_layout: handshake.layout(from).map_or(NULL, |marks| marks.0 as i64),
                syn_mss_bytes: handshake.mss(from).map_or(NULL, i64::from),
                syn_scale: handshake.own_scale(from).map_or(NULL, i64::from),
                syn_window_bytes: handshake.window(1 - from).map_or(NULL, i64::from),
                window_max_bytes: NULL,
                window_last_bytes: NULL,
                repair_ns: NULL,
                longest_stall_ns: NULL,
                longest_stall_start_ns: NULL,
                sustained_rate: NULL,
                rtt_min_ns: NULL,
                initial_rtt_ns: NULL,
                sender_side_ns: NULL,
                receiver_side_ns: NULL,
                ..Summary::default()
            }
        };
        [0, 1].map(summary)
    }

    /// Returns how the connection began and ended.
    #[must_use]
    pub fn life(&self) -> Life {
        Life {
            handshake: Opening::NeverAnswered as u8,
            ended: Ending::Open as u8,
            completeness: Lifecycle::SYN,
            ended_by: NULL,
            closed_by: NULL,
            tls_alert: NULL,
            tls_alert_by: NULL,
            tls_unanswered_ns: NULL,
            http_unanswered_ns: NULL,
            error_status: NULL,
            unanswered_fins_by: NULL,
            syns: 1,
            answered_ns: NULL,
            opening_ns: NULL,
            retry_wait_ns: NULL,
            ..Life::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Marks, Options};
    use crate::track::connection::Rows;
    use proptest::prelude::*;

    prop_compose! {
        fn syn()(
            sequence: u32, acknowledgment: u32, window: u16, ttl: u8, ecn in 0..4u8, checksum: u16,
            identification: Option<u16>, others: u8, mss: Option<u16>, window_scale: Option<u8>,
            timestamps: Option<(u32, u32)>, [sack_permitted, fast_open, multipath, incomplete]: [bool; 4],
            marks in 0..1u64 << 60,
        ) -> Segment {
            let end = |last, port| Endpoint { address: [10, 0, 0, last].into(), port };
            Segment {
                source: end(1, 40_000),
                destination: end(2, 80),
                sequence,
                acknowledgment,
                flags: Flags(Flags::SYN | others & !(Flags::ACK | Flags::FIN | Flags::RST)),
                window,
                header_bytes: 40,
                payload_bytes: 0,
                options: Options {
                    mss, window_scale, sack_permitted, timestamps, fast_open, multipath, incomplete, ..Options::default()
                },
                ttl,
                identification,
                ecn,
                checksum,
                marks: Marks(marks),
            }
        }
    }

    #[test]
    fn a_lone_syn_is_small() {
        // With stream number, hash and the allocator's overhead, a half-open connection takes at most 200 bytes.
        assert!(size_of::<HalfOpen>() <= 80);
    }

    proptest! {
        #[test]
        fn a_lone_syn_has_the_results_of_a_processed_connection(
            syns in prop::collection::vec(syn(), 1..4), frame: u32, time_ns in 0..i64::MAX,
        ) {
            let at = At { time_ns, frame: frame.into() };
            let path = Arc::default();
            let mut kinds = SynKinds::default();
            let half_open: Vec<_> = syns.iter().map(|syn| HalfOpen::new(syn, &path, at, &mut kinds)).collect();
            for (syn, half_open) in syns.iter().zip(half_open) {
                let half_open = half_open.expect("a usual SYN");
                let mut expected = *syn;
                expected.options.timestamps = expected.options.timestamps.map(|(value, _)| (value, 0));
                prop_assert_eq!(half_open.segment(), expected);
                let mut whole = Connection::new(0, syn, Arc::clone(&path), at, false, [None; 2]);
                whole.segment(syn, at, &mut Rows::default());
                whole.finish(&mut Rows::default());
                prop_assert_eq!(half_open.summaries(), [0, 1].map(|from| Summary::of(&whole, from)));
                prop_assert_eq!(half_open.life(), Life::of(&whole));
            }
        }
    }
}
