//! # Retransmissions
//! Why a flow's segments were retransmitted, how long the sender waited for timers, and which retransmissions were
//! spurious.
//!
//! A sender retransmits for one of three reasons:
//!
//! - Acknowledgments reported a loss (RFC 5681 section 3.2, RFC 6675, RFC 8985 section 6).
//! - A timer expired (RFC 6298 section 5).
//! - It probes the tail (RFC 8985 section 7).
//!
//! [`super::Sender`] reconstructs its state, so the rules are those of the sender wherever the tap is.

use super::delay_to_sender::RecentDelays;
use super::{Progress, Sender, packets};
use crate::track::event::Cause;
use crate::track::null::{NULL, known};
use crate::track::tap::ranges::Ranges;
use std::collections::VecDeque;

/// Retransmitted packets by cause, and the time waited for timers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// All retransmitted packets: the sum of the next four counts.
    pub packets: i64,
    /// Packets retransmitted for [`Cause::Fast`].
    pub fast: i64,
    /// Packets retransmitted for [`Cause::Timeout`] and [`Cause::AfterTimeout`].
    pub timeout: i64,
    /// Packets retransmitted for [`Cause::TailLossProbe`].
    pub probes: i64,
    /// Packets retransmitted for [`Cause::Unexplained`].
    pub unexplained: i64,
    /// How often the retransmission timer expired.
    pub timeouts: i64,
    /// Time before timeouts and probes in which the sender received no acknowledgment and retransmitted nothing, ns.
    pub wait_ns: i64,
    /// Retransmitted packets whose first copy had arrived.
    pub spurious: i64,
    /// Retransmitted packets whose first copy was lost before the tap.
    pub lost_before_tap: i64,
}

/// A segment with payload that was sent before.
#[derive(Debug, Clone, Copy)]
pub struct RetransmittedSegment {
    /// First relative sequence number.
    pub start: i64,
    /// One past the last relative sequence number.
    pub end: i64,
    /// Length of its payload.
    pub payload_bytes: i64,
    /// Capture time, ns.
    pub time_ns: i64,
    /// When it passed the tap before, ns; `None` where it was lost before the tap.
    pub previous_ns: Option<i64>,
    /// TSval; `None` without the option.
    pub tsval: Option<u32>,
    /// Had the tap seen all of it acknowledged?
    pub delivered: bool,
    /// Had the tap seen a SACK of data above it? The sender learns of it soon.
    pub sacked_above: bool,
    /// Latest time at which the sender can have received the newest acknowledgment that it echoes, ns; `None` where
    /// that is not in transit.
    pub ack_arrival_ns: Option<i64>,
}

/// A retransmission, remembered for the acknowledgments that follow.
#[derive(Debug, Clone, Copy)]
struct Retransmission {
    start: i64,
    end: i64,
    /// SND.NXT when it was sent: bytes above it were sent later.
    snd_nxt: i64,
    /// Packets not known to be spurious.
    not_spurious: i64,
    /// Packets whose data were acknowledged when they were sent, so they are spurious, and which no D-SACK reported yet.
    unreported: i64,
}

/// A retransmission of the first unacknowledged segment (RFC 3522).
#[derive(Debug, Clone, Copy)]
struct Head {
    start: i64,
    end: i64,
    tsval: u32,
}

/// A timer's retransmission of the first of several segments in flight, while nothing else is retransmitted (F-RTO, RFC
/// 5682 section 2.1).
#[derive(Debug, Clone, Copy)]
struct TimerSent {
    start: i64,
    end: i64,
    /// Has an acknowledgment covered it alone?
    acknowledged: bool,
}

