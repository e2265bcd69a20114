//! # Spans
//! Arithmetic over what lies around each round, within its flow. `starts` are the places of the flows' first rounds,
//! ascending from 0. What is not finite is not known.

/// The median of what is known from `before` rounds before each to `after` rounds after it; not a number where nothing is.
#[must_use]
pub fn medians(values: &[f64], starts: &[i64], before: usize, after: usize) -> Vec<f64> {
    let mut medians = Vec::with_capacity(values.len());
    // What is known of the span, in order.
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

/// The sums from `first` to before `past` of each round, of whole numbers, so that differences of running sums are exact.
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
