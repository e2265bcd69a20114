//! # Sending
//! What a flow's own segments do to it.

use super::super::tap::Arrival;
use super::{Effect, Flow};
use crate::decode::Flags;
use crate::track::at::At;
use crate::track::event::{Cause, Kind};
use crate::track::null::known;
use crate::track::rounds::bursts::Sent;
use crate::track::rounds::round::Round;
use crate::track::sender::retransmissions::Resent;
use crate::track::tap::observed::Passing;

impl Flow {
    /// A segment from the sender that occupies sequence space, or probes, or resets.
    #[inline]
    pub fn segment(&mut self, passing: &Passing<'_>) -> Effect {
        if passing.copy {
            return Effect::of(Kind::Duplicate);
        }
        self.settle();
        let Passing {
            segment, at, echo, ..
        } = *passing;
        let length = passing.length();
        self.hear_before(passing.end(), echo, at);
        let open = self.told.bytes != 0;
        let probe = self.tap.probe(passing, open);
        let carries = length > 0 && probe != Some(Kind::KeepAlive);
        let ends = segment.flags.has(Flags::FIN) && !self.ended;
        if carries || ends && self.totals.largest_bytes > 0 {
            let undecided = || self.way.undecided(at.time_ns);
            let rounds = self.rounds.get();
            rounds.before_send(at, undecided, &self.sender);
        }
        let arrival = self.tap.segment(passing, probe, self.rounds.number());
        self.probed = probe.is_some();
        if self.probed || arrival.kind == Kind::Rst {
            return Effect::of(arrival.kind);
        }
        if arrival.belated > 0 {
            self.found(arrival.belated);
        }
        if let (true, Some(una), Some(next)) = (carries, self.sender.una(), self.sender.next()) {
            let end = passing.end();
            self.scale.sent(arrival.start, end, una, next, self.mss);
        }
        let mut effect = Effect::of(arrival.kind);
        effect.missed_bytes = -arrival.belated;
        let resent = arrival.kind == Kind::Retransmission;
        if resent && carries {
            effect.cause = self.cause(&arrival, passing);
        }
        self.sender.send(arrival.start, arrival.end, resent);
        if carries {
            self.count(&arrival, passing);
        }
        if ends {
            self.ended = true;
            self.rounds.get().ended(at.time_ns, at.frame, &self.sender);
        }
        self.finished();
        effect
    }

    /// What the sender must have heard before it sent up to `end`: what its echo tells, what has reached it by the clock,
    /// and what allows it to.
    #[inline]
    fn hear_before(&mut self, end: i64, echo: Option<u32>, at: At) {
        self.catch_up(at, echo);
        if let Some(echo) = echo
            && self.way.awaits(echo)
        {
            self.measure_way(|way| way.echoed(echo, at.time_ns));
        }
        if self.way.is_travelled() {
            self.hurry(end, echo, at);
        }
    }

    #[inline(never)] // not at the sender
    fn hurry(&mut self, end: i64, echo: Option<u32>, at: At) {
        while !self.sender.allows(end) || self.scale.forbids(end) {
            let Some((time_ns, ack)) = self.way.hurry(at.time_ns, echo) else {
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
    fn cause(&mut self, arrival: &Arrival, passing: &Passing<'_>) -> Cause {
        let &Arrival { start, end, .. } = arrival;
        let time_ns = passing.at.time_ns;
        let resent = Resent {
            start,
            end,
            payload_bytes: passing.length(),
            time_ns,
            before_ns: arrival.before_ns,
            value: passing.value,
            arrived: self.tap.arrived(start, end),
            passed_over: self.tap.sacked_end() > Some(end),
            heard_ns: (passing.echo).and_then(|echo| self.way.latest_ns(time_ns, echo)),
        };
        self.retransmissions.resent(resent, &self.sender, self.mss)
    }

    /// Counts payload that was sent, into the sums and the round now open.
    #[inline]
    fn count(&mut self, arrival: &Arrival, passing: &Passing<'_>) {
        let &Passing {
            at, value, echo, ..
        } = passing;
        let length = passing.length();
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
        let data = Sent {
            time_ns: at.time_ns,
            fresh,
            again,
            flight: (in_flight - fresh).max(0),
            small: length < self.mss || length > self.mss && length % self.mss != 0,
            silent_ns: self.silent_ns(value),
        };
        self.sent_value = value;
        let rounds = self.rounds.get();
        let (way, late_ns) = (&self.way, known(self.late_ns));
        // How long the sender had had an acknowledgment, where that is known from afar.
        let waited_ns = || Some(way.waited_ns(at.time_ns, echo?)? - late_ns?);
        rounds.sent(at.frame, data, waited_ns, &self.sender);
        rounds.note(|row| {
            row.reordered += reordered;
            row.echoed_ticks += i64::from(echo != self.last_echo);
        });
        self.last_echo = echo;
    }

    /// A packet of the sender took so much longer than at best to the tap, by a clock of such ticks.
    pub fn late_forth(&mut self, excess_ns: i64, tick_ns: i64) {
        // Less than a tick may be how long ago the clock ticked.
        let late_ns = if excess_ns < tick_ns { 0 } else { excess_ns };
        (self.late_ns, self.tick_ns) = (late_ns, tick_ns);
        let rounds = self.rounds.get();
        rounds.set_late(late_ns);
        rounds.measure().forth(excess_ns);
    }

    /// For how long at least the sender had sent no data before that of `value`, by its own clock: a queue on the way to
    /// the tap closes its pauses.
    fn silent_ns(&self, value: Option<u32>) -> i64 {
        if self.way.direct() {
            return 0;
        }
        let tick_ns = known(self.tick_ns);
        let (Some(tick_ns), Some(before), Some(value)) = (tick_ns, self.sent_value, value) else {
            return 0;
        };
        let ticks = value.wrapping_sub(before);
        if !(1..1 << 31).contains(&ticks) {
            return 0;
        }
        i64::from(ticks - 1) * tick_ns
    }
}