/// The state of a flow that has retransmitted something.
#[derive(Debug, Default)]
struct Recovery {
    /// Counts of all retransmissions of the flow.
    counts: Counts,
    /// The recovery ends when this sequence number is acknowledged (RFC 6582: `recover`).
    recover: i64,
    /// Did a timeout begin the recovery?
    by_timeout: bool,
    /// The last retransmissions, oldest first.
    recent: VecDeque<Retransmission>,
    /// The last retransmission of the first unacknowledged segment, while unacknowledged.
    head: Option<Head>,
    /// The bytes that the last D-SACK reported.
    last_dsack: Option<(i64, i64)>,
    /// The last retransmission, if a timer sent it.
    timer_sent: Option<TimerSent>,
    /// When the last retransmission was sent, ns.
    last_ns: Option<i64>,
    /// How long SND.UNA had not advanced, and nothing was retransmitted, before the last retransmission, ns.
    last_wait_ns: i64,
    /// Times from the third duplicate acknowledgment of a recovery to its first retransmission, as they passed the tap.
    repairs: RecentDelays,
}

/// The causes of a flow's retransmissions. Unknown times are [`NULL`].
#[derive(Debug)]
pub struct Retransmissions {
    /// SRTT (RFC 6298 section 2), ns.
    srtt_ns: i64,
    /// When the sender last received an acknowledgment of new data or a duplicate one, ns.
    ack_arrival_ns: i64,
    /// When SND.UNA last advanced, ns.
    advanced_ns: i64,
    /// Duplicate acknowledgments since SND.UNA advanced.
    duplicate_acks: u32,
    /// When the one that indicates a loss passed the tap, ns.
    indicated_ns: i64,
    /// Did the handshake rule out SACK?
    without_sack: bool,
    /// State of the retransmissions; `None` before the first.
    recovery: Option<Box<Recovery>>,
}

impl Default for Retransmissions {
    fn default() -> Self {
        Self {
            srtt_ns: NULL,
            ack_arrival_ns: NULL,
            advanced_ns: NULL,
            duplicate_acks: 0,
            indicated_ns: NULL,
            without_sack: false,
            recovery: None,
        }
    }
}

impl Retransmissions {
    /// Duplicate acknowledgments that indicate a loss (RFC 5681 section 3.2).
    const DUP_THRESH: u32 = 3;
    /// With fewer segments than this in flight, one duplicate acknowledgment indicates a loss (RFC 5827).
    const EARLY_SEGMENTS: i64 = 4;
    /// The longest lag of a timer, ns. Timers run in ticks of 1 to 10 ms (jiffies), and RFC 8985 adds two ticks to a
    /// reordering or probe timer.
    const MAX_TIMER_LAG_NS: i64 = 20_000_000;
    /// The shortest lag of a timer that runs for an RTT, ns.
    const MIN_TIMER_LAG_NS: i64 = 2_000_000;
    /// RTT assumed where none is known, ns: the minimum timeout of Linux (`TCP_RTO_MIN`). RFC 6298 would wait for a
    /// second.
    const MIN_RTO_NS: i64 = 200_000_000;
    /// The longest acknowledgment delay for which a probe of a lone segment waits, ns (`TLP.max_ack_delay` of RFC 8985;
    /// Linux takes `TCP_RTO_MIN`).
    const MAX_ACK_DELAY_NS: i64 = 200_000_000;
    /// Maximum number of retransmissions remembered; more are rarely in flight together.
    const MAX_REMEMBERED: usize = 1024;

    /// Sets whether the handshake permits SACK. Without SACK no tail is probed (RFC 8985 section 3).
    pub fn set_sack(&mut self, permitted: bool) {
        self.without_sack = !permitted;
    }

    /// Adds a round trip of the whole path to SRTT, ns.
    pub fn add_rtt(&mut self, rtt_ns: i64) {
        self.srtt_ns = match self.srtt_ns {
            NULL => rtt_ns,
            so_far_ns => so_far_ns + (rtt_ns - so_far_ns) / 8,
        };
    }

    /// Processes an acknowledgment that the sender received. Its time counts if it acknowledged new data or was a
    /// duplicate.
    pub fn ack_arrived(&mut self, progress: Progress, outstanding: bool, time_ns: i64) {
        if progress.delivered > 0 || outstanding && progress.edge_advanced == 0 && !progress.reply {
            self.ack_arrival_ns = time_ns;
            if progress.advanced > 0 {
                self.advanced_ns = time_ns;
            }
        }
    }

