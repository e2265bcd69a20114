//! # Spans
//! Sums and medians over the rounds around each round, within its flow. Rounds of all flows are in one array; `starts`
//! has the index of each flow's first round, ascending from 0. A value that is not finite is unknown and left out.

use crate::track::NULL;

/// Returns the median of the known values of each flow; NaN for a flow without any.
#[must_use]
pub fn medians(values: &[f64], starts: &[i64]) -> Vec<f64> {
    let median = |flow: &[f64]| {
        let finite = flow.iter().copied().filter(|value| value.is_finite());
        let mut known: Vec<f64> = finite.collect();
        known.sort_unstable_by(f64::total_cmp);
        middle(&known)
    };
    flows(values, starts).map(median).collect()
}

/// Returns for each round the median of the known values from `before` rounds before it to `after` rounds after it,
/// within its flow; NaN if there are none.
#[must_use]
pub fn medians_around(values: &[f64], starts: &[i64], before: usize, after: usize) -> Vec<f64> {
    let mut medians = Vec::with_capacity(values.len());
    // The known values of the current span, sorted.
    let mut known: Vec<f64> = Vec::new();
    for flow in flows(values, starts) {
        known.clear();
        let mut coming = flow.iter();
        for value in coming.by_ref().take(after) {
            insert(&mut known, *value);
        }
        for at in 0..flow.len() {
            if let Some(value) = coming.next() {
                insert(&mut known, *value);
            }
            if let Some(gone) = (at.checked_sub(before + 1)).and_then(|gone| flow.get(gone)) {
                remove(&mut known, *gone);
            }
            medians.push(middle(&known));
        }
    }
    medians
}

/// Returns for each round the sum of the values from index `first` up to, but not including, index `past`. Values are
/// whole numbers, so differences of running sums are exact.
#[must_use]
pub fn sums(values: &[f64], first: &[i64], past: &[i64]) -> Vec<f64> {
    let mut sum = 0_i64;
    let mut running = Vec::with_capacity(values.len() + 1);
    running.push(0);
    for value in values {
        if *value < f64::INFINITY {
            sum = sum.wrapping_add(*value as i64);
        }
        running.push(sum);
    }
    let at = |place: i64| {
        let place = usize::try_from(place).unwrap_or(0);
        running.get(place).copied().unwrap_or(sum)
    };
    let spans = first.iter().zip(past);
    spans
        .map(|(&first, &past)| at(past).wrapping_sub(at(first)) as f64)
        .collect()
}

/// Returns for each round whether `holds` is true anywhere from index `first` up to, but not including, index `past`.
#[must_use]
pub fn somewhere(holds: &[bool], first: &[i64], past: &[i64]) -> Vec<bool> {
    let mut count = 0_u32;
    let mut running = Vec::with_capacity(holds.len() + 1);
    running.push(0);
    for &held in holds {
        count += u32::from(held);
        running.push(count);
    }
    let at = |place: i64| {
        let place = usize::try_from(place).unwrap_or(0);
        running.get(place).copied().unwrap_or(count)
    };
    let spans = first.iter().zip(past);
    spans.map(|(&first, &past)| at(past) > at(first)).collect()
}

/// Returns a weighted percentile of the known values of each flow, `part` being 0.5 for the median; NaN for a flow
/// without a known value of positive weight.
#[must_use]
pub fn percentiles(values: &[f64], weights: &[f64], starts: &[i64], part: f64) -> Vec<f64> {
    /// Relative tolerance: a sum that is smaller only through rounding counts as large enough.
    const ROUNDING: f64 = 1e-12;
    let percentile = |(values, weights): (&[f64], &[f64])| {
        let both = values.iter().copied().zip(weights.iter().copied());
        let mut known: Vec<_> = both
            .filter(|(value, weight)| value.is_finite() && *weight > 0.0)
            .collect();
        known.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let total: f64 = known.iter().map(|(_, weight)| weight).sum();
        let wanted = part * total * (1.0 - ROUNDING);
        let mut reached = 0.0;
        let found = known.iter().find(|(_, weight)| {
            reached += weight;
            reached >= wanted
        });
        found.or(known.last()).map_or(f64::NAN, |(value, _)| *value)
    };
    let both = flows(values, starts).zip(flows(weights, starts));
    both.map(percentile).collect()
}

/// Converts integers of the core to floats; [`NULL`] becomes NaN.
#[must_use]
pub fn floats(values: &[i64]) -> Vec<f64> {
    let float = |&value: &i64| {
        if value == NULL {
            f64::NAN
        } else {
            value as f64
        }
    };
    values.iter().map(float).collect()
}

fn flows<'a>(values: &'a [f64], starts: &'a [i64]) -> impl Iterator<Item = &'a [f64]> {
    let place = |start: i64| usize::try_from(start).unwrap_or(0);
    let ends = starts.iter().skip(1).map(move |&start| place(start));
    let ends = ends.chain([values.len()]);
    let spans = starts.iter().zip(ends);
    spans.map(move |(&start, end)| values.get(place(start)..end).unwrap_or_default())
}

fn insert(known: &mut Vec<f64>, value: f64) {
    if value.is_finite() {
        known.insert(known.partition_point(|&one| one < value), value);
    }
}

fn remove(known: &mut Vec<f64>, value: f64) {
    let at = known.partition_point(|&one| one < value);
    if value.is_finite() && at < known.len() {
        known.remove(at);
    }
}

fn middle(known: &[f64]) -> f64 {
    match known {
        [] => f64::NAN,
        _ => (known[(known.len() - 1) / 2] + known[known.len() / 2]) / 2.0,
    }
}
