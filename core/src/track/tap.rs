//! # Tap
//! One direction of data as the tap saw it: what is new, sent again, overtaken or copied, and what each
//! acknowledgment measured.

mod copies;
pub(super) mod observed;
pub(super) mod ranges;
pub(super) mod records;
mod sequence;

use super::event::Kind;
use super::null::{NULL, known, least};
use crate::decode::{Flags, Segment};
use copies::Copies;
use observed::ObservedSegment;
use ranges::Ranges;
use records::{Records, RttSample};
use sequence::SequenceSpace;

/// What a segment was to the data stream.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// What to call it.
    pub kind: Kind,
    /// First relative sequence number.
    pub start: i64,
    /// One past the last, SYN and FIN counted.
    pub end: i64,
    /// Payload not seen before.
    pub new_bytes: i64,
    /// When it passed the tap before, if it did.
    pub before_ns: Option<i64>,
    /// Bytes counted as unseen_bytes, as their acknowledgment was captured a moment before them.
    pub captured_late: i64,
}

/// What an acknowledgment was to the data stream.
#[derive(Debug, Clone, Copy)]
pub struct Acknowledged {
    /// Cumulative, relative.
    pub ack: i64,
    /// How far SND.UNA moved at the tap.
    pub advanced: i64,
    /// Bytes newly reported by SACK.
    pub sacked: i64,
    /// Acknowledged without having passed the tap: the capture lost them, or the path goes another way.
    pub unseen_bytes: i64,
    /// The measurement, if this acknowledgment allows one.
    pub sample: Option<RttSample>,
}

/// What to call a segment that is no SYN `otherwise`.
fn named(flags: Flags, otherwise: Kind) -> Kind {
    match (flags.has(Flags::SYN), flags.has(Flags::ACK)) {
        (true, true) => Kind::SynAck,
        (true, false) => Kind::Syn,
        _ => otherwise,
    }
}

/// The data stream of one direction at the tap.
#[derive(Debug)]
pub struct Tap {
    /// Sequence space of the direction.
    pub space: SequenceSpace,
    /// SND.NXT and SND.UNA; [`NULL`], which is less than any number, while they are unknown.
    snd_nxt: i64,
    snd_una: i64,
    records: Records,
    /// Below `next`, never seen.
    holes: Ranges,
    sacked: Ranges,
    /// End of the last zero-window probe: its octet passed the tap, and may be acknowledged.
    probe_end: i64,
    /// Identification and TSval of the segment that last moved `next`: later copies are newer, overtaken ones older.
    frontier: Option<(Option<u16>, Option<u32>)>,
    /// Acknowledged before they were captured, and when.
    early: Ranges,
    early_ns: i64,
    /// Which packets are copies of others.
    pub copies: Copies,
    /// Least RTT seen here, delayed acknowledgments left out, or [`NULL`].
    pub rtt_min_ns: i64,
    /// Round trip of the whole path, from the handshake, or [`NULL`]: no retransmission comes sooner.
    pub path_rtt_ns: i64,
}

impl Default for Tap {
    fn default() -> Self {
        Self {
            space: SequenceSpace::default(),
            snd_nxt: NULL,
            snd_una: NULL,
            records: Records::default(),
            holes: Ranges::default(),
            sacked: Ranges::default(),
            probe_end: 0,
            frontier: None,
            early: Ranges::default(),
            early_ns: 0,
            copies: Copies::default(),
            rtt_min_ns: NULL,
            path_rtt_ns: NULL,
        }
    }
}

impl Tap {
    /// Queues of one host are emptied this soon (Linux `net.core.netdev_budget_usecs`: 2 ms); a sender hardly sends
    /// again what was acknowledged so long ago.
    const MIXED_NS: i64 = 2_000_000;
    /// Reordering without other evidence: as Wireshark, 3 ms when no RTT is known.
    const REORDER_NS: i64 = 3_000_000;