    /// Returns the cause of a retransmission. `sender` does not reflect it yet.
    pub fn classify(&mut self, data: RetransmittedSegment, sender: &Sender, mss: i64) -> Cause {
        let mut recovery = self.recovery.take().unwrap_or_default();
        let elapsed_ns = |since: [Option<i64>; 4]| {
            let since_ns = since.into_iter().flatten().max();
            since_ns.map_or(0, |since_ns| (data.time_ns - since_ns).max(0))
        };
        let (previous_ns, last_ns) = (data.previous_ns, recovery.last_ns);
        let no_ack_ns = elapsed_ns([
            known(self.ack_arrival_ns),
            data.ack_arrival_ns,
            previous_ns,
            last_ns,
        ]);
        let no_progress_ns = elapsed_ns([known(self.advanced_ns), None, previous_ns, last_ns]);
        let cause = self.cause(&data, [no_ack_ns, no_progress_ns], &recovery, sender, mss);
        let (una, next) = (
            sender.snd_una().unwrap_or(data.start),
            sender.snd_nxt().unwrap_or(data.end),
        );
        let count = packets(data.payload_bytes, mss);
        let counts = &mut recovery.counts;
        counts.packets += count;
        // What was acknowledged before had arrived, whether or not its time is known.
        if data.previous_ns.is_none() && !data.delivered {
            counts.lost_before_tap += count;
        }
        match cause {
            Cause::None => {}
            Cause::Fast => counts.fast += count,
            Cause::Timeout | Cause::AfterTimeout => counts.timeout += count,
            Cause::TailLossProbe => counts.probes += count,
            Cause::Unexplained => counts.unexplained += count,
        }
        if matches!(cause, Cause::Timeout | Cause::TailLossProbe) {
            counts.wait_ns = counts.wait_ns.saturating_add(no_ack_ns);
        }
        if cause == Cause::Timeout {
            counts.timeouts += 1;
            (recovery.recover, recovery.by_timeout) = (next, true);
        } else if cause == Cause::Fast && una >= recovery.recover {
            if data.start <= una && self.duplicate_acks >= Self::DUP_THRESH {
                let repair_ns = data.time_ns.saturating_sub(self.indicated_ns);
                recovery.repairs.add(repair_ns.max(0));
            }
            (recovery.recover, recovery.by_timeout) = (next, false);
        }
        if data.start <= una && una < data.end && recovery.head.is_none_or(|head| head.start != una)
        {
            let (start, end) = (una, data.end);
            recovery.head = data.tsval.map(|tsval| Head { start, end, tsval });
        }
        let leads = cause == Cause::Timeout && data.start <= una && data.end < next;
        recovery.timer_sent = leads.then_some(TimerSent {
            start: data.start,
            end: data.end,
            acknowledged: false,
        });
        if recovery.recent.len() == Self::MAX_REMEMBERED {
            recovery.recent.pop_front();
        }
        recovery.recent.push_back(Retransmission {
            start: data.start,
            end: data.end,
            snd_nxt: next,
            not_spurious: if data.delivered { 0 } else { count },
            unreported: if data.delivered { count } else { 0 },
        });
        if data.delivered {
            recovery.counts.spurious += count;
        }
        (recovery.last_ns, recovery.last_wait_ns) = (Some(data.time_ns), no_progress_ns);
        self.recovery = Some(recovery);
        cause
    }

