//! # Recordings
//! Files that follow one another are one recording, as those of a rotated capture are. Flows between two hosts share
//! the min RTT of their path and the like within a recording.

use super::times::Times;

/// Files of a capture that follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recording {
    /// Time of its earliest frame, in ns since the epoch.
    pub begin_ns: i64,
    /// Resolution of its timestamps in ns: their unit, or the coarser step of their clock.
    pub tick_ns: i64,
}

/// Returns the recordings of files in the order in which they are read, each with the unit of its timestamps in ns. A
/// recording begins where no frame came for longer than between any two frames of a file.
#[must_use]
pub fn recordings(files: &[(Times, i64)]) -> Vec<Recording> {
    let longest_ns = files.iter().map(|(times, _)| times.longest_gap_ns).max();
    let mut found: Vec<(Times, i64)> = Vec::new();
    for (times, unit_ns) in files {
        let Some(first_ns) = times.first_ns() else {
            continue;
        };
        match found.last_mut() {
            Some((before, unit_before_ns))
                if longest_ns == Some(0)
                    || Some(first_ns - before.last_ns().unwrap_or(first_ns)) <= longest_ns =>
            {
                *before = before.then(times);
                *unit_before_ns = (*unit_before_ns).max(*unit_ns);
            }
            _ => found.push((*times, *unit_ns)),
        }
    }
    found
        .iter()
        .map(|(times, unit_ns)| Recording {
            begin_ns: times.first_ns().unwrap_or_default(),
            tick_ns: times.ticks.tick_ns().max(*unit_ns),
        })
        .collect()
}

/// Returns the index of the recording that holds `time_ns`; 0 before the first.
#[must_use]
pub fn recording_at(recordings: &[Recording], time_ns: i64) -> usize {
    let begun = recordings.partition_point(|one| one.begin_ns <= time_ns);
    begun.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(all: impl IntoIterator<Item = i64>) -> (Times, i64) {
        let mut times = Times::default();
        all.into_iter().for_each(|time_ns| times.add(time_ns));
        (times, 1)
    }

    fn begins(files: &[(Times, i64)]) -> Vec<i64> {
        recordings(files).iter().map(|one| one.begin_ns).collect()
    }

    #[test]
    fn a_pause_longer_than_any_in_a_file_begins_a_recording() {
        let one = times([0, 10, 15]);
        assert_eq!(begins(&[one, times([25, 30])]), [0]);
        assert_eq!(begins(&[one, times([26, 30])]), [0, 26]);
        // Files that overlap are one recording.
        assert_eq!(begins(&[one, times([12, 18]), times([40])]), [0, 40]);
    }

    #[test]
    fn files_of_a_frame_show_no_pause() {
        assert_eq!(begins(&[times([0]), times([]), times([50])]), [0]);
        assert!(begins(&[]).is_empty());
    }

    #[test]
    fn a_time_belongs_to_the_recording_that_began_last() {
        let both = recordings(&[times([5, 15]), times([100, 101])]);
        let at = |time_ns| recording_at(&both, time_ns);
        assert_eq!([0, 5, 99, 100, 1000].map(at), [0, 0, 0, 1, 1]);
    }

    #[test]
    fn each_recording_has_its_clock() {
        let coarse = times((0..60).map(|at| at / 3 * 10_000));
        let both = recordings(&[coarse, times((0..60).map(|at| 9_000_000 + at))]);
        let ticks: Vec<_> = both.iter().map(|one| one.tick_ns).collect();
        assert_eq!(ticks, [10_000, 1]);
    }
}
