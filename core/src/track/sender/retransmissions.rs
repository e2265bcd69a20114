//! # Retransmissions
//! Why a flow's segments were sent again, what waiting for timers cost, and which of them had arrived already.
//!
//! A sender resends because acknowledgments reported a loss (RFC 5681 section 3.2, RFC 6675, RFC 8985 section 6), because
//! a timer ran out (RFC 6298 section 5) or as a probe of the tail (RFC 8985 section 7). Its state is taken as
//! [`super::Sender`] reconstructs it, so that the rules are those of the sender wherever the tap is.

use super::{Progress, Sender, packets};
use crate::track::event::Cause;
use crate::track::null::{NULL, known};
use crate::track::tap::ranges::Ranges;
use std::collections::VecDeque;

/// Packets sent again, by cause, and what their timers cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// All of them: the sum of the next four.
    pub packets: i64,
    /// [`Cause::Fast`].
    pub fast: i64,
    /// [`Cause::Timeout`] and [`Cause::AfterTimeout`].
    pub timeout: i64,
    /// [`Cause::TailLossProbe`].
    pub probes: i64,
    /// [`Cause::Unexplained`].
    pub unexplained: i64,
    /// How often the retransmission timer ran out.
    pub timeouts: i64,
    /// Time before timeouts and probes in which the sender heard nothing and resent nothing.
    pub wait_ns: i64,
    /// Packets sent again whose first copy had arrived.
    pub spurious: i64,
}

/// A segment with payload that was sent before.
#[derive(Debug, Clone, Copy)]
pub struct RetransmittedSegment {
    pub start: i64,
    pub end: i64,
    pub payload_bytes: i64,
    pub time_ns: i64,
    /// When it passed the tap before; `None` where it was lost on the way there.
    pub before_ns: Option<i64>,
    /// TSval.
    pub tsval: Option<u32>,
    /// Had the tap seen all of it acknowledged?
    pub delivered: bool,
    /// Had the tap seen a SACK of something above it? Its sender knew so soon.
    pub sacked_above: bool,
    /// When its sender had the newest acknowledgment that it echoes, where that tells more than the clock.
    pub ack_arrival_ns: Option<i64>,
}

/// One retransmission, remembered for what acknowledgments will say of it.
#[derive(Debug, Clone, Copy)]
struct Sending {
    start: i64,
    end: i64,
    /// SND.NXT when it was sent: what lies above was sent later.
    next: i64,
    /// Packets not yet known to be spurious.
    needed: i64,
}

/// The first unacknowledged segment, sent again (RFC 3522).
#[derive(Debug, Clone, Copy)]
struct Head {
    start: i64,
    end: i64,
    tsval: u32,
}

/// What is kept of a flow that has sent something again.
#[derive(Debug, Default)]
struct Repair {
    counts: Counts,
    /// The recovery ends as this is acknowledged (RFC 6582: `recover`).
    until: i64,
    /// Did a timeout begin it?
    timed_out: bool,
    recent: VecDeque<Sending>,
    head: Option<Head>,
    last_ns: Option<i64>,
    last_wait_ns: i64,
}

/// Why a flow's segments were sent again. What is unknown is [`NULL`].
#[derive(Debug)]
pub struct Retransmissions {
    /// SRTT (RFC 6298 section 2).
    rtt_ns: i64,
    /// When the sender last had an acknowledgment of something new, or a duplicate one.
    ack_arrival_ns: i64,
    /// When SND.UNA last moved.
    advanced_ns: i64,
    /// Since SND.UNA moved.
    duplicate_acks: u32,
    without_sack: bool,
    repair: Option<Box<Repair>>,
}

impl Default for Retransmissions {
    fn default() -> Self {
        Self {
            rtt_ns: NULL,
            ack_arrival_ns: NULL,
            advanced_ns: NULL,
            duplicate_acks: 0,
            without_sack: false,
            repair: None,
        }
    }
}

impl Retransmissions {
    /// RFC 5681 section 3.2: duplicate acknowledgments that tell of a loss.
    const DUPLICATES: u32 = 3;
    /// RFC 5827: with fewer segments than these in flight one of them has to do.
    const EARLY_SEGMENTS: i64 = 4;
    /// Timers run in ticks of 1 to 10 ms (jiffies), and RFC 8985 adds two to a reordering or probe timer.
    const TICKS_NS: i64 = 20_000_000;
    /// The shortest tick: a timer that ran an RTT took this much longer at least.
    const TICK_NS: i64 = 2_000_000;
    /// Where no RTT is known: the least timeout of Linux (`TCP_RTO_MIN`); RFC 6298 would wait for a second.
    const LEAST_RTO_NS: i64 = 200_000_000;
    /// The longest delay of an acknowledgment that a probe of a lone segment waits for (`TLP.max_ack_delay` of RFC 8985;
    /// Linux takes `TCP_RTO_MIN`).
    const ACK_DELAY_NS: i64 = 200_000_000;
    /// Retransmissions remembered: more are not in flight together for long.
    const MOST: usize = 1024;