    /// Returns the cause. `no_ack_ns` is the time without an acknowledgment, `no_progress_ns` the time in which SND.UNA
    /// did not advance. Both count from the last retransmission at the earliest.
    fn cause(
        &self,
        data: &RetransmittedSegment,
        [no_ack_ns, no_progress_ns]: [i64; 2],
        recovery: &Recovery,
        sender: &Sender,
        mss: i64,
    ) -> Cause {
        let (Some(una), Some(next)) = (sender.snd_una(), sender.snd_nxt()) else {
            return Cause::Unexplained; // no acknowledgment was captured
        };
        let rtt_ns = known(self.srtt_ns).unwrap_or(Self::MIN_RTO_NS);
        let (head, tail) = (data.start <= una, data.end >= next);
        let recovering = una < recovery.recover;
        let overlaps = |before: &Retransmission| before.start < data.end && data.start < before.end;
        let before = recovery.recent.iter().rposition(overlaps);
        let sacked_end = sender.sacked_end().unwrap_or(una);
        // Did acknowledgments report data that was sent after it?
        let reported = match before {
            None => {
                data.sacked_above
                    || sacked_end > data.end
                    || self.duplicate_acks >= Self::DUP_THRESH
                    || self.duplicate_acks > 0 && next - una < Self::EARLY_SEGMENTS * mss
            }
            Some(at) => {
                sacked_end > recovery.recent[at].snd_nxt
                    || (recovery.recent.range(at + 1..)).any(|later| {
                        later.start != data.start && sender.is_delivered(later.start, later.end)
                    })
            }
        };
        if tail && !recovering && !reported && before.is_none() && !self.without_sack {
            // PTO is two RTTs. For a lone segment the delay of its acknowledgment is added (RFC 8985 section 7.2).
            let alone_ns =
                rtt_ns.saturating_mul(5) / 2 + Self::MAX_ACK_DELAY_NS + Self::MAX_TIMER_LAG_NS;
            if no_ack_ns >= rtt_ns.saturating_mul(3) / 2 + Self::MIN_TIMER_LAG_NS
                && (!head || no_ack_ns <= alone_ns)
            {
                return Cause::TailLossProbe;
            }
        }
        // A reported loss is retransmitted at once, or after a share of the RTT that allows for reordering (RFC 8985
        // section 6.2).
        let timer_ran_out = if reported {
            no_ack_ns >= rtt_ns / 2 + Self::MAX_TIMER_LAG_NS
        } else {
            // Only a timer sends a segment a third time, even if duplicate acknowledgments arrive.
            let waited_ns = if before.is_some() {
                no_progress_ns
            } else {
                no_ack_ns
            };
            waited_ns >= rtt_ns + Self::MIN_TIMER_LAG_NS
        };
        if head && timer_ran_out {
            Cause::Timeout
        } else if recovering && recovery.by_timeout {
            Cause::AfterTimeout
        } else if reported || recovering {
            Cause::Fast
        } else {
            Cause::Unexplained
        }
    }

    /// Detects spurious retransmissions, as an acknowledgment passes the tap. `tsecr` is its TSecr, `duplicate` the
    /// bytes that it reports to have come twice (D-SACK, RFC 2883).
    pub fn detect_spurious(
        &mut self,
        ack: i64,
        tsecr: Option<u32>,
        duplicate: Option<(i64, i64)>,
        mss: i64,
    ) {
        let Some(recovery) = &mut self.recovery else {
            return;
        };
        if let Some(head) = recovery.head.filter(|head| ack > head.start) {
            recovery.head = None;
            // The receiver echoes the TSval of the copy that filled its hole. An older TSval is that of the first copy
            // (RFC 3522).
            if tsecr.is_some_and(|tsecr| (1..1 << 31).contains(&head.tsval.wrapping_sub(tsecr))) {
                recovery.spurious(head.start, head.end.min(ack), mss);
            }
        }
        if let Some((start, end)) = duplicate {
            recovery.came_twice(start, end, ack, mss);
        }
        recovery.follow_timer(ack, mss);
    }

    /// Counts an acknowledgment that passes the tap at `time_ns`: it `advanced` SND.UNA or is a `duplicate`.
    pub fn count_duplicate_acks(&mut self, advanced: bool, duplicate: bool, time_ns: i64) {
        if advanced {
            self.duplicate_acks = 0;
        }
        if duplicate {
            self.duplicate_acks += 1;
            if self.duplicate_acks == Self::DUP_THRESH {
                self.indicated_ns = time_ns;
            }
        }
    }

