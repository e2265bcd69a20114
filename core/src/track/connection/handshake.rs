//! # Handshake
//! The SYNs of a connection: the options that they negotiate and the round trips that they measure.

use crate::decode::{Flags, Marks, Options, Segment};
use crate::track::sender::full_segment::SegmentBounds;

/// Source of a window scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScaleSource {
    /// Both SYNs carry the option.
    Negotiated,
    /// A SYN lacks the option, so no window is scaled (RFC 7323 section 2.2).
    Declined,
    /// The advertiser's SYN carries the option and the other SYN's options are unknown; the scale is assumed to be in
    /// force.
    OneSided,
    /// The scale was inferred from the traffic.
    Inferred,
    /// The advertiser's SYN was not captured, or was cut before the option.
    Unknown,
}

impl ScaleSource {
    /// Values of `flows.window_scale_source`, indexed by discriminant.
    pub const NAMES: [&'static str; 5] =
        ["negotiated", "declined", "one-sided", "inferred", "unknown"];
}

/// One transmission of a SYN.
#[derive(Debug, Clone, Copy)]
struct SynTransmission {
    time_ns: i64,
    tsval: Option<u32>,
    tsecr: Option<u32>,
}

/// The SYN of one end, with all its transmissions.
#[derive(Debug)]
struct Syn {
    sequence: u32,
    window: u16,
    options: Options,
    /// Layout of the options.
    layout: Marks,
    transmissions: Vec<SynTransmission>,
}

impl Syn {
    /// Largest number of transmissions that are kept; more than any stack sends (Linux `tcp_syn_retries`: 6).
    const MAX_TRANSMISSIONS: usize = 16;

    /// Returns the window scale option; `Some(None)` where the SYN lacks it, `None` where the captured options are cut.
    fn scale(&self) -> Option<Option<u8>> {
        match self.options.window_scale {
            None if self.options.incomplete => None,
            scale => Some(scale),
        }
    }

    /// Returns when the SYN that an answer with this TSecr acknowledges passed the tap, in ns. After a retransmission,
    /// only the timestamp of the last one shows that (Karn's algorithm, RFC 6298 section 3); `None` where it does not.
    /// Linux answers a repeated SYN with the timestamp of the first (`tcp_check_req`).
    fn sent_ns_of_echoed(&self, tsecr: Option<u32>) -> Option<i64> {
        let (last, earlier) = self.transmissions.split_last()?;
        let is_echoed = |one: &SynTransmission| tsecr.is_some() && one.tsval == tsecr;
        let is_last = is_echoed(last) && !earlier.iter().any(is_echoed);
        (earlier.is_empty() || is_last).then_some(last.time_ns)
    }
}

/// The round trips from the tap to either end, measured by a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandshakeRtts {
    /// Time from SYN to SYN-ACK, in ns: the round trip to the server.
    pub server_ns: i64,
    /// Time from SYN-ACK to the ACK that completes the handshake, in ns: the round trip to the client.
    pub client_ns: i64,
}

/// The handshake of a connection; index 0 is the client, 1 the server.
#[derive(Debug, Default)]
pub struct Handshake {
    syns: [Option<Syn>; 2],
    completed: bool,
}

impl Handshake {
    /// Largest window scale: a larger one is taken as 14 (RFC 7323 section 2.3).
    pub const MAX_SHIFT: u8 = 14;

    /// Adds a SYN that `from` sent.
    pub fn add_syn(&mut self, from: usize, segment: &Segment, time_ns: i64) {
        let timestamps = segment.options.timestamps;
        let transmission = SynTransmission {
            time_ns,
            tsval: timestamps.map(|(tsval, _)| tsval),
            tsecr: timestamps.map(|(_, tsecr)| tsecr),
        };
        match &mut self.syns[from] {
            Some(syn) if syn.sequence == segment.sequence => {
                // Later retransmissions may omit the options because of middleboxes. A SYN-ACK with a scale answers a
                // SYN that had one (RFC 7323 section 2.2).
                if segment.options.window_scale.is_some() {
                    (syn.options, syn.layout) = (segment.options, segment.marks);
                }
                if syn.transmissions.len() < Syn::MAX_TRANSMISSIONS {
                    syn.transmissions.push(transmission);
                }
            }
            syn => {
                *syn = Some(Syn {
                    sequence: segment.sequence,
                    window: segment.window,
                    options: segment.options,
                    layout: segment.marks,
                    transmissions: vec![transmission],
                });
            }
        }
    }

