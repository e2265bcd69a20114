//! # Open round
//! A round that may still gain measurements.

use super::measurements::Measurements;
use super::round::Round;
use std::cell::RefCell;

thread_local! {
    /// Rounds of this thread that were handed over, for reuse: each holds several lists, and short flows have many rounds.
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

    /// Returns a round that begins with `row` and has no measurements.
    #[must_use]
    pub fn begin(row: Round) -> Box<Self> {
        match SPARE.with_borrow_mut(Vec::pop) {
            Some(mut spare) => {
                spare.row = row;
                spare
            }
            None => Box::new(Self {
                row,
                ..Self::default()
            }),
        }
    }

    /// Keeps the memory of a round that was handed over for another one.
    pub fn reuse(mut self: Box<Self>) {
        SPARE.with_borrow_mut(|spare| {
            if spare.len() < Self::MAX_SPARE {
                self.measurements.clear();
                (self.flight_integral, self.acknowledged) = (0, false);
                spare.push(self);
            }
        });
    }
}