    /// Is there a recent retransmission with some bytes of `start..end`?
    #[must_use]
    pub fn holds(&self, start: i64, end: i64) -> bool {
        self.recovery.as_ref().is_some_and(|recovery| {
            let mut recent = recovery.recent.iter();
            recent.any(|before| before.start < end && start < before.end)
        })
    }

    /// Has anything been retransmitted?
    #[must_use]
    pub fn any(&self) -> bool {
        self.recovery.is_some()
    }

    /// Returns the counts of all retransmissions.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.recovery
            .as_ref()
            .map_or_else(Counts::default, |recovery| recovery.counts)
    }

    /// Returns the time from the third duplicate acknowledgment of a recovery to its first retransmission, ns: the median
    /// of the last recoveries. It is a round trip from the tap to the sender. `None` if no recovery began so.
    #[must_use]
    pub fn repair_ns(&self) -> Option<i64> {
        self.recovery.as_ref()?.repairs.median_ns()
    }

    /// Returns the wait before the last retransmission, ns; `None` if an acknowledgment came after it.
    #[must_use]
    pub fn unanswered_wait_ns(&self) -> Option<i64> {
        let recovery = self.recovery.as_ref()?;
        (recovery.last_ns > known(self.ack_arrival_ns)).then_some(recovery.last_wait_ns)
    }
}

impl Recovery {
    /// Follows the acknowledgments after a timer's retransmission (RFC 5682 section 2.1).
    ///
    /// The first one covers it alone, and the next one data that were sent once. So the flight came in its order, and
    /// with it the first copy. Had that been lost, one acknowledgment would cover all that came meanwhile.
    fn follow_timer(&mut self, ack: i64, mss: i64) {
        let Some(sent) = self.timer_sent.filter(|sent| ack > sent.start) else {
            return;
        };
        let covers_it_alone = ack <= sent.end;
        if !covers_it_alone && sent.acknowledged {
            self.spurious(sent.start, sent.end, mss);
        }
        self.timer_sent = covers_it_alone.then_some(TimerSent {
            acknowledged: true,
            ..sent
        });
    }

    /// Counts the retransmitted packets of a D-SACK as spurious. Each D-SACK stands for one more packet (RFC 2883
    /// section 4). One that was known to be spurious when it was sent is counted already. Some receivers report the same
    /// bytes each time; then the oldest packet below `ack` counts.
    fn came_twice(&mut self, start: i64, end: i64, ack: i64, mss: i64) {
        let again = self.last_dsack.replace((start, end)) == Some((start, end));
        let mut recent = self.recent.iter_mut();
        if let Some(known) =
            recent.find(|before| before.unreported > 0 && before.start < end && start < before.end)
        {
            known.unreported -= packets(end - start, mss).min(known.unreported);
            return;
        }
        let so_far = self.counts.spurious;
        self.spurious(start, end, mss);
        if again && self.counts.spurious == so_far {
            let mut below = self.recent.iter_mut().filter(|before| before.end <= ack);
            if let Some(oldest) = below.find(|before| before.not_spurious > 0) {
                oldest.not_spurious -= 1;
                self.counts.spurious += 1;
            }
        }
    }

    /// Counts retransmitted packets of `start..end` as spurious, because it arrived twice. A packet counts once, and of
    /// two retransmissions the earlier one counts first.
    fn spurious(&mut self, start: i64, end: i64, mss: i64) {
        let mut counted = Ranges::default();
        for retransmission in &mut self.recent {
            let (start, end) = (start.max(retransmission.start), end.min(retransmission.end));
            if retransmission.not_spurious == 0 || start >= end || counted.covered(start, end) > 0 {
                continue;
            }
            let count = packets(end - start, mss).min(retransmission.not_spurious);
            retransmission.not_spurious -= count;
            self.counts.spurious += count;
            counted.add(start, end);
        }
    }
}

#[cfg(test)]
mod tests;