    /// The handshake ruled SACK out, or did not: without it no tail is probed (RFC 8985 section 3).
    pub fn set_sack(&mut self, permitted: bool) {
        self.without_sack = !permitted;
    }

    /// A round trip of the whole path.
    pub fn add_rtt(&mut self, rtt_ns: i64) {
        self.rtt_ns = match self.rtt_ns {
            NULL => rtt_ns,
            so_far_ns => so_far_ns + (rtt_ns - so_far_ns) / 8,
        };
    }

    /// The sender received an acknowledgment: of something new, or a duplicate one?
    pub fn ack_arrived(&mut self, progress: Progress, outstanding: bool, time_ns: i64) {
        if progress.delivered > 0 || outstanding && progress.edge_advanced == 0 && !progress.reply {
            self.ack_arrival_ns = time_ns;
            if progress.advanced > 0 {
                self.advanced_ns = time_ns;
            }
        }
    }

    /// A segment is sent again, before the sender's own state shows it: why?
    pub fn classify(&mut self, data: RetransmittedSegment, sender: &Sender, mss: i64) -> Cause {
        let mut repair = self.repair.take().unwrap_or_default();
        let waited_ns = |since: [Option<i64>; 4]| {
            let since_ns = since.into_iter().flatten().max();
            since_ns.map_or(0, |since_ns| (data.time_ns - since_ns).max(0))
        };
        let (own_ns, last_ns) = (data.before_ns, repair.last_ns);
        let quiet_ns = waited_ns([
            known(self.ack_arrival_ns),
            data.ack_arrival_ns,
            own_ns,
            last_ns,
        ]);
        let stuck_ns = waited_ns([known(self.advanced_ns), None, own_ns, last_ns]);
        let cause = self.cause(&data, [quiet_ns, stuck_ns], &repair, sender, mss);
        let (una, next) = (
            sender.snd_una().unwrap_or(data.start),
            sender.snd_nxt().unwrap_or(data.end),
        );
        let count = packets(data.payload_bytes, mss);
        let counts = &mut repair.counts;
        counts.packets += count;
        match cause {
            Cause::None => {}
            Cause::Fast => counts.fast += count,
            Cause::Timeout | Cause::AfterTimeout => counts.timeout += count,
            Cause::TailLossProbe => counts.probes += count,
            Cause::Unexplained => counts.unexplained += count,
        }
        if matches!(cause, Cause::Timeout | Cause::TailLossProbe) {
            counts.wait_ns = counts.wait_ns.saturating_add(quiet_ns);
        }
        if cause == Cause::Timeout {
            counts.timeouts += 1;
            (repair.until, repair.timed_out) = (next, true);
        } else if cause == Cause::Fast && una >= repair.until {
            (repair.until, repair.timed_out) = (next, false);
        }
        if data.start <= una && una < data.end && repair.head.is_none_or(|head| head.start != una) {
            let (start, end) = (una, data.end);
            repair.head = data.tsval.map(|tsval| Head { start, end, tsval });
        }
        if repair.recent.len() == Self::MOST {
            repair.recent.pop_front();
        }
        repair.recent.push_back(Sending {
            start: data.start,
            end: data.end,
            next,
            needed: count,
        });
        if data.delivered {
            repair.spurious(data.start, data.end, mss);
        }
        (repair.last_ns, repair.last_wait_ns) = (Some(data.time_ns), stuck_ns);
        self.repair = Some(repair);
        cause
    }

