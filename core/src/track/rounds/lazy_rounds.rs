//! # Late rounds
//! The rounds of a flow, made when there is something to count.

use super::Rounds;

/// What the rounds of a flow begin with.
#[derive(Debug)]
struct First {
    stream: u32,
    direction: u8,
    start_ns: i64,
    frame: u64,
    mss: i64,
    kept: u32,
}

impl First {
    #[cold]
    fn make(&self) -> Box<Rounds> {
        let mut rounds = Rounds::new(self.stream, self.direction, self.start_ns, self.frame);
        rounds.set_mss(self.mss);
        rounds.set_max_rounds(self.kept);
        Box::new(rounds)
    }
}

/// Many connections are a SYN and no more, and rounds are the most of a flow.
#[derive(Debug)]
pub struct LazyRounds {
    first: First,
    made: Option<Box<Rounds>>,
}

impl LazyRounds {
    /// As [`Rounds::new`].
    #[must_use]
    pub fn new(stream: u32, direction: u8, start_ns: i64, frame: u64) -> Self {
        Self {
            first: First {
                stream,
                direction,
                start_ns,
                frame,
                mss: 1,
                kept: u32::MAX,
            },
            made: None,
        }
    }

    /// The rounds, made if they were not.
    #[inline]
    pub fn get(&mut self) -> &mut Rounds {
        self.made.get_or_insert_with(|| self.first.make())
    }

    /// As [`Rounds::set_max_rounds`], of those not made yet.
    pub fn set_max_rounds(&mut self, most: usize) {
        self.first.kept = u32::try_from(most).unwrap_or(u32::MAX);
    }

    /// As [`Rounds::left_out`].
    #[must_use]
    pub fn left_out(&self) -> i64 {
        self.made.as_ref().map_or(0, |rounds| rounds.left_out())
    }

    /// As [`Rounds::set_mss`].
    pub fn set_mss(&mut self, mss: i64) {
        self.first.mss = mss;
        if let Some(rounds) = &mut self.made {
            rounds.set_mss(mss);
        }
    }

    /// As [`Rounds::number`].
    #[must_use]
    pub fn number(&self) -> u32 {
        self.made.as_ref().map_or(0, |rounds| rounds.number())
    }

    /// As [`Rounds::finished`].
    #[inline]
    pub fn finished(&mut self, una: i64) {
        if let Some(rounds) = &mut self.made {
            rounds.finished(una);
        }
    }

    /// As [`Rounds::rtt_min_ns`].
    #[must_use]
    pub fn rtt_min_ns(&self) -> Option<i64> {
        self.made.as_ref().and_then(|rounds| rounds.rtt_min_ns())
    }

    /// As [`Rounds::packed`].
    #[must_use]
    pub fn packed(&self) -> &[u8] {
        self.made.as_ref().map_or(&[], |rounds| rounds.packed())
    }
}
