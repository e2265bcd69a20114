//! # Measurements
//! The measurements of a round, and their summary: RTTs, the time in which a queue stood, the spacing of
//! acknowledgments, and excess one-way delays to the tap.

use super::round::Round;
use crate::track::null::NULL;
use crate::track::rate::{per_second, quotient};
use crate::track::tap::records::RttSample;

/// Maximum number of values of each kind in a round. Beyond it, every other RTT is dropped, and all further values of
/// other kinds.
const MAX_VALUES: usize = 2048;

/// Largest capacity of a list that is kept for another round.
const KEPT_VALUES: usize = 32;

/// Length of two clumps of arrivals, ns: network interfaces coalesce interrupts for 1 ms at most, mostly for 0.05 to
/// 0.25 ms (Linux `ethtool -c`, `rx-usecs`).
const CLUMPS_NS: i64 = 2_000_000;
/// Shortest stretch of acknowledgments that shows a rate, ns: 25 clumps of 0.1 ms, so that one more or less is 4 %.
const STRETCH_NS: i64 = 2_500_000;
/// Ratio of the median rate over gaps to the steady rate from which half of the bytes came in clumps, each at once.
const AT_ONCE: i64 = 16;
/// Picoseconds in a second.
const PICOSECONDS: i64 = 1_000_000_000_000;

/// Adds a value while there is room.
fn push_bounded<T>(values: &mut Vec<T>, value: T) {
    if values.len() < MAX_VALUES {
        values.push(value);
    }
}

/// Empties a list. A long one gives its memory back, as the next round may be one of another flow, with few values.
fn empty<T>(values: &mut Vec<T>) {
    values.clear();
    if values.capacity() > KEPT_VALUES {
        *values = Vec::new();
    }
}

/// Returns the time that `bytes` take at `rate` bytes per second, ns.
fn wire_time_ns(bytes: i64, rate: i64) -> i64 {
    quotient(i128::from(bytes) * 1_000_000_000, rate.max(1))
}

/// Returns the 20th percentile, which four fifths of the values reach or exceed; [`NULL`] without values.
fn percentile_20(values: &mut [i64]) -> i64 {
    match values.len() {
        0 => NULL,
        count => *values.select_nth_unstable((count - 1) / 5).1,
    }
}

/// The queue on a flow's path, as far as its rounds showed it.
#[derive(Debug)]
pub struct Queue {
    /// Largest rate of a whole round, bytes per second.
    max_rate: i64,
    /// End of the time in which a queue is known to have stood, ns.
    queued_until_ns: i64,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            max_rate: 0,
            queued_until_ns: i64::MIN,
        }
    }
}

/// The values measured in a round, before they are summarized.
#[derive(Debug)]
pub struct Measurements {
    /// Send time and RTT of each sample kept, ns.
    samples: Vec<(i64, i64)>,
    /// One of `stride` samples is kept.
    stride: u32,
    /// Samples skipped since the last one kept.
    skipped: u32,
    /// Delivery rates of runs of packets, bytes per second.
    run_rates: Vec<i64>,
    /// Of each acknowledgment: picoseconds per byte, time since the one before in ns, bytes delivered.
    spacings: Vec<(i64, i64, i64)>,
    /// Excess delays from the sender to the tap, ns.
    forward_delays: Vec<i64>,
    /// Excess delays from the receiver to the tap, ns.
    reverse_delays: Vec<i64>,
}

impl Default for Measurements {
    fn default() -> Self {
        Self {
            samples: Vec::new(),
            stride: 1,
            skipped: 0,
            run_rates: Vec::new(),
            spacings: Vec::new(),
            forward_delays: Vec::new(),
            reverse_delays: Vec::new(),
        }
    }
}

impl Measurements {
    /// Noise of hosts and timers in an RTT, ns, which is no queue.
    const NOISE_NS: i64 = 150_000;

    /// Adds an RTT.
    pub fn add_rtt(&mut self, sample: RttSample) {
        if self.skipped + 1 < self.stride {
            self.skipped += 1;
            return;
        }
        self.skipped = 0;
        if self.samples.len() == MAX_VALUES {
            let mut keep = false;
            self.samples.retain(|_| {
                keep = !keep;
                keep
            });
            self.stride *= 2;
        }
        self.samples.push((sample.sent_ns, sample.rtt_ns));
    }

    /// Discards all RTTs.
    pub fn forget_rtts(&mut self) {
        self.samples.clear();
    }

