//! # Sending
//! Processes the segments that a flow's sender sent.

use super::super::tap::{Arrival, Tap};
use super::{Effect, Flow};
use crate::decode::Flags;
use crate::track::at::At;
use crate::track::event::{Cause, Kind};
use crate::track::null::known;
use crate::track::rounds::bursts::SentData;
use crate::track::sender::retransmissions::RetransmittedSegment;
use crate::track::tap::observed::ObservedSegment;

impl Flow {
    /// Processes a segment of the sender that is not a pure acknowledgment: it occupies sequence space, probes or
    /// resets.
    #[inline]
    pub fn segment(&mut self, observed: &ObservedSegment<'_>) -> Effect {
        if observed.copy {
            return Effect::of(Kind::Duplicate);
        }
        self.flush_repeated_acks();
        let ObservedSegment {
            segment, at, tsecr, ..
        } = *observed;
        let length = observed.length();
        self.deliver_before_send(observed.end(), tsecr, at);
        let window_open = self.advertised.bytes != 0;
        let probe = self.tap.probe(observed, window_open);
        let no_data = segment.flags.has(Flags::RST) || probe == Some(Kind::KeepAlive);
        let carries_data = length > 0 && !no_data;
        let is_first_fin = segment.flags.has(Flags::FIN) && !self.fin_sent;
        if carries_data || is_first_fin && self.totals.largest_bytes > 0 {
            let vantage_pending = || self.tap_to_sender.is_vantage_pending(at.time_ns);
            let rounds = self.rounds.get();
            rounds.before_send(at, !carries_data, vantage_pending, &self.sender);
        }
        let arrival = self.tap.segment(observed, probe, self.rounds.number());
        self.last_was_probe = probe.is_some();
        if self.last_was_probe || arrival.kind == Kind::Rst {
            return Effect::of(arrival.kind);
        }
        if arrival.captured_late_bytes > 0 {
            self.subtract_unseen(arrival.captured_late_bytes);
        }
        if arrival.begins_far {
            self.sender.begin_at(arrival.start);
        }
        if arrival.sent_before_bytes > 0 {
            self.totals.unseen_bytes -= arrival.sent_before_bytes;
            self.rounds.get().sent_before(arrival.sent_before_bytes);
        }
        if carries_data
            && let (Some(una), Some(next)) = (self.sender.snd_una(), self.sender.snd_nxt())
        {
            let end = observed.end();
            self.scale.sent(arrival.start, end, una, next, self.mss);
        }
        let mut effect = Effect::of(arrival.kind);
        effect.unseen_bytes = -arrival.captured_late_bytes - arrival.sent_before_bytes;
        let retransmitted = arrival.kind == Kind::Retransmission;
        if retransmitted && carries_data {
            effect.cause = self.classify_retransmission(arrival, observed);
        }
        // A FIN waits for no window, so it is not in flight.
        let data_end = arrival.end - i64::from(segment.flags.has(Flags::FIN));
        self.sender.send(arrival.start, data_end, retransmitted);
        if carries_data {
            self.count_payload(&arrival, observed);
        }
        if is_first_fin {
            self.fin_sent = true;
            self.rounds
                .get()
                .fin_sent(at.time_ns, at.frame, arrival.end, &self.sender);
        }
        self.hand_over_rounds();
        effect
    }

    /// Does a pure acknowledgment show data of its sender that did not pass the tap? Then its sequence number lies beyond
    /// SND.NXT, and within the receiver's window. A single number may be a FIN.
    #[inline]
    #[must_use]
    pub fn shows_sent(&self, sequence: i64) -> bool {
        (self.tap.snd_nxt()).is_some_and(|next| sequence > next + 1)
            && self.tap.snd_una().is_some()
            && self.is_in_window(sequence)
    }

    /// Processes a pure acknowledgment that shows such data: they are in flight from now on.
    #[cold]
    pub fn show_sent(&mut self, observed: &ObservedSegment<'_>) {
        let at = observed.at;
        self.flush_repeated_acks();
        self.deliver_before_send(observed.sequence, observed.tsecr, at);
        let vantage_pending = || self.tap_to_sender.is_vantage_pending(at.time_ns);
        let rounds = self.rounds.get();
        rounds.before_send(at, false, vantage_pending, &self.sender);
        self.tap.show_sent(observed);
        self.sender
            .send(observed.sequence, observed.sequence, false);
        rounds.sent_unseen(at.time_ns, &self.sender);
    }

    /// Continues with another connection between the same ends, whose next sequence number is `raw`.
    #[cold]
    pub fn renumber(&mut self, raw: u32) {
        self.flush_repeated_acks();
        self.tap.renumber(raw);
        if let Some(next) = self.tap.snd_nxt() {
            self.sender.begin_at(next);
        }
    }

    /// Has nothing of the flow been captured for longer than data may be in flight?
    #[must_use]
    pub fn is_silent(&self, now_ns: i64) -> bool {
        now_ns.saturating_sub(self.last_ns) > Tap::IN_FLIGHT_NS
    }

    /// Delivers the acknowledgments that the sender must have received before it sent data up to `end`. They are those
    /// that its TSecr shows, those that have arrived by the clock, and those that allow it to send so far.
    #[inline(always)] // for every segment with payload
    fn deliver_before_send(&mut self, end: i64, tsecr: Option<u32>, at: At) {
        self.advance_to(at, tsecr);
        if let Some(tsecr) = tsecr
            && self.tap_to_sender.awaits_tsecr(tsecr)
        {
            let idle = self.sender.in_flight() == 0;
            self.measure_tap_to_sender(|tap_to_sender| {
                tap_to_sender.measure_tsecr(tsecr, idle, at.time_ns)
            });
        }
        if self.tap_to_sender.has_acks_in_transit() {
            self.deliver_early(end, tsecr, at);
        }
    }

