//! # Measurements
//! What a round's packets measured, and what it comes to: RTTs, for how long a queue stood, how evenly acknowledgments
//! came, and what the ways to the tap took.

use super::round::Round;
use crate::track::null::NULL;
use crate::track::tap::records::RttSample;

/// More than this in one round and every other RTT, and all the rest, is dropped.
const MOST: usize = 2048;

/// Adds a value while there is room.
fn keep<T>(values: &mut Vec<T>, value: T) {
    if values.len() < MOST {
        values.push(value);
    }
}

/// How long `bytes` take at `rate` bytes per second.
fn wire_time_ns(bytes: i64, rate: i64) -> i64 {
    i64::try_from(i128::from(bytes) * 1_000_000_000 / i128::from(rate.max(1))).unwrap_or(i64::MAX)
}

/// The 20th percentile: what nearly all had to wait.
fn low(values: &mut [i64]) -> i64 {
    match values.len() {
        0 => NULL,
        count => *values.select_nth_unstable((count - 1) / 5).1,
    }
}

/// The queue on the path of a flow, as its rounds showed it so far.
#[derive(Debug)]
pub struct Queue {
    /// Largest rate of a whole round, bytes per second.
    rate: i64,
    busy_until_ns: i64,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            rate: 0,
            busy_until_ns: i64::MIN,
        }
    }
}

/// What was measured in a round, before it is summed up.
#[derive(Debug)]
pub struct Measurements {
    /// Send time and RTT of each sample that was kept.
    samples: Vec<(i64, i64)>,
    /// One sample in so many is kept.
    stride: u32,
    skipped: u32,
    /// Delivery rates of runs of packets.
    runs: Vec<i64>,
    /// Picoseconds a byte took, time since the acknowledgment before, and what this one delivered.
    spacings: Vec<(i64, i64, i64)>,
    /// Longer than at best: from the sender to the tap.
    forth: Vec<i64>,
    /// Likewise from the receiver to the tap.
    back: Vec<i64>,
}

impl Default for Measurements {
    fn default() -> Self {
        Self {
            samples: Vec::new(),
            stride: 1,
            skipped: 0,
            runs: Vec::new(),
            spacings: Vec::new(),
            forth: Vec::new(),
            back: Vec::new(),
        }
    }
}

impl Measurements {
    /// Host and timer noise in an RTT that is no queue.
    const NOISE_NS: i64 = 150_000;

    /// An RTT.
    pub fn add_rtt(&mut self, sample: RttSample) {
        if self.skipped + 1 < self.stride {
            self.skipped += 1;
            return;
        }
        self.skipped = 0;
        if self.samples.len() == MOST {
            let mut keep = false;
            self.samples.retain(|_| {
                keep = !keep;
                keep
            });
            self.stride *= 2;
        }
        self.samples.push((sample.sent_ns, sample.rtt_ns));
    }

    /// The RTTs were none.
    pub fn forget_rtts(&mut self) {
        self.samples.clear();
    }

    /// The delivery rate over a run of packets, bytes per second.
    pub fn add_run_rate(&mut self, rate: i64) {
        keep(&mut self.runs, rate);
    }

    /// An acknowledgment passes the tap, `gap_ns` after the one before, that delivers `bytes`.
    pub fn add_ack_spacing(&mut self, gap_ns: i64, bytes: i64) {
        let pace = gap_ns.saturating_mul(1_000) / bytes.max(1);
        keep(&mut self.spacings, (pace, gap_ns, bytes));
    }

    /// What the sender's packets took longer than at best to the tap.
    pub fn add_forward_delay(&mut self, excess_ns: i64) {
        keep(&mut self.forth, excess_ns);
    }

    /// What the receiver's packets took longer than at best to the tap.
    pub fn add_reverse_delay(&mut self, excess_ns: i64) {
        keep(&mut self.back, excess_ns);
    }

    /// Ready for another round.
    pub fn clear(&mut self) {
        self.samples.clear();
        (self.stride, self.skipped) = (1, 0);
        self.runs.clear();
        self.spacings.clear();
        self.forth.clear();
        self.back.clear();
    }

    /// Writes what it comes to into the round, whose other counts are in.
    pub fn sum_up(
        &mut self,
        row: &mut Round,
        rtt_min_ns: Option<i64>,
        mss: i64,
        queue: &mut Queue,
    ) {
        row.rtt_floor_ns = rtt_min_ns.unwrap_or(NULL);
        row.rtt_samples = self.samples.len() as i64;
        let middle = self.runs.len() / 2;
        row.run_rate = if self.runs.is_empty() {
            NULL
        } else {
            *self.runs.select_nth_unstable(middle).1
        };
        let length_ns = row.end_ns - row.start_ns;
        if row.acked_bytes > 0 && length_ns > 0 {
            let rate = (i128::from(row.acked_bytes) * 1_000_000_000 / i128::from(length_ns)) as i64;
            queue.rate = queue.rate.max(rate);
        }
        match rtt_min_ns {
            Some(rtt_min_ns) if !self.samples.is_empty() => {
                self.judge_queue(row, rtt_min_ns, mss, queue);
                self.judge_rtts(row, rtt_min_ns);
            }
            _ => {
                (row.rtt_min_ns, row.rtt_ns) = (NULL, NULL);
                (row.rtt_max_ns, row.queue_low_ns) = (NULL, NULL);
            }
        }
        self.judge_spacing(row);
        row.forth_ns = low(&mut self.forth);
        row.back_ns = low(&mut self.back);
    }

