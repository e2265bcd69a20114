//! # Packed rounds
//! The finished rounds of a flow, packed until they are classified; those of a long flow in compressed blocks.

use super::round::Round;
use crate::track::at::At;
use crate::track::null::NULL;
use crate::track::row::packed::{append_varint, read_varint};
use zstd::bulk::{compress, decompress};

/// Values of a round that predict most values of the next one.
#[derive(Debug, Clone, Copy)]
struct Previous {
    round: u32,
    end_ns: i64,
    last_frame: u64,
    window_bytes: i64,
    flow_rtt_min_ns: i64,
}

impl Previous {
    /// Returns the values before the first round of a stream that began at `start`.
    const fn before(start: At) -> Self {
        Self {
            round: u32::MAX,
            end_ns: start.time_ns,
            last_frame: start.frame,
            window_bytes: NULL,
            flow_rtt_min_ns: NULL,
        }
    }

    /// Returns the predicting values of a round.
    const fn of(row: &Round) -> Self {
        Self {
            round: row.round,
            end_ns: row.end_ns,
            last_frame: row.last_frame,
            window_bytes: row.window_max_bytes,
            flow_rtt_min_ns: row.flow_rtt_min_ns,
        }
    }

    /// Returns the round that is expected next, as its differences from [related](Round::relate) fields.
    fn expected(&self, stream: u32, direction: u8) -> Round {
        Round {
            last_frame: self.last_frame,
            window_min_bytes: self.window_bytes,
            window_max_bytes: 0,
            burst_period_max_ns: 0,
            flow_rtt_min_ns: self.flow_rtt_min_ns,
            rtt_ns: self.flow_rtt_min_ns,
            queueing_delay_p20_ns: if self.flow_rtt_min_ns == NULL {
                NULL
            } else {
                0
            },
            delivery_rate: NULL,
            ack_spacing_rate: NULL,
            ack_steady_rate: NULL,
            ack_pauses_ns: NULL,
            forward_delay_p20_ns: NULL,
            reverse_delay_p20_ns: NULL,
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

/// Marks the first number of a compressed block, whose other bits are the length of the block in bytes. The first number
/// of a packed round never has this bit, as a round has fewer fields than a word has bits.
const BLOCK: u64 = 1 << 63;
const _: () = assert!(Round::FIELDS < 64);
/// Bytes of packed rounds that are compressed together.
const BLOCK_BYTES: usize = 32 << 10;
/// Bytes reserved with the first round: the four rounds of a short flow take about so many.
const FIRST_BYTES: usize = 192;
/// Compression level of zstd; a low one, because packets wait meanwhile.
const LEVEL: i32 = 1;

/// The finished rounds of one flow, in their order.
#[derive(Debug)]
pub struct PackedRounds {
    /// Values of the last round.
    previous: Previous,
    /// Compressed blocks, then packed rounds.
    bytes: Vec<u8>,
    /// Offset in `bytes` of the first round that is in no block yet.
    block_start: usize,
    /// Maximum number of rounds kept.
    max_rounds: u32,
    /// Number of rounds added, those left out included.
    count: u32,
}

impl PackedRounds {
    /// Returns no rounds yet of a stream that began at `start`.
    #[must_use]
    pub fn new(start: At) -> Self {
        Self {
            previous: Previous::before(start),
            bytes: Vec::new(),
            block_start: 0,
            max_rounds: u32::MAX,
            count: 0,
        }
    }

    /// Sets the maximum number of rounds kept; later rounds are left out.
    pub fn set_max(&mut self, max: u32) {
        self.max_rounds = max;
    }

    /// Returns the number of rounds left out.
    #[must_use]
    pub fn left_out(&self) -> i64 {
        i64::from(self.count.saturating_sub(self.max_rounds))
    }

    /// Adds a round, which is left with differences instead of [related](Round::relate) fields.
    pub fn push(&mut self, row: &mut Round) {
        self.count = self.count.saturating_add(1);
        if self.count > self.max_rounds {
            return;
        }
        if self.bytes.capacity() == 0 {
            self.bytes.reserve_exact(FIRST_BYTES);
        }
        let expected = self.previous.expected(row.stream, row.direction);
        self.previous = Previous::of(row);
        row.relate(i64::wrapping_sub);
        row.pack(&expected, &mut self.bytes);
        if self.bytes.len() - self.block_start >= BLOCK_BYTES {
            self.close_block();
        }
    }

    /// Compresses the rounds that are in no block yet.
    #[cold]
    fn close_block(&mut self) {
        if let Ok(block) = compress(&self.bytes[self.block_start..], LEVEL) {
            self.bytes.truncate(self.block_start);
            append_varint(BLOCK | block.len() as u64, &mut self.bytes);
            self.bytes.extend_from_slice(&block);
        }
        self.block_start = self.bytes.len();
    }

    /// Returns the packed rounds.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Returns the rounds of a flow, whose stream began at `start`, from its packed rounds.
pub fn unpacked(
    stream: u32,
    direction: u8,
    start: At,
    mut bytes: &[u8],
) -> impl Iterator<Item = Round> {
    let mut previous = Previous::before(start);
    let (mut block, mut at) = (Vec::new(), 0);
    std::iter::from_fn(move || {
        if at == block.len()
            && let Some((packed, rest)) = first_block(bytes)
        {
            (block, at) = (decompress(packed, 2 * BLOCK_BYTES).unwrap_or_default(), 0);
            bytes = rest;
        }
        let expected = previous.expected(stream, direction);
        let mut row = if at < block.len() {
            let mut rest = &block[at..];
            let row = Round::unpack(&expected, &mut rest);
            at = block.len() - rest.len();
            row
        } else if bytes.is_empty() {
            return None;
        } else {
            Round::unpack(&expected, &mut bytes)
        };
        row.relate(i64::wrapping_add);
        previous = Previous::of(&row);
        Some(row)
    })
}

/// Returns the block at the start of `bytes`, and the bytes after it; `None` if a round comes next.
fn first_block(mut bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let begin = read_varint(&mut bytes);
    (begin & BLOCK != 0).then(|| bytes.split_at_checked((begin ^ BLOCK) as usize))?
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: At = At {
        time_ns: 1_700_000_000_000_000_000,
        frame: 1,
    };

    #[test]
    fn rounds_beyond_the_maximum_are_left_out() {
        for most in 0..3 {
            let mut packed = PackedRounds::new(START);
            packed.set_max(most);
            for round in 0..3 {
                packed.push(&mut Round {
                    round,
                    ..Round::default()
                });
            }
            let rounds = unpacked(0, 0, START, packed.bytes()).count();
            assert_eq!(
                (rounds, packed.left_out()),
                (most as usize, i64::from(3 - most))
            );
        }
    }

    #[test]
    fn a_long_flow_is_compressed_and_restored_exactly() {
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
        let mut packed = PackedRounds::new(START);
        let mut one_by_one = 0;
        for mut row in rounds.iter().copied() {
            packed.push(&mut row.clone());
            let mut alone = PackedRounds::new(START);
            alone.push(&mut row);
            one_by_one += alone.bytes().len();
        }
        assert!(2 * packed.bytes().len() < one_by_one);
        assert!(unpacked(0, 0, START, packed.bytes()).eq(rounds));
    }

    #[test]
    fn rounds_are_restored_exactly() {
        let rounds = [0, 1, 2].map(|round| Round {
            round,
            start_ns: 1_700_000_000_000_000_000 + i64::from(round),
            rtt_ns: if round == 1 { NULL } else { 20_000_000 },
            acked_bytes: -i64::from(round),
            stream: 7,
            direction: 1,
            ..Round::default()
        });
        let mut packed = PackedRounds::new(START);
        for mut row in rounds {
            packed.push(&mut row);
        }
        let restored = unpacked(7, 1, START, packed.bytes()).collect::<Vec<_>>();
        assert_eq!(restored, rounds);
    }
}
