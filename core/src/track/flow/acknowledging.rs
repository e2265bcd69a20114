//! # Acknowledging
//! Processes the receiver's segments, which acknowledge the flow's data.

use super::super::event::Kind;
use super::super::sender::{Ack, Captured, packets};
use super::super::tap::Acknowledged;
use super::sustained_rate::SustainedRate;
use super::{AdvertisedWindow, Effect, Flow, RepeatedAcks};
use crate::decode::{Flags, Segment};
use crate::track::null::NULL;
use crate::track::tap::observed::ObservedSegment;
use crate::track::tap::records::RttSample;

impl Flow {
    /// Does this segment with data repeat the last ACK number and window while nothing is outstanding? Such a segment
    /// needs no further processing: it is counted in bulk by [`Self::flush_repeated_acks`].
    #[must_use]
    #[inline]
    pub fn count_if_repeated(&mut self, observed: &ObservedSegment<'_>) -> bool {
        let ObservedSegment { segment, at, .. } = *observed;
        let special = Flags::SYN | Flags::FIN | Flags::RST | Flags::ECE;
        let repeated = self.repeated_acks.acknowledgment == Some(segment.acknowledgment)
            && self.advertised.field == Some(segment.window)
            && observed.reply
            && segment.flags.0 & special == 0
            && segment.options.sack_blocks == 0
            && at.time_ns >= self.repeated_acks.last_ns
            && !observed.copy;
        if repeated {
            self.repeated_acks.count += 1;
            self.repeated_acks.last_ns = at.time_ns;
        }
        repeated
    }

    /// Adds the repeated acknowledgments to the totals and the open round. Call this before the flow's state changes.
    pub fn flush_repeated_acks(&mut self) {
        if self.repeated_acks.acknowledgment.is_some() {
            self.add_repeated_acks();
        }
    }

    #[cold]
    fn add_repeated_acks(&mut self) {
        let RepeatedAcks { count, last_ns, .. } = std::mem::take(&mut self.repeated_acks);
        if count > 0 {
            self.last_ns = last_ns;
            self.totals.acks += count;
            let received_ns = last_ns.saturating_add(self.tap_to_sender.delay_ns());
            let rounds = self.rounds.get();
            rounds.count(|row| row.acks_with_payload += count);
            rounds.peer_sent(received_ns);
        }
    }

    /// Returns the number of acknowledgments so far.
    #[must_use]
    pub fn acks(&self) -> i64 {
        self.totals.acks + self.repeated_acks.count
    }

    /// Processes a segment of the receiver that carries an acknowledgment number.
    pub fn acknowledge(&mut self, observed: &ObservedSegment<'_>) -> Effect {
        if observed.copy {
            return Effect::of(Kind::Duplicate);
        }
        self.flush_repeated_acks();
        if !observed.pure_ack && self.is_repeated_ack(observed) {
            self.acknowledge_repeated(observed);
            return Effect::of(Kind::Ack);
        }
        self.acknowledge_new(observed)
    }

    /// Does this segment acknowledge nothing new and advertise the same open window, while nothing is outstanding?
    fn is_repeated_ack(&self, observed: &ObservedSegment<'_>) -> bool {
        let segment = observed.segment;
        let window = AdvertisedWindow::of(observed);
        let ack = self.tap.space.relative(segment.acknowledgment);
        self.tap.is_idle_at(ack)
            && self.advertised == window
            && window.bytes != 0
            && segment.options.sack_blocks == 0
            && segment.flags.0 & (Flags::ECE | Flags::RST) == 0
    }