    /// Delivers acknowledgments before their time until the window allows data up to `end`.
    #[inline(never)] // not needed where the tap is at the sender
    fn deliver_early(&mut self, end: i64, tsecr: Option<u32>, at: At) {
        while !self.sender.window_allows(end) || self.scale.forbids(end) {
            let Some((time_ns, ack)) = self.tap_to_sender.deliver_early(at.time_ns, tsecr) else {
                break;
            };
            self.deliver(&ack, time_ns, at.frame);
        }
    }

    /// Counts bytes as captured that were counted as unseen, because they came shortly after their acknowledgment.
    #[cold]
    fn subtract_unseen(&mut self, bytes: i64) {
        self.totals.unseen_bytes -= bytes;
        self.totals.acked_bytes += bytes;
        self.delivered += bytes;
        self.rounds.get().captured_late(bytes);
    }

    /// Returns the cause of a retransmission.
    #[cold]
    fn classify_retransmission(
        &mut self,
        arrival: Arrival,
        observed: &ObservedSegment<'_>,
    ) -> Cause {
        let Arrival { start, end, .. } = arrival;
        let time_ns = observed.at.time_ns;
        let retransmitted = RetransmittedSegment {
            start,
            end,
            payload_bytes: observed.length(),
            time_ns,
            previous_ns: arrival.previous_ns,
            tsval: observed.tsval,
            delivered: self.tap.is_delivered(start, end),
            sacked_above: self.tap.sacked_end() > Some(end),
            ack_arrival_ns: (observed.tsecr)
                .and_then(|tsecr| self.tap_to_sender.latest_ack_arrival_ns(time_ns, tsecr)),
        };
        self.retransmissions
            .classify(retransmitted, &self.sender, self.mss)
    }

    /// Counts sent payload in the totals and in the open round.
    #[inline]
    fn count_payload(&mut self, arrival: &Arrival, observed: &ObservedSegment<'_>) {
        let &ObservedSegment {
            at, tsval, tsecr, ..
        } = observed;
        let length = observed.length();
        // Bytes whose first copy was lost before the tap are retransmitted, too.
        let is_retransmission = arrival.kind == Kind::Retransmission;
        let retransmitted = if is_retransmission { length } else { 0 };
        let fresh = length - retransmitted;
        let silent_ns = self.silent_ns(tsval);
        let rounds = self.rounds.get();
        let in_flight = rounds.in_flight(&self.sender);
        let reordered = i64::from(arrival.kind == Kind::Reordered);
        let totals = &mut self.totals;
        totals.payload_bytes += arrival.new_bytes;
        totals.largest_bytes = totals.largest_bytes.max(length);
        totals.in_flight_max_bytes = totals.in_flight_max_bytes.max(in_flight);
        let data = SentData {
            time_ns: at.time_ns,
            new_bytes: fresh,
            retransmitted_bytes: retransmitted,
            in_flight,
            small: length < self.mss || length > self.mss && length % self.mss != 0,
            below_mss: length < self.mss,
            silent_ns,
        };
        self.last_data_tsval = tsval;
        let (tap_to_sender, forward_delay_ns) = (&self.tap_to_sender, known(self.forward_delay_ns));
        // Time since the sender received its last acknowledgment, if the tap is not at the sender.
        let ack_age_ns = || Some(tap_to_sender.ack_age_ns(at.time_ns, tsecr?)? - forward_delay_ns?);
        rounds.sent(at.frame, data, ack_age_ns, &self.sender);
        if arrival.kind != Kind::Data {
            totals.retransmitted_bytes += retransmitted;
            totals.reordered += reordered;
            rounds.count(|row| row.reordered += reordered);
        }
        if tsecr != self.last_data_tsecr {
            rounds.count(|row| row.answered_tsvals += 1);
            self.last_data_tsecr = tsecr;
        }
    }

    /// Adds a packet of the sender that reached the tap `excess_ns` later than the fastest one. `tick_ns` is the tick
    /// of the sender's timestamp clock.
    pub fn add_forward_delay(&mut self, excess_ns: i64, tick_ns: i64) {
        // An excess of less than a tick may be the time since the clock's last tick.
        let forward_delay_ns = if excess_ns < tick_ns { 0 } else { excess_ns };
        (self.forward_delay_ns, self.tick_ns) = (forward_delay_ns, tick_ns);
        let rounds = self.rounds.get();
        rounds.set_forward_delay(forward_delay_ns);
        rounds.measurements().add_forward_delay(excess_ns);
    }

    /// Returns the least time without data before the segment with `tsval`, in ns, by the sender's clock. A queue before
    /// the tap shortens the pauses seen there. The time is 0 where the tap is at the sender or the clock is unknown.
    fn silent_ns(&self, tsval: Option<u32>) -> i64 {
        if self.tap_to_sender.tap_at_sender() {
            return 0;
        }
        let tick_ns = known(self.tick_ns);
        let (Some(tick_ns), Some(before), Some(tsval)) = (tick_ns, self.last_data_tsval, tsval)
        else {
            return 0;
        };
        let ticks = tsval.wrapping_sub(before);
        if !(1..1 << 31).contains(&ticks) {
            return 0;
        }
        i64::from(ticks - 1) * tick_ns
    }
}
