//! # Sending
//! What a flow's own segments do to it.

use super::super::tap::Arrival;
use super::{Effect, Flow};
use crate::decode::Flags;
use crate::track::at::At;
use crate::track::event::{Cause, Kind};
use crate::track::null::known;
use crate::track::rounds::bursts::SentData;
use crate::track::rounds::round::Round;
use crate::track::sender::retransmissions::RetransmittedSegment;
use crate::track::tap::observed::ObservedSegment;

impl Flow {
    /// A segment from the sender that occupies sequence space, or probes, or resets.
    #[inline]
    pub fn segment(&mut self, observed: &ObservedSegment<'_>) -> Effect {
        if observed.copy {
            return Effect::of(Kind::Duplicate);
        }
        self.settle();
        let ObservedSegment {
            segment, at, tsecr, ..
        } = *observed;
        let length = observed.length();
        self.hear_before(observed.end(), tsecr, at);
        let open = self.told.bytes != 0;
        let probe = self.tap.probe(observed, open);
        let carries = length > 0 && probe != Some(Kind::KeepAlive);
        let ends = segment.flags.has(Flags::FIN) && !self.ended;
        if carries || ends && self.totals.largest_bytes > 0 {
            let undecided = || self.way.is_vantage_pending(at.time_ns);
            let rounds = self.rounds.get();
            rounds.before_send(at, undecided, &self.sender);
        }
        let arrival = self.tap.segment(observed, probe, self.rounds.number());
        self.probed = probe.is_some();
        if self.probed || arrival.kind == Kind::Rst {
            return Effect::of(arrival.kind);
        }
        if arrival.captured_late > 0 {
            self.found(arrival.captured_late);
        }
        if let (true, Some(una), Some(next)) =
            (carries, self.sender.snd_una(), self.sender.snd_nxt())
        {
            let end = observed.end();
            self.scale.sent(arrival.start, end, una, next, self.mss);
        }
        let mut effect = Effect::of(arrival.kind);
        effect.missed_bytes = -arrival.captured_late;
        let resent = arrival.kind == Kind::Retransmission;
        if resent && carries {
            effect.cause = self.cause(&arrival, observed);
        }
        self.sender.send(arrival.start, arrival.end, resent);
        if carries {
            self.count(&arrival, observed);
        }
        if ends {
            self.ended = true;
            self.rounds
                .get()
                .fin_sent(at.time_ns, at.frame, &self.sender);
        }
        self.finished();
        effect
    }

    /// What the sender must have heard before it sent up to `end`: what its tsecr tells, what has reached it by the clock,
    /// and what allows it to.
    #[inline]
    fn hear_before(&mut self, end: i64, tsecr: Option<u32>, at: At) {
        self.catch_up(at, tsecr);
        if let Some(tsecr) = tsecr
            && self.way.awaits_tsecr(tsecr)
        {
            self.measure_way(|way| way.measure_tsecr(tsecr, at.time_ns));
        }
        if self.way.has_acks_in_transit() {
            self.deliver_early(end, tsecr, at);
        }
    }

    #[inline(never)] // not at the sender
    fn deliver_early(&mut self, end: i64, tsecr: Option<u32>, at: At) {
        while !self.sender.window_allows(end) || self.scale.forbids(end) {
            let Some((time_ns, ack)) = self.way.deliver_early(at.time_ns, tsecr) else {
                break;
            };
            self.deliver(&ack, time_ns, at.frame);
        }
    }

    /// Bytes were captured after their acknowledgment, and counted as missed.
    #[cold]
    fn found(&mut self, bytes: i64) {
        self.totals.missed_bytes -= bytes;
        let found = |row: &mut Round| row.missed_bytes = (row.missed_bytes - bytes).max(0);
        self.rounds.get().note(found);
    }

    /// Why it was sent again.
    #[cold]
    fn cause(&mut self, arrival: &Arrival, observed: &ObservedSegment<'_>) -> Cause {
        let &Arrival { start, end, .. } = arrival;
        let time_ns = observed.at.time_ns;
        let resent = RetransmittedSegment {
            start,
            end,
            payload_bytes: observed.length(),
            time_ns,
            before_ns: arrival.before_ns,
            tsval: observed.tsval,
            delivered: self.tap.is_delivered(start, end),
            sacked_above: self.tap.sacked_end() > Some(end),
            ack_arrival_ns: (observed.tsecr)
                .and_then(|tsecr| self.way.latest_ack_arrival_ns(time_ns, tsecr)),
        };
        self.retransmissions
            .classify(resent, &self.sender, self.mss)
    }

    /// Counts payload that was sent, into the sums and the round now open.
    #[inline]
    fn count(&mut self, arrival: &Arrival, observed: &ObservedSegment<'_>) {
        let &ObservedSegment {
            at, tsval, tsecr, ..
        } = observed;
        let length = observed.length();
        // Bytes that were lost before the tap were sent before, too.
        let resent = arrival.kind == Kind::Retransmission;
        let again = if resent { length } else { 0 };
        let fresh = length - again;
        let in_flight = self.sender.in_flight();
        let reordered = i64::from(arrival.kind == Kind::Reordered);
        let totals = &mut self.totals;
        totals.payload_bytes += arrival.new_bytes;
        totals.retransmitted_bytes += again;
        totals.largest_bytes = totals.largest_bytes.max(length);
        totals.reordered += reordered;
        totals.in_flight_max_bytes = totals.in_flight_max_bytes.max(in_flight);
        let data = SentData {
            time_ns: at.time_ns,
            fresh,
            retransmitted: again,
            flight: (in_flight - fresh).max(0),
            small: length < self.mss || length > self.mss && length % self.mss != 0,
            silent_ns: self.silent_ns(tsval),
        };
        self.sent_value = tsval;
        let rounds = self.rounds.get();
        let (way, late_ns) = (&self.way, known(self.late_ns));
        // How long the sender had had an acknowledgment, where that is known from afar.
        let ack_age_ns = || Some(way.ack_age_ns(at.time_ns, tsecr?)? - late_ns?);
        rounds.sent(at.frame, data, ack_age_ns, &self.sender);
        rounds.note(|row| {
            row.reordered += reordered;
            row.echoed_ticks += i64::from(tsecr != self.last_echo);
        });
        self.last_echo = tsecr;
    }

    /// A packet of the sender took so much longer than at best to the tap, by a clock of such ticks.
    pub fn late_forth(&mut self, excess_ns: i64, tick_ns: i64) {
        // Less than a tick may be how long ago the clock ticked.
        let late_ns = if excess_ns < tick_ns { 0 } else { excess_ns };
        (self.late_ns, self.tick_ns) = (late_ns, tick_ns);
        let rounds = self.rounds.get();
        rounds.set_forward_delay(late_ns);
        rounds.measurements().add_forward_delay(excess_ns);
    }

    /// For how long at least the sender had sent no data before that of `tsval`, by its own clock: a queue on the way to
    /// the tap closes its pauses.
    fn silent_ns(&self, tsval: Option<u32>) -> i64 {
        if self.way.tap_at_sender() {
            return 0;
        }
        let tick_ns = known(self.tick_ns);
        let (Some(tick_ns), Some(before), Some(tsval)) = (tick_ns, self.sent_value, tsval) else {
            return 0;
        };
        let ticks = tsval.wrapping_sub(before);
        if !(1..1 << 31).contains(&ticks) {
            return 0;
        }
        i64::from(ticks - 1) * tick_ns
    }
}