    /// Adds the delivery rate over a run of packets, bytes per second.
    pub fn add_run_rate(&mut self, rate: i64) {
        push_bounded(&mut self.run_rates, rate);
    }

    /// Adds an acknowledgment that passes the tap `gap_ns` after the one before and delivers `bytes`.
    pub fn add_ack_spacing(&mut self, gap_ns: i64, bytes: i64) {
        let pace = gap_ns.saturating_mul(1_000) / bytes.max(1);
        push_bounded(&mut self.spacings, (pace, gap_ns, bytes));
    }

    /// Adds the excess delay of a packet from the sender to the tap, ns.
    pub fn add_forward_delay(&mut self, excess_ns: i64) {
        push_bounded(&mut self.forward_delays, excess_ns);
    }

    /// Adds the excess delay of a packet from the receiver to the tap, ns.
    pub fn add_reverse_delay(&mut self, excess_ns: i64) {
        push_bounded(&mut self.reverse_delays, excess_ns);
    }

    /// Clears all values, for another round.
    pub fn clear(&mut self) {
        (self.stride, self.skipped) = (1, 0);
        empty(&mut self.samples);
        empty(&mut self.run_rates);
        empty(&mut self.spacings);
        empty(&mut self.forward_delays);
        empty(&mut self.reverse_delays);
    }

    /// Writes the summary into the round, whose other counts are complete.
    pub fn summarize(
        &mut self,
        row: &mut Round,
        rtt_min_ns: Option<i64>,
        mss: i64,
        queue: &mut Queue,
    ) {
        row.flow_rtt_min_ns = rtt_min_ns.unwrap_or(NULL);
        row.rtt_samples = self.samples.len() as i64;
        let middle = self.run_rates.len() / 2;
        row.delivery_rate = if self.run_rates.is_empty() {
            NULL
        } else {
            *self.run_rates.select_nth_unstable(middle).1
        };
        let length_ns = row.end_ns - row.start_ns;
        if row.acked_bytes > 0 && length_ns > 0 {
            let rate = per_second(row.acked_bytes, length_ns);
            queue.max_rate = queue.max_rate.max(rate);
        }
        match rtt_min_ns {
            Some(rtt_min_ns) if !self.samples.is_empty() => {
                self.summarize_queue(row, rtt_min_ns, mss, queue);
                self.summarize_rtts(row, rtt_min_ns);
            }
            _ => {
                (row.rtt_min_ns, row.rtt_ns) = (NULL, NULL);
                (row.rtt_max_ns, row.queueing_delay_p20_ns) = (NULL, NULL);
            }
        }
        row.forward_delay_p20_ns = percentile_20(&mut self.forward_delays);
        row.reverse_delay_p20_ns = percentile_20(&mut self.reverse_delays);
    }

    /// Writes for how long a queue stood. This is the union of the waits `[s, s + q]` of segments sent at `s`, where
    /// `q` is the RTT above the minimum. Short gaps between waits are filled: the time to transmit one packet does not
    /// mean an idle link.
    fn summarize_queue(&self, row: &mut Round, rtt_min_ns: i64, mss: i64, queue: &mut Queue) {
        let short_ns = rtt_min_ns / 100 * 15;
        let fill_ns = if queue.max_rate > 0 {
            wire_time_ns(23 * mss / 10, queue.max_rate).min(short_ns)
        } else {
            short_ns
        };
        let mut until_ns = queue.queued_until_ns;
        let mut queueing_ns = until_ns.clamp(row.start_ns, row.end_ns) - row.start_ns;
        for &(sent_ns, rtt_ns) in &self.samples {
            let wait_ns = rtt_ns - rtt_min_ns - Self::NOISE_NS;
            if wait_ns <= 0 {
                continue;
            }
            let begin_ns = if sent_ns.saturating_sub(until_ns) <= fill_ns {
                until_ns
            } else {
                sent_ns
            };
            let begin_ns = begin_ns.max(row.start_ns);
            let end_ns = sent_ns + wait_ns;
            queueing_ns += (end_ns.min(row.end_ns) - begin_ns.min(row.end_ns)).max(0);
            until_ns = until_ns.max(end_ns);
        }
        if row.end_ns > until_ns && row.end_ns.saturating_sub(until_ns) <= fill_ns {
            queueing_ns += row.end_ns - until_ns.max(row.start_ns);
        }
        queue.queued_until_ns = until_ns;
        row.queueing_ns = queueing_ns.min(row.end_ns - row.start_ns);
    }

