//! # PackedRounds
//! The finished rounds of a flow, packed until they are judged; of a long flow, in compressed blocks.

use super::round::Round;
use crate::track::null::NULL;
use zstd::bulk::{compress, decompress};

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

/// A compressed block of rounds begins with a word that says how long it is. No round begins like this: it has fewer
/// fields than its first word, of eight bytes, has bits.
const BLOCK: u64 = 1 << 63;
const _: () = assert!(Round::FIELDS > 56 && Round::FIELDS < 64);
/// Bytes of rounds that are compressed together.
const BLOCK_BYTES: usize = 32 << 10;
/// Of zstd: rounds are compressed while packets wait.
const LEVEL: i32 = 1;

/// The finished rounds of one flow, in their order.
#[derive(Debug)]
pub struct PackedRounds {
    before: Before,
    bytes: Vec<u8>,
    /// Where the rounds begin that are in no block yet.
    open: usize,
    /// No more than so many are kept.
    most: u32,
    /// How many there were.
    count: u32,
}

impl Default for PackedRounds {
    fn default() -> Self {
        Self {
            before: Before::NONE,
            bytes: Vec::new(),
            open: 0,
            most: u32::MAX,
            count: 0,
        }
    }
}

impl PackedRounds {
    /// Keeps so many rounds, the first ones.
    pub fn set_max(&mut self, most: u32) {
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
        if self.bytes.len() - self.open >= BLOCK_BYTES {
            self.close_block();
        }
    }

    #[cold]
    fn close_block(&mut self) {
        if let Ok(block) = compress(&self.bytes[self.open..], LEVEL) {
            self.bytes.truncate(self.open);
            let begin = BLOCK | block.len() as u64;
            self.bytes.extend_from_slice(&begin.to_le_bytes());
            self.bytes.extend_from_slice(&block);
        }
        self.open = self.bytes.len();
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
    let (mut block, mut at) = (Vec::new(), 0);
    std::iter::from_fn(move || {
        if at == block.len()
            && let Some((packed, rest)) = first_block(bytes)
        {
            (block, at) = (decompress(packed, 2 * BLOCK_BYTES).unwrap_or_default(), 0);
            bytes = rest;
        }
        let expected = before.expected(stream, direction);
        let row = if at < block.len() {
            let mut rest = &block[at..];
            let row = Round::unpack(&expected, &mut rest);
            at = block.len() - rest.len();
            row
        } else if bytes.is_empty() {
            return None;
        } else {
            Round::unpack(&expected, &mut bytes)
        };
        before = Before::of(&row);
        Some(row)
    })
}

/// The block that comes next, if one does, and what follows it.
fn first_block(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (begin, rest) = bytes.split_first_chunk()?;
    let begin = u64::from_le_bytes(*begin);
    (begin & BLOCK != 0).then(|| rest.split_at_checked((begin ^ BLOCK) as usize))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_kept_than_there_is_room_for() {
        for most in 0..3 {
            let mut kept = PackedRounds::default();
            kept.set_max(most);
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
    fn a_long_flow_takes_less_and_is_kept_as_it_is() {
        let rounds: Vec<_> = (0..5000)
            .map(|round| Round {
                round,
                start_ns: i64::from(round) * 1_000_000_007,
                length_ns: i64::from(round % 100) * 1_000_003,
                first_frame: u64::from(round) * 3,
                rtt_ns: 20_000_000 + i64::from(round % 7) * 1000,
                ..Round::default()
            })
            .collect();
        let mut kept = PackedRounds::default();
        let mut bytes = Vec::new();
        for row in &rounds {
            row.pack(&kept.before.expected(row.stream, row.direction), &mut bytes);
            kept.push(row);
        }
        assert!(2 * kept.bytes().len() < bytes.len());
        assert!(unpacked(0, 0, kept.bytes()).eq(rounds));
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
        let mut kept = PackedRounds::default();
        for row in &rounds {
            kept.push(row);
        }
        let back = unpacked(7, 1, kept.bytes()).collect::<Vec<_>>();
        assert_eq!(back, rounds);
    }
}
