//! # Lazy rounds
//! The rounds of a flow, created when there is something to count.

use super::Rounds;
use super::data_time::DataTime;
use crate::track::at::At;

/// Parameters of rounds that are not created yet.
#[derive(Debug)]
struct Parameters {
    stream: u32,
    direction: u8,
    start: At,
    mss: i64,
    max_rounds: u32,
}

impl Parameters {
    #[cold]
    fn make(&self) -> Box<Rounds> {
        let mut rounds = Box::new(Rounds::new(self.stream, self.direction, self.start));
        rounds.set_mss(self.mss);
        rounds.set_max_rounds(self.max_rounds);
        rounds
    }
}

/// Rounds that are created on first use: many connections are only a SYN, and rounds take most of the memory of a flow.
#[derive(Debug)]
pub struct LazyRounds {
    parameters: Parameters,
    made: Option<Box<Rounds>>,
}

impl LazyRounds {
    /// Stores the parameters of [`Rounds::new`].
    #[must_use]
    pub fn new(stream: u32, direction: u8, start: At) -> Self {
        Self {
            parameters: Parameters {
                stream,
                direction,
                start,
                mss: 1,
                max_rounds: u32::MAX,
            },
            made: None,
        }
    }

    /// Returns the rounds; creates them on first use.
    #[inline]
    pub fn get(&mut self) -> &mut Rounds {
        self.made.get_or_insert_with(|| self.parameters.make())
    }

    /// Sets the maximum number of rounds kept, before they are created; see [`Rounds::set_max_rounds`].
    pub fn set_max_rounds(&mut self, max: usize) {
        self.parameters.max_rounds = u32::try_from(max).unwrap_or(u32::MAX);
    }

    /// Returns the number of rounds left out; see [`Rounds::left_out`].
    #[must_use]
    pub fn left_out(&self) -> i64 {
        self.made.as_ref().map_or(0, |rounds| rounds.left_out())
    }

    /// Sets the largest payload of a packet, bytes; see [`Rounds::set_mss`].
    pub fn set_mss(&mut self, mss: i64) {
        self.parameters.mss = mss;
        if let Some(rounds) = &mut self.made {
            rounds.set_mss(mss);
        }
    }

    /// Returns the number of the open round; see [`Rounds::number`].
    #[must_use]
    pub fn number(&self) -> u32 {
        self.made.as_ref().map_or(0, |rounds| rounds.number())
    }

    /// Hands over rounds; see [`Rounds::finished`].
    #[inline]
    pub fn finished(&mut self, una: i64) {
        if let Some(rounds) = &mut self.made {
            rounds.finished(una);
        }
    }

    /// Returns the minimum RTT so far, ns; see [`Rounds::rtt_min_ns`].
    #[must_use]
    pub fn rtt_min_ns(&self) -> Option<i64> {
        self.made.as_ref().and_then(|rounds| rounds.rtt_min_ns())
    }

    /// Returns the least RTT so far, ns; see [`Rounds::least_rtt_ns`].
    #[must_use]
    pub fn least_rtt_ns(&self) -> Option<i64> {
        self.made.as_ref().and_then(|rounds| rounds.least_rtt_ns())
    }

    /// Returns the time in which payload was in flight; see [`Rounds::data_time`].
    #[must_use]
    pub fn data_time(&self) -> DataTime {
        (self.made.as_ref()).map_or(DataTime::NONE, |rounds| rounds.data_time())
    }

    /// Returns the longest time without an acknowledgment, ns; see [`Rounds::longest_stall_ns`].
    #[must_use]
    pub fn longest_stall_ns(&self) -> i64 {
        self.made
            .as_ref()
            .map_or(0, |rounds| rounds.longest_stall_ns())
    }

    /// Returns when that time began, ns; see [`Rounds::longest_stall_start_ns`].
    #[must_use]
    pub fn longest_stall_start_ns(&self) -> Option<i64> {
        self.made
            .as_ref()
            .and_then(|rounds| rounds.longest_stall_start_ns())
    }

    /// Returns the rounds handed over; see [`Rounds::packed`].
    #[must_use]
    pub fn packed(&self) -> &[u8] {
        self.made.as_ref().map_or(&[], |rounds| rounds.packed())
    }
}
