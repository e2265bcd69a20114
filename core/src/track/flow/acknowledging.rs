//! # Acknowledging
//! What its receiver's segments do to a flow.

use super::super::event::Kind;
use super::super::sender::Ack;
use super::super::tap::Acknowledged;
use super::{Effect, Flow, Reassured, Told};
use crate::decode::{Flags, Segment};
use crate::track::tap::observed::ObservedSegment;
use crate::track::tap::records::RttSample;

impl Flow {
    /// Does a segment with data say no more than the one before it, to a sender that awaits nothing? It is counted later.
    #[must_use]
    #[inline]
    pub fn is_reassured(&mut self, observed: &ObservedSegment<'_>) -> bool {
        let ObservedSegment { segment, at, .. } = *observed;
        let odd = Flags::SYN | Flags::FIN | Flags::RST | Flags::ECE;
        let again = self.reassured.told == Some((segment.acknowledgment, segment.window))
            && segment.payload_bytes > 0
            && segment.flags.0 & odd == 0
            && segment.options.sack_blocks == 0
            && at.time_ns >= self.reassured.last_ns
            && !observed.copy;
        if again {
            self.reassured.count += 1;
            self.reassured.last_ns = at.time_ns;
        }
        again
    }

    /// Counts what said nothing new, before anything changes.
    pub fn settle(&mut self) {
        let Reassured { count, last_ns, .. } = std::mem::take(&mut self.reassured);
        if count > 0 {
            self.last_ns = last_ns;
            self.totals.acks += count;
            let rounds = self.rounds.get();
            rounds.note(|row| row.replies += count);
        }
    }

    /// Acknowledgments that ever came.
    #[must_use]
    pub fn acks(&self) -> i64 {
        self.totals.acks + self.reassured.count
    }

    /// A segment from the receiver that acknowledges something.
    pub fn acknowledge(&mut self, observed: &ObservedSegment<'_>) -> Effect {
        if observed.copy {
            return Effect::of(Kind::Duplicate);
        }
        self.settle();
        if !observed.pure_ack && self.knows(observed) {
            self.reassure(observed);
            return Effect::of(Kind::Ack);
        }
        self.hear(observed)
    }

    /// Is what a segment with data acknowledges nothing new to a sender that awaits nothing?
    fn knows(&self, observed: &ObservedSegment<'_>) -> bool {
        let segment = observed.segment;
        let told = Told::by(observed);
        let ack = self.tap.space.relative(segment.acknowledgment);
        self.tap.is_idle_at(ack)
            && self.told == told
            && told.bytes != 0
            && segment.options.sack_blocks == 0
            && segment.flags.0 & (Flags::ECE | Flags::RST) == 0
    }

    /// The sender hears what it [knows](Self::knows).
    fn reassure(&mut self, observed: &ObservedSegment<'_>) {
        let ObservedSegment { segment, at, .. } = *observed;
        self.catch_up(at, None);
        if segment.payload_bytes > 0 {
            self.rounds.get().note(|row| row.replies += 1);
        }
        self.probed = false;
        self.totals.acks += 1;
        self.finished();
        if !self.way.has_acks_in_transit() {
            self.reassured = Reassured {
                told: Some((segment.acknowledgment, segment.window)),
                count: 0,
                last_ns: at.time_ns,
            };
        }
    }

    /// The sender hears what may be news.
    #[inline]
    fn hear(&mut self, observed: &ObservedSegment<'_>) -> Effect {
        let ObservedSegment {
            segment,
            at,
            tsval,
            tsecr,
            ..
        } = *observed;
        self.catch_up(at, None);
        if segment.flags.has(Flags::RST) {
            return Effect::of(Kind::Rst); // its acknowledgment number is no promise
        }
        let ack = self.ack(observed);
        let (una, outstanding) = (self.tap.snd_una(), self.tap.is_outstanding());
        let before = self.tap.delivered();
        let seen = (self.tap).acknowledge(ack.ack, ack.blocks(), tsecr, at.time_ns);
        if self.retransmissions.any() {
            let duplicate = self.duplicate(segment, ack.ack);
            self.retransmissions
                .detect_spurious(ack.ack, tsecr, duplicate, self.mss);
        }
        let told = Told::by(observed);
        let kind = self.kind(segment, &ack, told, una, outstanding, observed.pure_ack);
        let mut effect = Effect::of(kind);
        effect.missed_bytes = seen.unseen_bytes;
        self.probed = false;
        // An acknowledgment that was overtaken says nothing new (SND.WL2, RFC 9293 section 3.10.7.4).
        if una.is_none_or(|una| ack.ack >= una) {
            self.told = told;
        }
        self.count_ack(&ack, &seen, effect.kind == Kind::DuplicateAck);
        if seen.advanced + seen.sacked > 0 {
            self.space_out(before, tsval, at.time_ns);
        }
        self.way.enqueue(&ack, tsval, at.time_ns);
        if let Some(sample) = seen.sample {
            effect.rtt_ns = self.measured(sample, at.time_ns);
        }
        if self.way.tap_at_sender() {
            self.deliver(&ack, at.time_ns, at.frame);
        }
        self.finished();
        effect
    }