    /// Writes the statistics of the RTTs, of which there is at least one.
    fn summarize_rtts(&mut self, row: &mut Round, rtt_min_ns: i64) {
        let last = self.samples.len() - 1;
        let rtt = |&(_, rtt_ns): &(i64, i64)| rtt_ns;
        let (below, middle, above) = self.samples.select_nth_unstable_by_key(last / 2, rtt);
        row.rtt_ns = rtt(middle);
        row.rtt_max_ns = above.iter().map(rtt).max().unwrap_or(row.rtt_ns);
        let low_ns = if last / 5 < below.len() {
            let (lowest, low, _) = below.select_nth_unstable_by_key(last / 5, rtt);
            let low_ns = rtt(low);
            row.rtt_min_ns = lowest.iter().map(rtt).min().unwrap_or(low_ns);
            low_ns
        } else {
            row.rtt_min_ns = row.rtt_ns; // one or two RTTs
            row.rtt_ns
        };
        row.queueing_delay_p20_ns = (low_ns - rtt_min_ns).max(0);
    }

    /// Writes the rate at which half of the bytes were delivered, or faster, and the time in pauses; `away` from the
    /// sender, where arrivals may come in clumps, also the steady rate.
    ///
    /// A pause is a gap between acknowledgments that is more than three times as long as the rate explains; the
    /// explained part is subtracted. A busy bottleneck leaves no pauses. If half of the bytes came in clumps, all at
    /// once, gaps show no rate. Then the steady rate stands for it, and the gaps between stretches are the pauses.
    pub fn summarize_spacing(&mut self, row: &mut Round, away: bool) {
        (row.ack_spacing_rate, row.ack_steady_rate, row.ack_pauses_ns) = (NULL, NULL, NULL);
        if self.spacings.len() < 4 {
            return;
        }
        let longest_ns = longest_gap_ns(row.end_ns - row.start_ns, self.spacings.len());
        let steady_rate = away
            .then(|| steady_rate(&self.spacings, longest_ns))
            .flatten();
        row.ack_steady_rate = steady_rate.unwrap_or(NULL);
        let Some(middle) = median_pace(&mut self.spacings) else {
            return;
        };
        let rate = PICOSECONDS.checked_div(middle).unwrap_or(i64::MAX);
        if let Some(steady_rate) = steady_rate
            && rate / AT_ONCE > steady_rate
        {
            row.ack_spacing_rate = steady_rate;
            row.ack_pauses_ns =
                self.pauses_ns(|gap_ns, _| if gap_ns > longest_ns { gap_ns } else { 0 });
        } else if middle > 0 {
            row.ack_spacing_rate = rate;
            row.ack_pauses_ns = self.pauses_ns(|gap_ns, bytes| {
                let explained = bytes.saturating_mul(middle) / 1_000;
                if gap_ns > explained.saturating_mul(3) {
                    gap_ns - explained
                } else {
                    0
                }
            });
        }
    }

    /// Returns the sum of the pauses, of which `pause_ns` returns that in a gap before an acknowledgment of some bytes.
    fn pauses_ns(&self, pause_ns: impl Fn(i64, i64) -> i64) -> i64 {
        let pauses_ns = self
            .spacings
            .iter()
            .map(|&(_, gap_ns, bytes)| pause_ns(gap_ns, bytes));
        pauses_ns.fold(0, i64::saturating_add)
    }
}

/// Returns the longest gap within a stretch of acknowledgments, ns, in a round of `length_ns` with `count` of them.
///
/// It is `CLUMPS_NS`, so that clumps do not end a stretch, or twice the mean gap on a slow path. A stretch of several
/// bursts would hide their pauses, so it is a quarter of the round at most.
fn longest_gap_ns(length_ns: i64, count: usize) -> i64 {
    let mean_ns = length_ns / count as i64;
    (mean_ns.saturating_mul(2).max(CLUMPS_NS)).min(length_ns / 4)
}

/// Returns the rate over stretches of acknowledgments without a gap above `longest_ns`, bytes per second; `None` without
/// a stretch of `STRETCH_NS`. It does not depend on single gaps, which clumps of arrivals change.
fn steady_rate(spacings: &[(i64, i64, i64)], longest_ns: i64) -> Option<i64> {
    let (mut total_ns, mut total_bytes) = (0_i64, 0_i64);
    for stretch in spacings.split(|&(_, gap_ns, _)| gap_ns > longest_ns) {
        let length_ns: i64 = stretch.iter().map(|it| it.1).sum();
        if length_ns < STRETCH_NS {
            continue;
        }
        // What came in one clump with the first acknowledgment had arrived before the stretch.
        let short_ns = length_ns / stretch.len() as i64 / 2;
        for &(_, gap_ns, bytes) in stretch.iter().skip_while(|it| it.1 <= short_ns) {
            total_ns += gap_ns;
            total_bytes = total_bytes.saturating_add(bytes);
        }
    }
    (total_ns > 0).then(|| per_second(total_bytes, total_ns))
}