    /// As [`Ranges::set_max`], of every set.
    pub fn set_max_ranges(&mut self, most: usize) {
        for ranges in [&mut self.holes, &mut self.sacked, &mut self.early] {
            ranges.set_max(most);
        }
    }

    /// As [`Ranges::merged`], of all sets.
    #[must_use]
    pub fn merged_ranges(&self) -> u32 {
        let [a, b, c] = [&self.holes, &self.sacked, &self.early].map(Ranges::merged);
        a.saturating_add(b).saturating_add(c)
    }

    /// SND.NXT at the tap.
    #[must_use]
    pub fn snd_nxt(&self) -> Option<i64> {
        known(self.snd_nxt)
    }

    /// SND.UNA at the tap.
    #[must_use]
    pub fn snd_una(&self) -> Option<i64> {
        known(self.snd_una)
    }

    /// SND.NXT - SND.UNA at the tap.
    #[must_use]
    pub fn in_flight(&self) -> Option<i64> {
        Some((self.snd_nxt()? - self.snd_una()?).max(0))
    }

    /// Is anything in flight at the tap?
    #[must_use]
    pub fn is_outstanding(&self) -> bool {
        self.snd_una != NULL && self.snd_nxt > self.snd_una
    }

    /// Was everything acknowledged up to here, and nothing sent beyond?
    #[must_use]
    pub fn is_idle_at(&self, sequence: i64) -> bool {
        self.snd_una == sequence && self.snd_nxt == sequence
    }

    /// Has everything been acknowledged that was sent? So it is while nothing was.
    #[must_use]
    pub fn is_acknowledged(&self) -> bool {
        self.snd_una >= self.snd_nxt
    }

    /// End of what SACK reported, if it reported anything.
    #[must_use]
    pub fn sacked_end(&self) -> Option<i64> {
        self.sacked.end()
    }

    /// Has all of `start..end` been acknowledged, by number or by SACK?
    #[must_use]
    pub fn is_delivered(&self, start: i64, end: i64) -> bool {
        let start = start.max(self.snd_una);
        start >= end || self.sacked.covered(start, end) == end - start
    }

    /// Bytes known to have arrived, by SND.UNA or by SACK, counted from relative 0.
    #[must_use]
    pub fn delivered(&self) -> i64 {
        self.snd_una().unwrap_or_default() + self.sacked.bytes()
    }

    /// A segment that occupies sequence space, or probes; `probe` is what [`Self::probe`] says of it. Records it for the
    /// round given.
    #[inline]
    pub fn segment(
        &mut self,
        observed: &ObservedSegment<'_>,
        probe: Option<Kind>,
        round: u32,
    ) -> Arrival {
        let &ObservedSegment {
            segment, sequence, ..
        } = observed;
        let flags = segment.flags;
        let length = i64::from(segment.payload_bytes);
        let control = i64::from(flags.has(Flags::SYN)) + i64::from(flags.has(Flags::FIN));
        let end = sequence + length + control;
        if self.snd_nxt == NULL {
            self.snd_nxt = sequence;
        }
        let whole = |kind| Arrival {
            kind,
            start: sequence,
            end,
            new_bytes: length,
            before_ns: None,
            captured_late: 0,
        };
        if flags.has(Flags::RST) {
            return Arrival {
                new_bytes: 0,
                ..whole(Kind::Rst)
            };
        }
        if let Some(kind) = probe {
            if sequence == self.snd_nxt {
                // Not counted as sent unless it is acknowledged: the receiver may well drop it.
                self.probe_end = end;
            }
            return Arrival {
                new_bytes: 0,
                ..whole(kind)
            };
        }
        if sequence < self.snd_nxt {
            return self.below_next(observed, whole(Kind::Data), round);
        }
        if sequence > self.snd_nxt {
            self.holes.add(self.snd_nxt, sequence);
        }
        self.extend(sequence, end, observed, round);
        self.frontier = Some((segment.identification, observed.tsval));
        whole(named(
            flags,
            if length == 0 { Kind::Fin } else { Kind::Data },
        ))
    }

