//! # Kept
//! The finished rounds of a flow, packed until they are judged.

use super::event::NULL;
use super::round::Round;

/// What tells most of the next round.
#[derive(Debug, Clone, Copy)]
struct Before {
    round: u32,
    end_ns: i64,
    last_frame: u64,
    flight_max_bytes: i64,
    window_bytes: i64,
    rtt_floor_ns: i64,
}

impl Before {
    const NONE: Self = Self {
        round: u32::MAX,
        end_ns: 0,
        last_frame: 0,
        flight_max_bytes: 0,
        window_bytes: NULL,
        rtt_floor_ns: NULL,
    };

    const fn of(row: &Round) -> Self {
        Self {
            round: row.round,
            end_ns: row.end_ns,
            last_frame: row.last_frame,
            flight_max_bytes: row.flight_max_bytes,
            window_bytes: row.window_max_bytes,
            rtt_floor_ns: row.rtt_floor_ns,
        }
    }

    fn expected(&self, stream: u32, direction: u8) -> Round {
        Round {
            end_ns: self.end_ns,
            last_frame: self.last_frame,
            flight_max_bytes: self.flight_max_bytes,
            flight_mean_bytes: self.flight_max_bytes,
            window_min_bytes: self.window_bytes,
            window_max_bytes: self.window_bytes,
            rtt_floor_ns: self.rtt_floor_ns,
            rtt_min_ns: self.rtt_floor_ns,
            rtt_ns: self.rtt_floor_ns,
            rtt_max_ns: self.rtt_floor_ns,
            queue_low_ns: if self.rtt_floor_ns == NULL { NULL } else { 0 },
            run_rate: NULL,
            spacing_rate: NULL,
            pauses_ns: NULL,
            forth_ns: NULL,
            back_ns: NULL,
            ..Round::blank(
                stream,
                direction,
                self.round.wrapping_add(1),
                self.end_ns,
                self.last_frame,
            )
        }
    }
}

/// The finished rounds of one flow, in their order.
#[derive(Debug)]
pub struct Kept {
    before: Before,
    bytes: Vec<u8>,
    /// No more than so many are kept.
    most: u32,
    /// How many there were.
    count: u32,
}

impl Default for Kept {
    fn default() -> Self {
        Self {
            before: Before::NONE,
            bytes: Vec::new(),
            most: u32::MAX,
            count: 0,
        }
    }
}

impl Kept {
    /// Keeps so many rounds, the first ones.
    pub fn keep(&mut self, most: u32) {
        self.most = most;
    }

    /// How many rounds were not kept, as there was no room for them.
    #[must_use]
    pub fn left_out(&self) -> i64 {
        i64::from(self.count.saturating_sub(self.most))
    }

    /// Adds a round.
    pub fn push(&mut self, row: &Round) {
        self.count = self.count.saturating_add(1);
        if self.count > self.most {
            return;
        }
        let expected = self.before.expected(row.stream, row.direction);
        row.pack(&expected, &mut self.bytes);
        self.before = Before::of(row);
    }

    /// The rounds, packed.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The rounds of a flow, from its packed ones.
pub fn unpacked(stream: u32, direction: u8, mut bytes: &[u8]) -> impl Iterator<Item = Round> {
    let mut before = Before::NONE;
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let row = Round::unpack(&before.expected(stream, direction), &mut bytes);
        before = Before::of(&row);
        Some(row)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_kept_than_there_is_room_for() {
        for most in 0..3 {
            let mut kept = Kept::default();
            kept.keep(most);
            for round in 0..3 {
                kept.push(&Round {
                    round,
                    ..Round::default()
                });
            }
            let rounds = unpacked(0, 0, kept.bytes()).count();
            assert_eq!(
                (rounds, kept.left_out()),
                (most as usize, i64::from(3 - most))
            );
        }
    }

    #[test]
    fn rounds_are_kept_as_they_are() {
        let rounds = [0, 1, 2].map(|round| Round {
            round,
            start_ns: 1_700_000_000_000_000_000 + i64::from(round),
            rtt_ns: if round == 1 { NULL } else { 20_000_000 },
            acked_bytes: -i64::from(round),
            stream: 7,
            direction: 1,
            ..Round::default()
        });
        let mut kept = Kept::default();
        for row in &rounds {
            kept.push(row);
        }
        let back = unpacked(7, 1, kept.bytes()).collect::<Vec<_>>();
        assert_eq!(back, rounds);
    }
}