    /// Processes a [repeated acknowledgment](Self::is_repeated_ack).
    fn acknowledge_repeated(&mut self, observed: &ObservedSegment<'_>) {
        let ObservedSegment { segment, at, .. } = *observed;
        self.advance_to(at, None);
        if observed.reply {
            let received_ns = at.time_ns.saturating_add(self.tap_to_sender.delay_ns());
            let rounds = self.rounds.get();
            rounds.count(|row| row.acks_with_payload += 1);
            rounds.peer_sent(received_ns);
        }
        self.last_was_probe = false;
        self.totals.acks += 1;
        self.hand_over_rounds();
        if !self.tap_to_sender.has_acks_in_transit() {
            self.repeated_acks = RepeatedAcks {
                acknowledgment: Some(segment.acknowledgment),
                count: 0,
                last_ns: at.time_ns,
            };
        }
    }

    /// Processes an acknowledgment that may acknowledge new data or change the window.
    #[inline]
    fn acknowledge_new(&mut self, observed: &ObservedSegment<'_>) -> Effect {
        let ObservedSegment {
            segment,
            at,
            tsval,
            tsecr,
            ..
        } = *observed;
        self.advance_to(at, None);
        if segment.flags.has(Flags::RST) {
            return Effect::of(Kind::Rst); // the acknowledgment number of a reset acknowledges nothing
        }
        let mut ack = self.ack_of(observed);
        let (una, outstanding) = (self.tap.snd_una(), self.tap.is_outstanding());
        let mut seen = (self.tap).acknowledge(ack.ack, ack.blocks(), tsecr, at.time_ns);
        if una.is_none() && seen.advanced > 0 {
            self.sender.begin_at(ack.ack - seen.advanced);
        }
        seen.captured = seen.captured.min(self.totals.unacknowledged_bytes());
        if self.retransmissions.any() {
            let duplicate = self.dsack_block(segment, ack.ack);
            self.retransmissions
                .detect_spurious(ack.ack, tsecr, duplicate, self.mss);
        }
        if self.totals.payload_copies > 0 && !observed.copy {
            self.recount_copies(segment, ack.ack);
        }
        let window = AdvertisedWindow {
            bytes: ack.window.unwrap_or(NULL),
            field: Some(ack.window_field),
        };
        let kind = self.kind_of_ack(segment, &ack, window, una, outstanding, observed.pure_ack);
        let mut effect = Effect::of(kind);
        (effect.acked_bytes, effect.unseen_bytes) = (seen.advanced, seen.unseen_bytes);
        self.last_was_probe = false;
        // An older acknowledgment does not update the window (SND.WL2, RFC 9293 section 3.10.7.4).
        if una.is_none_or(|una| ack.ack >= una) {
            self.advertised = window;
        }
        self.count_ack(&ack, &seen, effect.kind == Kind::DuplicateAck, at.time_ns);
        if effect.kind == Kind::DuplicateAck || segment.options.sack_blocks > 0 {
            let next = self.tap.snd_nxt().unwrap_or_default();
            self.sustained_rate.add_missing(next);
        }
        let delivered = self.tap.delivered();
        let newly_delivered = delivered - std::mem::replace(&mut self.delivered, delivered);
        ack.captured = Captured {
            acked: seen.captured,
            delivered: newly_delivered.clamp(0, seen.advanced + seen.sacked),
        };
        if seen.advanced + seen.sacked > 0 {
            let una = una.unwrap_or_default();
            self.measure_ack_spacing(newly_delivered, una, tsval, at.time_ns);
        }
        let sequence = observed.sequence;
        let in_transit = (self.tap_to_sender).enqueue(&ack, tsval, sequence, at.time_ns);
        if in_transit && ack.reply {
            // Data captured after it may answer it, though they seem to have left a moment before it arrived.
            let received_ns = at.time_ns.saturating_add(self.tap_to_sender.delay_ns());
            self.rounds.get().peer_sent(received_ns);
        }
        if let Some(sample) = seen.sample {
            effect.rtt_ns = self.add_rtt(sample, at.time_ns, delivered);
        }
        if !in_transit {
            self.deliver(&ack, at.time_ns, at.frame);
        }
        self.hand_over_rounds();
        effect
    }