    /// A segment that begins below SND.NXT.
    #[cold]
    fn below_next(
        &mut self,
        observed: &ObservedSegment<'_>,
        whole: Arrival,
        round: u32,
    ) -> Arrival {
        let Arrival { start, end, .. } = whole;
        let flags = observed.segment.flags;
        let length = whole.new_bytes;
        let (time_ns, next) = (observed.at.time_ns, self.snd_nxt);
        let below = end.min(next);
        if !flags.has(Flags::SYN) && self.is_belated(start, below, time_ns) {
            if end > next {
                self.extend(next, end, observed, round);
            }
            return Arrival {
                kind: if length == 0 { Kind::Fin } else { Kind::Data },
                captured_late: below - start,
                ..whole
            };
        }
        let unseen = self.holes.covered(start, below) + (end - next).max(0);
        let fills = unseen == end - start && end <= next;
        let overtaken = fills && self.overtaken(observed);
        self.holes.remove(start, end);
        if end > next {
            self.extend(next, end, observed, round);
        }
        let mut before_ns = None;
        if fills {
            // It is what the next acknowledgment answers, not the segments that waited above the hole.
            (self.records).fill(start, end, observed.stamp(), round, !overtaken);
        } else {
            before_ns = self.records.resend(start, end, observed.stamp());
        }
        let again = if overtaken {
            Kind::Reordered
        } else {
            Kind::Retransmission
        };
        Arrival {
            kind: named(flags, again),
            new_bytes: unseen.min(length),
            before_ns,
            ..whole
        }
    }

    /// Sends what follows what was sent, or lies beyond a hole.
    #[inline]
    fn extend(&mut self, start: i64, end: i64, observed: &ObservedSegment<'_>, round: u32) {
        self.records.push(start, end, observed.stamp(), round);
        self.snd_nxt = end;
        self.space.advance(end);
    }

    /// Would a segment without payload that begins here ask for an acknowledgment and no more: is it the byte below
    /// SND.NXT, with nothing outstanding?
    #[must_use]
    pub fn is_probe_sequence(&self, sequence: i64) -> bool {
        self.snd_nxt != NULL && self.snd_una >= self.snd_nxt && sequence == self.snd_nxt - 1
    }

    /// Is it a keep-alive, or a probe of a closed window: nothing outstanding, at most one byte, the one below SND.NXT or
    /// the next that there is no window for? `window_open` is false where the receiver's window is known to be closed.
    #[must_use]
    #[inline]
    pub fn probe(&self, observed: &ObservedSegment<'_>, window_open: bool) -> Option<Kind> {
        let segment = observed.segment;
        let control = Flags::SYN | Flags::FIN | Flags::RST;
        if segment.payload_bytes > 1
            || segment.flags.0 & control != 0
            || self.snd_nxt == NULL
            || self.snd_una < self.snd_nxt
        {
            return None;
        }
        match (self.is_probe_sequence(observed.sequence), window_open) {
            (true, true) => Some(Kind::KeepAlive),
            (true, false) => Some(Kind::ZeroWindowProbe),
            (false, false) if observed.sequence == self.snd_nxt && segment.payload_bytes == 1 => {
                Some(Kind::ZeroWindowProbe)
            }
            _ => None,
        }
    }

    /// Was the acknowledgment of `start..end` captured a moment before, and no such segment? Captures on two interfaces,
    /// or with a queue for each processor, mix packets of the same moment.
    fn is_belated(&mut self, start: i64, end: i64, time_ns: i64) -> bool {
        let near = (time_ns - self.early_ns).abs() < Self::MIXED_NS;
        let captured_late = near && start < end && self.early.covered(start, end) == end - start;
        if captured_late {
            self.early.remove(start, end);
        }
        captured_late
    }