    /// The acknowledgment as its sender will receive it.
    #[inline(always)] // most of it stays in registers
    fn ack(&self, observed: &ObservedSegment<'_>) -> Ack {
        let segment = observed.segment;
        let syn = segment.flags.has(Flags::SYN);
        let ack = self.tap.space.relative(segment.acknowledgment);
        Ack {
            ack,
            window: observed.window(),
            window_field: segment.window,
            scaled: !syn,
            blocks: self.blocks(segment, ack),
            ece: self.echoes_congestion && segment.flags.has(Flags::ECE) && !syn,
            reply: segment.payload_bytes > 0,
        }
    }

    /// The SACK block that brings news: the first, D-SACK left out.
    #[must_use]
    pub fn news(&self, observed: &ObservedSegment<'_>) -> Option<(i64, i64)> {
        self.ack(observed).blocks().next()
    }

    /// What to call it. `una` and `outstanding` are as before it.
    #[inline]
    fn kind(
        &self,
        segment: &Segment,
        ack: &Ack,
        told: Told,
        una: Option<i64>,
        outstanding: bool,
        pure_ack: bool,
    ) -> Kind {
        // The same field and the same meaning: a SYN's window means something else than what follows.
        let same = self.told == Told::NOTHING || self.told == told;
        if ack.window == Some(0) && ack.scaled {
            Kind::ZeroWindow
        } else if !pure_ack || una != Some(ack.ack) {
            Kind::Ack
        } else if self.probed && same {
            Kind::KeepAliveAck
        } else if outstanding && (same || segment.options.sack_blocks > 0) {
            Kind::DuplicateAck
        } else if !same {
            Kind::WindowUpdate
        } else {
            Kind::Ack
        }
    }

    /// Counts it into the sums and the round now open.
    #[inline]
    fn count_ack(&mut self, ack: &Ack, seen: &Acknowledged, duplicate: bool) {
        self.retransmissions
            .count_duplicate_acks(seen.advanced > 0, duplicate);
        let totals = &mut self.totals;
        totals.acks += 1;
        totals.acked_bytes += seen.advanced;
        totals.missed_bytes += seen.unseen_bytes;
        if ack.scaled {
            totals.window_max_bytes = totals.window_max_bytes.max(ack.window);
        }
        self.rounds.get().note(|row| {
            row.replies += i64::from(ack.reply);
            row.missed_bytes += seen.unseen_bytes;
            row.duplicate_acks += i64::from(duplicate);
        });
    }

    /// It delivered something: how long after the one before, and was that another tick of its sender's clock?
    #[inline]
    fn space_out(&mut self, delivered_before: i64, tsval: Option<u32>, now_ns: i64) {
        let gap_ns = (now_ns - self.last_delivery_ns).max(0);
        let delivered = self.tap.delivered() - delivered_before;
        let rounds = self.rounds.get();
        if delivered > 0 {
            rounds.measurements().add_ack_spacing(gap_ns, delivered);
            self.last_delivery_ns = now_ns;
        }
        rounds.note(|row| row.ack_ticks += i64::from(tsval != self.last_value));
        self.last_value = tsval;
    }

    /// It measured an RTT from the tap; gives that of the whole path.
    #[inline]
    fn measured(&mut self, mut sample: RttSample, now_ns: i64) -> i64 {
        if !sample.maybe_delayed {
            self.measure_way(|way| way.add_receiver_rtt(sample.rtt_ns));
        }
        sample.rtt_ns = sample.rtt_ns.saturating_add(self.way.delay_ns());
        self.retransmissions.add_rtt(sample.rtt_ns);
        let delivered = self.tap.delivered();
        self.rounds.get().measured(sample, now_ns, delivered);
        sample.rtt_ns
    }

    /// SACK blocks, relative; as many as the segment has are valid.
    fn sack(&self, segment: &Segment) -> [(i64, i64); 4] {
        let space = &self.tap.space;
        let relative = |(start, end)| (space.relative(start), space.relative(end));
        segment.options.sack.map(relative)
    }

    /// What the segment reports to have come twice: a first block below its acknowledgment or inside the second (D-SACK,
    /// RFC 2883 section 4).
    fn duplicate(&self, segment: &Segment, ack: i64) -> Option<(i64, i64)> {
        let count = segment.options.sack_blocks;
        let [first, second, ..] = (count > 0).then(|| self.sack(segment))?;
        let duplicate = first.1 <= ack || (count > 1 && first.0 >= second.0 && first.1 <= second.1);
        duplicate.then_some(first)
    }

    /// SACK blocks as distances from the acknowledgment. One that reports a duplicate is left out, as is one beyond what
    /// was sent.
    fn blocks(&self, segment: &Segment, ack: i64) -> [(u32, u32); 4] {
        let mut kept = [(0, 0); 4];
        let count = usize::from(segment.options.sack_blocks).min(4);
        if count == 0 {
            return kept;
        }
        let blocks = self.sack(segment);
        let duplicate = self.duplicate(segment, ack).is_some();
        let next = self.tap.snd_nxt().unwrap_or(i64::MAX);
        let good = blocks[..count]
            .iter()
            .skip(usize::from(duplicate))
            .filter(|&&(start, end)| start < end && start >= ack && end <= next);
        let distance = |to: i64| u32::try_from(to - ack).unwrap_or(u32::MAX);
        for (slot, &(start, end)) in kept.iter_mut().zip(good) {
            *slot = (distance(start), distance(end));
        }
        kept
    }
}