    /// Returns the acknowledgment in the form that its sender receives.
    #[inline(always)] // most of its fields stay in registers
    fn ack_of(&self, observed: &ObservedSegment<'_>) -> Ack {
        let segment = observed.segment;
        let syn = segment.flags.has(Flags::SYN);
        let ack = self.tap.space.relative(segment.acknowledgment);
        Ack {
            ack,
            window: observed.window(),
            window_field: segment.window,
            scaled: !syn,
            blocks: self.sack_blocks(segment, ack),
            ece: self.ece_echoes_congestion && segment.flags.has(Flags::ECE) && !syn,
            reply: observed.reply,
            captured: Captured::default(),
        }
    }

    /// Returns the first SACK block that is not a D-SACK, as relative start and end; `None` where there is none.
    #[must_use]
    pub fn first_sack_block(&self, observed: &ObservedSegment<'_>) -> Option<(i64, i64)> {
        self.ack_of(observed).blocks().next()
    }

    /// Returns the kind of an acknowledgment. `una` and `outstanding` are the tap's SND.UNA, and whether data were
    /// outstanding, before it.
    #[inline]
    fn kind_of_ack(
        &self,
        segment: &Segment,
        ack: &Ack,
        window: AdvertisedWindow,
        una: Option<i64>,
        outstanding: bool,
        pure_ack: bool,
    ) -> Kind {
        // Field and bytes are both compared: a SYN's window is not scaled, so an equal field may mean other bytes.
        let same_window =
            || self.advertised == AdvertisedWindow::UNKNOWN || self.advertised == window;
        if ack.window == Some(0) && ack.scaled {
            Kind::ZeroWindow
        } else if !pure_ack || una != Some(ack.ack) {
            Kind::Ack
        } else if self.last_was_probe && same_window() {
            Kind::KeepAliveAck
        } else if outstanding && (same_window() || segment.options.sack_blocks > 0) {
            Kind::DuplicateAck
        } else if !same_window() {
            Kind::WindowUpdate
        } else {
            Kind::Ack
        }
    }

    /// Counts an acknowledgment in the totals and in the open round.
    #[inline]
    fn count_ack(&mut self, ack: &Ack, seen: &Acknowledged, duplicate: bool, now_ns: i64) {
        self.retransmissions
            .count_duplicate_acks(seen.advanced > 0, duplicate, now_ns);
        let totals = &mut self.totals;
        totals.acks += 1;
        totals.acked_bytes += seen.captured;
        totals.unseen_bytes += seen.unseen_bytes;
        if ack.scaled {
            totals.window_max_bytes = totals.window_max_bytes.max(ack.window);
        }
        if ack.reply || duplicate || seen.unseen_bytes != 0 {
            self.rounds.get().count(|row| {
                row.acks_with_payload += i64::from(ack.reply);
                row.unseen_bytes += seen.unseen_bytes;
                row.duplicate_acks += i64::from(duplicate);
            });
        }
    }

    /// Measures the time since the last acknowledgment that delivered something, and counts ticks of the receiver's
    /// timestamp clock. `delivered` is the number of bytes that this one delivered, and `una` was SND.UNA before it.
    #[inline]
    fn measure_ack_spacing(&mut self, delivered: i64, una: i64, tsval: Option<u32>, now_ns: i64) {
        let gap_ns = (now_ns - self.last_delivery_ns).max(0);
        if delivered > 0 {
            let rounds = &self.rounds;
            let shortest_ns = || SustainedRate::shortest_span_ns(rounds.rtt_min_ns());
            let total = (self.delivered - delivered, self.delivered);
            (self.sustained_rate).add((gap_ns, now_ns), total, una, shortest_ns);
            self.last_delivery_ns = now_ns;
        }
        let rounds = self.rounds.get();
        if delivered > 0 {
            rounds.measurements().add_ack_spacing(gap_ns, delivered);
        }
        if tsval != self.last_ack_tsval {
            rounds.count(|row| row.ack_tsvals += 1);
            self.last_ack_tsval = tsval;
        }
    }