    /// `start..end` is acknowledged, and was not captured.
    fn missed(&mut self, start: i64, end: i64, time_ns: i64) {
        if start >= end {
            return;
        }
        if (time_ns - self.early_ns).abs() >= Self::MIXED_NS {
            self.early.clear();
        }
        self.early_ns = time_ns;
        self.early.add(start, end);
    }

    /// From `una` to `ack` all is acknowledged now: how many bytes of it were not captured?
    #[inline]
    fn missed_between(&mut self, una: i64, ack: i64, time_ns: i64) -> i64 {
        if self.holes.is_empty() {
            return 0;
        }
        let unseen: Vec<_> = self.holes.within(una, ack).collect();
        for &(start, end) in &unseen {
            self.missed(start, end, time_ns);
        }
        self.holes.trim(ack);
        unseen.iter().map(|(start, end)| end - start).sum()
    }

    /// Was a segment that fills a hole sent before those that passed it? By IP identification where the sender counts
    /// it up, by TSval (a retransmission carries a later clock, RFC 7323 section 3), else by time.
    fn overtaken(&self, observed: &ObservedSegment<'_>) -> bool {
        let (identification, tsval) = self.frontier.unwrap_or_default();
        let segment: &Segment = observed.segment;
        if let (Some(newest), Some(this)) = (identification, segment.identification)
            && newest != 0
            && this != 0
        {
            let behind = newest.wrapping_sub(this);
            if (1..=1000).contains(&behind) {
                return true;
            }
            if (1..=1000).contains(&this.wrapping_sub(newest)) {
                return false;
            }
        }
        if let (Some(newest), Some(this)) = (tsval, observed.tsval)
            && newest != this
        {
            return newest.wrapping_sub(this) < 1 << 31;
        }
        let patience = known(self.path_rtt_ns).map_or(Self::REORDER_NS, |rtt| rtt / 2);
        let above_ns = self.records.above_ns(observed.sequence);
        above_ns.is_some_and(|above_ns| observed.at.time_ns - above_ns < patience)
    }

    /// An acknowledgment with its SACK blocks, relative; D-SACK blocks are left out (RFC 2883 section 4).
    pub fn acknowledge(
        &mut self,
        ack: i64,
        blocks: impl Iterator<Item = (i64, i64)>,
        tsecr: Option<u32>,
        time_ns: i64,
    ) -> Acknowledged {
        if self.snd_una == NULL {
            self.holes.trim(ack); // what lies below the first acknowledgment seen was never missing
            self.snd_una = ack;
        }
        if self.snd_nxt == NULL {
            self.snd_nxt = ack;
        }
        let (una, next) = (self.snd_una, self.snd_nxt);
        let mut unseen_bytes = 0;
        if ack > next {
            unseen_bytes = (ack - next.max(self.probe_end)).max(0);
            self.missed(ack - unseen_bytes, ack, time_ns);
            self.snd_nxt = ack;
            self.space.advance(ack);
        }
        let advanced = (ack - una).max(0);
        let mut sample = None;
        if advanced > 0 {
            self.snd_una = ack;
            unseen_bytes += self.missed_between(una, ack, time_ns);
            self.sacked.trim(ack);
            let least_ns = known(self.rtt_min_ns);
            sample = self.records.acknowledge(ack, tsecr, time_ns, least_ns);
        }
        let mut newly = 0;
        for (start, end) in blocks {
            let known = self.sacked.beyond(start.max(ack));
            let fresh = self.sacked.add(start.max(ack), end);
            newly += fresh;
            if fresh > 0
                && let Some(measured) = self.records.sack(start, known, end, time_ns)
                && sample.is_none()
            {
                sample = Some(measured);
            }
        }
        if let Some(RttSample {
            rtt_ns,
            maybe_delayed: false,
            ..
        }) = sample
        {
            self.rtt_min_ns = least(self.rtt_min_ns, rtt_ns);
        }
        Acknowledged {
            ack,
            advanced,
            sacked: newly,
            unseen_bytes,
            sample,
        }
    }
}