    fn cause(
        &self,
        data: &RetransmittedSegment,
        [quiet_ns, stuck_ns]: [i64; 2],
        repair: &Repair,
        sender: &Sender,
        mss: i64,
    ) -> Cause {
        let (Some(una), Some(next)) = (sender.snd_una(), sender.snd_nxt()) else {
            return Cause::Unexplained; // no acknowledgment was captured
        };
        let rtt_ns = known(self.rtt_ns).unwrap_or(Self::LEAST_RTO_NS);
        let (head, tail) = (data.start <= una, data.end >= next);
        let repairing = una < repair.until;
        let overlaps = |before: &Sending| before.start < data.end && data.start < before.end;
        let before = repair.recent.iter().rposition(overlaps);
        let sacked_end = sender.sacked_end().unwrap_or(una);
        // Was something reported that was sent after it?
        let reported = match before {
            None => {
                data.sacked_above
                    || sacked_end > data.end
                    || self.duplicate_acks >= Self::DUPLICATES
                    || self.duplicate_acks > 0 && next - una < Self::EARLY_SEGMENTS * mss
            }
            Some(at) => {
                sacked_end > repair.recent[at].next
                    || (repair.recent.range(at + 1..)).any(|later| {
                        later.start != data.start && sender.is_delivered(later.start, later.end)
                    })
            }
        };
        if tail && !repairing && !reported && before.is_none() && !self.without_sack {
            // PTO is two RTTs, of a lone segment the delay of its acknowledgment more (RFC 8985 section 7.2).
            let alone_ns = rtt_ns.saturating_mul(5) / 2 + Self::ACK_DELAY_NS + Self::TICKS_NS;
            if quiet_ns >= rtt_ns.saturating_mul(3) / 2 + Self::TICK_NS
                && (!head || quiet_ns <= alone_ns)
            {
                return Cause::TailLossProbe;
            }
        }
        // A report is answered at once, or after a share of the RTT that allows for reordering (RFC 8985 section 6.2).
        let timer_ran_out = if reported {
            quiet_ns >= rtt_ns / 2 + Self::TICKS_NS
        } else {
            // Nothing else sends it a third time, whatever duplicates come.
            let silent_ns = if before.is_some() { stuck_ns } else { quiet_ns };
            silent_ns >= rtt_ns + Self::TICK_NS
        };
        if head && timer_ran_out {
            Cause::Timeout
        } else if repairing && repair.timed_out {
            Cause::AfterTimeout
        } else if reported || repairing {
            Cause::Fast
        } else {
            Cause::Unexplained
        }
    }

    /// An acknowledgment passes the tap: what does it say of what was sent again? `tsecr` is its TSecr, `duplicate` what it
    /// reports to have come twice (D-SACK, RFC 2883).
    pub fn detect_spurious(
        &mut self,
        ack: i64,
        tsecr: Option<u32>,
        duplicate: Option<(i64, i64)>,
        mss: i64,
    ) {
        let Some(repair) = &mut self.repair else {
            return;
        };
        if let Some(head) = repair.head.filter(|head| ack > head.start) {
            repair.head = None;
            // The receiver echoes the copy that filled its hole: an older clock is that of the first (RFC 3522).
            if tsecr.is_some_and(|tsecr| (1..1 << 31).contains(&head.tsval.wrapping_sub(tsecr))) {
                repair.spurious(head.start, head.end.min(ack), mss);
            }
        }
        if let Some((start, end)) = duplicate {
            repair.spurious(start, end, mss);
        }
    }

    /// An acknowledgment passes the tap that `advanced` SND.UNA, or was a `duplicate` one.
    pub fn count_duplicate_acks(&mut self, advanced: bool, duplicate: bool) {
        if advanced {
            self.duplicate_acks = 0;
        }
        self.duplicate_acks += u32::from(duplicate);
    }

    /// Has anything been sent again?
    #[must_use]
    pub fn any(&self) -> bool {
        self.repair.is_some()
    }

    /// What was counted.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.repair
            .as_ref()
            .map_or_else(Counts::default, |repair| repair.counts)
    }

    /// How long the last retransmission waited, if nothing came after it.
    #[must_use]
    pub fn unanswered_wait_ns(&self) -> Option<i64> {
        let repair = self.repair.as_ref()?;
        (repair.last_ns > known(self.ack_arrival_ns)).then_some(repair.last_wait_ns)
    }
}

impl Repair {
    /// `start..end` came twice: counts the packets sent again of it, each once, the earlier of two sendings first.
    fn spurious(&mut self, start: i64, end: i64, mss: i64) {
        let mut counted = Ranges::default();
        for sending in &mut self.recent {
            let (start, end) = (start.max(sending.start), end.min(sending.end));
            if sending.needed == 0 || start >= end || counted.covered(start, end) > 0 {
                continue;
            }
            let count = packets(end - start, mss).min(sending.needed);
            sending.needed -= count;
            self.counts.spurious += count;
            counted.add(start, end);
        }
    }
}

#[cfg(test)]
mod tests;