    /// Adds an RTT sample between tap and receiver, measured when `delivered` bytes had arrived in total; returns the RTT
    /// of the whole path, in ns.
    #[inline]
    fn add_rtt(&mut self, mut sample: RttSample, now_ns: i64, delivered: i64) -> i64 {
        if !sample.maybe_delayed {
            self.measure_tap_to_sender(|tap_to_sender| {
                tap_to_sender.add_receiver_rtt(sample.rtt_ns)
            });
        }
        sample.rtt_ns = sample.rtt_ns.saturating_add(self.tap_to_sender.delay_ns());
        self.retransmissions.add_rtt(sample.rtt_ns);
        self.rounds.get().add_rtt(sample, now_ns, delivered);
        sample.rtt_ns
    }

    /// Returns the segment's SACK blocks as relative numbers; only the first `sack_blocks` entries are valid.
    fn relative_sack(&self, segment: &Segment) -> [(i64, i64); 4] {
        let space = &self.tap.space;
        let relative = |(start, end)| (space.relative(start), space.relative(end));
        segment.options.sack.map(relative)
    }

    /// Counts a copy as a packet that was sent if the receiver reports that it came twice, and no retransmission shows
    /// why. A receiver gets no copy of the capture.
    #[cold]
    fn recount_copies(&mut self, segment: &Segment, ack: i64) {
        if let Some((start, end)) = self.dsack_block(segment, ack)
            && !self.retransmissions.holds(start, end)
        {
            let totals = &mut self.totals;
            let count = packets(end - start, self.mss).min(totals.payload_copies);
            totals.payload_copies -= count;
            totals.copies -= count;
            totals.packets += count;
            // A link that stalls delivers a packet and its retransmission together.
            let alike = count.min(totals.alike);
            totals.alike -= alike;
            totals.delivered_twice += count - alike;
        }
    }

    /// Returns the D-SACK block (RFC 2883 section 4), which reports bytes received twice; `None` where there is none.
    /// It is the first block if that lies below the acknowledgment number or within the second block.
    fn dsack_block(&self, segment: &Segment, ack: i64) -> Option<(i64, i64)> {
        let count = segment.options.sack_blocks;
        let [first, second, ..] = (count > 0).then(|| self.relative_sack(segment))?;
        let duplicate = first.1 <= ack || (count > 1 && first.0 >= second.0 && first.1 <= second.1);
        duplicate.then_some(first)
    }

    /// Returns the SACK blocks as distances from the acknowledgment number. D-SACK blocks are left out, and blocks
    /// beyond SND.NXT or below the acknowledgment number.
    #[inline]
    fn sack_blocks(&self, segment: &Segment, ack: i64) -> [(u32, u32); 4] {
        if segment.options.sack_blocks == 0 {
            [(0, 0); 4]
        } else {
            self.valid_sack_blocks(segment, ack)
        }
    }

    /// Returns the SACK blocks of a segment with some, as [`Self::sack_blocks`] does.
    #[inline(never)] // only after a loss
    fn valid_sack_blocks(&self, segment: &Segment, ack: i64) -> [(u32, u32); 4] {
        let mut kept = [(0, 0); 4];
        let count = usize::from(segment.options.sack_blocks).min(4);
        let blocks = self.relative_sack(segment);
        let has_dsack = self.dsack_block(segment, ack).is_some();
        let next = self.tap.snd_nxt().unwrap_or(i64::MAX);
        let valid = blocks[..count]
            .iter()
            .skip(usize::from(has_dsack))
            .filter(|&&(start, end)| start < end && start >= ack && end <= next);
        let distance = |to: i64| u32::try_from(to - ack).unwrap_or(u32::MAX);
        for (slot, &(start, end)) in kept.iter_mut().zip(valid) {
            *slot = (distance(start), distance(end));
        }
        kept
    }
}