    /// For how long a queue stood: the union of the waits `[s, s + q]` of segments sent at `s` with an RTT `q` above the
    /// floor. Short gaps between waits are filled: one packet's worth of transmission is no idle link.
    fn judge_queue(&self, row: &mut Round, rtt_min_ns: i64, mss: i64, queue: &mut Queue) {
        let short_ns = rtt_min_ns / 100 * 15;
        let fill_ns = if queue.rate > 0 {
            wire_time_ns(23 * mss / 10, queue.rate).min(short_ns)
        } else {
            short_ns
        };
        let mut until_ns = queue.busy_until_ns;
        let mut busy_ns = until_ns.clamp(row.start_ns, row.end_ns) - row.start_ns;
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
            busy_ns += (end_ns.min(row.end_ns) - begin_ns.min(row.end_ns)).max(0);
            until_ns = until_ns.max(end_ns);
        }
        if row.end_ns > until_ns && row.end_ns.saturating_sub(until_ns) <= fill_ns {
            busy_ns += row.end_ns - until_ns.max(row.start_ns);
        }
        queue.busy_until_ns = until_ns;
        row.busy_ns = busy_ns.min(row.end_ns - row.start_ns);
    }

    /// RTT statistics of a round that has some.
    fn judge_rtts(&mut self, row: &mut Round, rtt_min_ns: i64) {
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
            row.rtt_min_ns = row.rtt_ns; // of one or two
            row.rtt_ns
        };
        row.queue_low_ns = (low_ns - rtt_min_ns).max(0);
    }

    /// How evenly acknowledgments came: the rate at which half of the bytes were delivered, or faster, and the time in
    /// pauses longer than thrice what that rate explains. A busy bottleneck leaves none.
    fn judge_spacing(&mut self, row: &mut Round) {
        (row.spacing_rate, row.pauses_ns) = (NULL, NULL);
        if self.spacings.len() < 4 {
            return;
        }
        let Some(middle) = middle_pace(&mut self.spacings).filter(|&pace| pace > 0) else {
            return;
        };
        row.spacing_rate = 1_000_000_000_000 / middle;
        row.pauses_ns = self
            .spacings
            .iter()
            .map(|&(_, gap_ns, bytes)| {
                let explained = bytes.saturating_mul(middle) / 1_000;
                if gap_ns > explained.saturating_mul(3) {
                    gap_ns - explained
                } else {
                    0
                }
            })
            .fold(0, i64::saturating_add);
    }
}

/// The pace at which half of the bytes were delivered, or faster, by selection: the half that cannot hold it is put aside.
fn middle_pace(spacings: &mut [(i64, i64, i64)]) -> Option<i64> {
    let bytes = |spacings: &[(i64, i64, i64)]| -> i64 { spacings.iter().map(|it| it.2).sum() };
    let total = bytes(spacings);
    let mut passed = 0;
    let mut rest = spacings;
    while !rest.is_empty() {
        let middle = rest.len() / 2;
        let (below, at, above) = rest.select_nth_unstable_by_key(middle, |&(pace, ..)| pace);
        let faster = passed + bytes(below);
        if !below.is_empty() && 2 * faster >= total {
            rest = below;
        } else if 2 * (faster + at.2) >= total {
            return Some(at.0);
        } else {
            passed = faster + at.2;
            rest = above;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        // The oracle puts all in order and counts bytes.
        #[test]
        fn half_of_the_bytes_came_at_the_middle_pace_or_faster(
            mut spacings in prop::collection::vec((0..20i64, Just(0), 1..9i64), 1..40),
        ) {
            let mut sorted = spacings.clone();
            sorted.sort_by_key(|it| it.0);
            let each = sorted.iter().flat_map(|it| std::iter::repeat_n(it.0, it.2 as usize));
            let each: Vec<_> = each.collect();
            prop_assert_eq!(middle_pace(&mut spacings), Some(each[(each.len() - 1) / 2]));
        }

        // The oracle puts all in order.
        #[test]
        fn rtts_are_told_by_rank(rtts_ns in prop::collection::vec(0..1000i64, 1..40)) {
            let mut measured = Measurements {
                samples: rtts_ns.iter().map(|&rtt_ns| (0, rtt_ns)).collect(),
                ..Measurements::default()
            };
            let mut row = Round::default();
            measured.judge_rtts(&mut row, 0);
            let mut sorted = rtts_ns;
            sorted.sort_unstable();
            let last = sorted.len() - 1;
            prop_assert_eq!((row.rtt_min_ns, row.rtt_max_ns), (sorted[0], sorted[last]));
            prop_assert_eq!((row.rtt_ns, row.queue_low_ns), (sorted[last / 2], sorted[last / 5]));
        }
    }
}