    /// Processes a segment of the client. Returns the round trips if it is the ACK that completes the handshake,
    /// without data or FIN, and both SYNs were captured.
    pub fn complete(&mut self, segment: &Segment, time_ns: i64) -> Option<HandshakeRtts> {
        let flags = segment.flags;
        if flags.has(Flags::SYN) || flags.has(Flags::RST) || !flags.has(Flags::ACK) {
            return None;
        }
        if std::mem::replace(&mut self.completed, true) {
            return None;
        }
        let [syn, syn_ack] = &self.syns;
        let (syn, syn_ack) = (syn.as_ref()?, syn_ack.as_ref()?);
        // With data or a FIN, the segment was sent at the application's time: the capture lost the ACK before it.
        let next = syn_ack.sequence.wrapping_add(1);
        if segment.payload_bytes > 0 || flags.has(Flags::FIN) || segment.acknowledgment != next {
            return None;
        }
        let first = syn_ack.transmissions.first()?;
        let server_ns = first.time_ns - syn.sent_ns_of_echoed(first.tsecr)?;
        let tsecr = segment.options.timestamps.map(|(_, tsecr)| tsecr);
        let client_ns = time_ns - syn_ack.sent_ns_of_echoed(tsecr)?;
        // A round trip is negative after a simultaneous open or where the capture's clock was set back.
        (server_ns >= 0 && client_ns >= 0).then_some(HandshakeRtts {
            server_ns,
            client_ns,
        })
    }

    /// Has the client sent an acknowledgment after its SYN?
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.completed
    }

    /// Returns the window scale of `end`, `None` where it is unknown, and its source. The scale is in force only if
    /// both SYNs carry the option, where 0 is a valid scale (RFC 7323 section 2.2).
    #[must_use]
    pub fn scale(&self, end: usize) -> (Option<u8>, ScaleSource) {
        let [own, other] = [end, 1 - end].map(|e| self.syns[e].as_ref().and_then(Syn::scale));
        match (own, other) {
            (Some(None), _) | (_, Some(None)) => (Some(0), ScaleSource::Declined),
            (Some(Some(shift)), Some(Some(_))) => {
                (Some(shift.min(Self::MAX_SHIFT)), ScaleSource::Negotiated)
            }
            (Some(Some(shift)), None) => (Some(shift.min(Self::MAX_SHIFT)), ScaleSource::OneSided),
            (None, _) => (None, ScaleSource::Unknown),
        }
    }

    /// Returns the bounds of a full segment of end `from`; `None` where no SYN with an MSS was captured. Negotiated
    /// timestamps take 12 bytes of an MSS (RFC 6691). For a SYN with cut options, `has_timestamps` is whether later
    /// segments carry timestamps.
    #[must_use]
    pub fn segment_bounds(&self, from: usize, has_timestamps: bool) -> Option<SegmentBounds> {
        let usual = self.options().filter_map(|options| options.mss).min()?;
        let has_timestamps = self
            .options()
            .all(|options| options.timestamps.is_some() || options.incomplete && has_timestamps);
        let payload = |mss: u16| (i64::from(mss) - if has_timestamps { 12 } else { 0 }).max(1);
        (usual > 0).then(|| SegmentBounds {
            usual: payload(usual),
            announced: payload(self.mss(1 - from).unwrap_or(usual)),
        })
    }

    /// Is this a subflow of a multipath connection (RFC 8684)? Its subflows share one window.
    #[must_use]
    pub fn is_multipath(&self) -> bool {
        self.syns.iter().all(Option::is_some) && self.options().all(|options| options.multipath)
    }

    /// Returns the window in the SYN of `end`, in bytes; such a window is never scaled (RFC 7323 section 2.2). `None`
    /// where the SYN was not captured.
    #[must_use]
    pub fn window(&self, end: usize) -> Option<u16> {
        self.syns[end].as_ref().map(|syn| syn.window)
    }

    /// Returns the layout of the options in the SYN of `end`; `None` where the SYN was not captured.
    #[must_use]
    pub fn layout(&self, end: usize) -> Option<Marks> {
        self.syns[end].as_ref().map(|syn| syn.layout)
    }

    /// Returns the MSS option in the SYN of `end`, in bytes; `None` without one.
    #[must_use]
    pub fn mss(&self, end: usize) -> Option<u16> {
        self.syns[end].as_ref()?.options.mss
    }

    /// Returns the window scale option in the SYN of `end` as sent, in force or not; `None` without one.
    #[must_use]
    pub fn own_scale(&self, end: usize) -> Option<u8> {
        self.syns[end].as_ref()?.options.window_scale
    }

    /// May a NAT or proxy have sent a segment of this TTL in place of a far host? It passed no router, and one end alone
    /// offered a window scale.
    #[must_use]
    pub fn may_be_of_stand_in(&self, ttl: u8) -> bool {
        matches!(ttl, 64 | 128 | 255) && self.own_scale(0).is_some() != self.own_scale(1).is_some()
    }

    /// May the ends use SACK (RFC 2018 section 2)? `false` only where a captured SYN lacks the option.
    #[must_use]
    pub fn allows_sack(&self) -> bool {
        self.options()
            .all(|options| options.sack_permitted || options.incomplete)
    }

    /// Was the SYN of `end` captured?
    #[must_use]
    pub fn has_syn(&self, end: usize) -> bool {
        self.syns[end].is_some()
    }

    /// Yields the options of the captured SYNs.
    fn options(&self) -> impl Iterator<Item = &Options> {
        self.syns.iter().flatten().map(|syn| &syn.options)
    }
}