/// Returns the pace at which half of the bytes were delivered, or faster, in picoseconds per byte; `None` without
/// bytes. Selection halves the spacings until one is left.
fn median_pace(spacings: &mut [(i64, i64, i64)]) -> Option<i64> {
    let bytes = |spacings: &[(i64, i64, i64)]| -> i64 { spacings.iter().map(|it| it.2).sum() };
    let total = bytes(spacings);
    let mut faster_bytes = 0;
    let mut rest = spacings;
    while !rest.is_empty() {
        let middle = rest.len() / 2;
        let (below, at, above) = rest.select_nth_unstable_by_key(middle, |&(pace, ..)| pace);
        let faster = faster_bytes + bytes(below);
        if !below.is_empty() && 2 * faster >= total {
            rest = below;
        } else if 2 * (faster + at.2) >= total {
            return Some(at.0);
        } else {
            faster_bytes = faster + at.2;
            rest = above;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const US: i64 = 1_000;

    /// Returns the steady rate of 12 ms of acknowledgments of 1,000 bytes that arrive at these times.
    fn steady_rate_of(times_ns: impl IntoIterator<Item = i64>) -> Option<i64> {
        let mut last_ns = 0;
        let spacings: Vec<_> = times_ns
            .into_iter()
            .map(|now_ns| (0, now_ns - std::mem::replace(&mut last_ns, now_ns), 1_000))
            .collect();
        steady_rate(&spacings, longest_gap_ns(12_000 * US, spacings.len()))
    }

    #[test]
    fn clumps_of_arrivals_hardly_change_the_steady_rate() {
        let each_100_us = || (1..=120).map(|at| at * 100 * US);
        assert_eq!(steady_rate_of(each_100_us()), Some(10_000_000));
        for clump_us in [50, 100, 250, 1_000] {
            let clump_ns = clump_us * US;
            let late = each_100_us().map(|at_ns| (at_ns + clump_ns - 1) / clump_ns * clump_ns);
            let rate = steady_rate_of(late).unwrap_or_default();
            assert!(
                (9_500_000..=10_500_000).contains(&rate),
                "{rate} in clumps of {clump_us} us"
            );
        }
    }

    #[test]
    fn a_pause_is_no_part_of_the_steady_rate() {
        let paused = (1..=80).map(|at| (at * 100 + if at > 40 { 4_000 } else { 0 }) * US);
        assert_eq!(steady_rate_of(paused), Some(10_000_000));
    }

    #[test]
    fn a_short_burst_shows_no_steady_rate() {
        assert_eq!(steady_rate_of((1..=20).map(|at| at * 100 * US)), None);
    }

    proptest! {
        // The oracle sorts all spacings and counts bytes.
        #[test]
        fn half_of_the_bytes_came_at_the_median_pace_or_faster(
            mut spacings in prop::collection::vec((0..20i64, Just(0), 1..9i64), 1..40),
        ) {
            let mut sorted = spacings.clone();
            sorted.sort_by_key(|it| it.0);
            let each = sorted.iter().flat_map(|it| std::iter::repeat_n(it.0, it.2 as usize));
            let each: Vec<_> = each.collect();
            prop_assert_eq!(median_pace(&mut spacings), Some(each[(each.len() - 1) / 2]));
        }

        // The oracle sorts all RTTs.
        #[test]
        fn rtt_statistics_equal_those_of_sorted_rtts(rtts_ns in prop::collection::vec(0..1000i64, 1..40)) {
            let mut measured = Measurements {
                samples: rtts_ns.iter().map(|&rtt_ns| (0, rtt_ns)).collect(),
                ..Measurements::default()
            };
            let mut row = Round::default();
            measured.summarize_rtts(&mut row, 0);
            let mut sorted = rtts_ns;
            sorted.sort_unstable();
            let last = sorted.len() - 1;
            prop_assert_eq!((row.rtt_min_ns, row.rtt_max_ns), (sorted[0], sorted[last]));
            prop_assert_eq!((row.rtt_ns, row.queueing_delay_p20_ns), (sorted[last / 2], sorted[last / 5]));
        }
    }
}
