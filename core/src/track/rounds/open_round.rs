//! # Open round
//! A round that may still gain measurements.

use super::measurements::Measurements;
use super::round::Round;
use crate::track::at::At;
use std::cell::RefCell;

thread_local! {
    /// Rounds of this thread that were handed over, for reuse: each holds several lists, and short flows have many rounds.
    #[allow(clippy::vec_box, reason = "flows take the boxes, and no round is copied")]
    static SPARE: RefCell<Vec<Box<OpenRound>>> = const { RefCell::new(Vec::new()) };
}

/// A round that may still gain measurements.
#[derive(Debug, Default)]
pub struct OpenRound {
    /// The evidence counted so far.
    pub row: Round,
    /// SND.NXT at the end of the round: once it is acknowledged, all measurements are in.
    pub end_sequence: i64,
    /// Integral of the bytes in flight over time, byte nanoseconds.
    pub flight_integral: i128,
    /// Values measured in the round.
    pub measurements: Measurements,
    /// Excess delay from the sender to the tap at the end of the round, ns.
    pub forward_delay_ns: i64,
    /// Did an acknowledgment end it?
    pub acknowledged: bool,
}

impl OpenRound {
    /// Maximum number of spare rounds of a thread; so many seldom close before others are handed over.
    const MAX_SPARE: usize = 16;

    /// Returns a round in which nothing is counted yet; see [`Round::blank`].
    #[must_use]
    pub fn begin(stream: u32, direction: u8, round: u32, start: At) -> Box<Self> {
        let mut open = SPARE.with_borrow_mut(Vec::pop).unwrap_or_default();
        open.row = Round::blank(stream, direction, round, start.time_ns, start.frame);
        open
    }

    /// Keeps the memory of a round that was handed over for another one.
    pub fn reuse(mut self: Box<Self>) {
        SPARE.with_borrow_mut(|spare| {
            if spare.len() < Self::MAX_SPARE {
                self.measurements.clear();
                (self.end_sequence, self.flight_integral) = (0, 0);
                (self.forward_delay_ns, self.acknowledged) = (0, false);
                spare.push(self);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::tap::records::RttSample;

    #[test]
    fn a_reused_round_is_like_a_new_one() {
        let at = At {
            time_ns: 1,
            frame: 1,
        };
        let mut used = OpenRound::begin(1, 1, 1, at);
        (used.end_sequence, used.flight_integral) = (1, 1);
        (used.forward_delay_ns, used.acknowledged) = (1, true);
        for sent_ns in 0..5000 {
            used.measurements.add_rtt(RttSample {
                sent_ns,
                rtt_ns: 1,
                round: 1,
                maybe_delayed: false,
            });
        }
        used.measurements.add_run_rate(1);
        used.measurements.add_ack_spacing(1, 1);
        used.measurements.add_forward_delay(1);
        used.measurements.add_reverse_delay(1);
        used.reuse();
        let reused = OpenRound::begin(2, 0, 3, at);
        assert!(SPARE.with_borrow(Vec::is_empty));
        let new = OpenRound::begin(2, 0, 3, at);
        assert_eq!(format!("{reused:?}"), format!("{new:?}"));
    }
}
