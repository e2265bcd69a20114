//! # Rows
//! Row format in which [`crate::pieces`] passes frames and their numbers from one worker to another. It is internal,
//! not a capture format.

use std::io::Read;

use super::buffer::Window;
use super::error::Reason;
use super::frame::{Frame, Record, max_captured};

/// The first bytes of a piece in this format.
pub const MAGIC: [u8; 4] = *b"bRow";

/// Size of a row's head, whose fields are little-endian. The first two are the increments of frame number and time since
/// the preceding row. Link type, length on the wire, and number of bytes that follow are the others.
const HEAD_BYTES: usize = 24;
/// Value of the time difference for a frame without a time.
const NO_TIME: i64 = i64::MIN;

/// Number and time of the preceding row, to which the next one is relative.
#[derive(Debug, Default)]
pub struct Rows {
    number: u64,
    time_ns: i64,
}

impl Rows {
    /// Appends a row with the first `kept` bytes of a frame.
    pub fn write(&mut self, frame: &Frame<'_>, kept: usize, out: &mut Vec<u8>) {
        // Some captures state a wire length below the number of captured bytes.
        let wire_len = frame.wire_len.max(frame.data.len() as u32);
        let step_ns = frame
            .time_ns
            .map_or(NO_TIME, |ns| ns.wrapping_sub(self.time_ns));
        out.extend(((frame.number - self.number) as u32).to_le_bytes());
        out.extend(step_ns.to_le_bytes());
        for field in [frame.link_type, wire_len, kept as u32] {
            out.extend(field.to_le_bytes());
        }
        out.extend(&frame.data[..kept]);
        self.number = frame.number;
        self.time_ns = frame.time_ns.unwrap_or(self.time_ns);
    }

    /// Returns the next row and the number of its frame; `None` at the end.
    pub(super) fn next<R: Read>(
        &mut self,
        window: &mut Window<R>,
    ) -> Result<Option<(u64, Record)>, Reason> {
        let cut_short = |needed, left| Err(Reason::CutShort { needed, left });
        if !window.fill(HEAD_BYTES)? {
            return match window.bytes().len() {
                0 => Ok(None),
                left => cut_short(HEAD_BYTES, left),
            };
        }
        let head = &window.bytes()[..HEAD_BYTES];
        let word =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let step_ns = (u64::from(word(8)) << 32 | u64::from(word(4))).cast_signed();
        let (step, link_type, wire_len, kept) = (word(0), word(12), word(16), word(20));
        let max = max_captured(link_type);
        if kept > max {
            return Err(Reason::PacketTooLong { bytes: kept, max });
        }
        let needed = HEAD_BYTES + kept as usize;
        if !window.fill(needed)? {
            return cut_short(needed, window.bytes().len());
        }
        window.take(HEAD_BYTES);
        self.number = self.number.saturating_add(step.into());
        let has_time = step_ns != NO_TIME;
        if has_time {
            self.time_ns = self.time_ns.wrapping_add(step_ns);
        }
        let record = Record {
            time_ns: has_time.then_some(self.time_ns),
            link_type,
            wire_len,
            data: window.take(kept as usize),
        };
        Ok(Some((self.number, record)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Item, read, read_rows};
    use super::*;

    fn item(number: u64, time_ns: Option<i64>, wire_len: u32, data: &[u8]) -> Item {
        Item {
            number,
            time_ns,
            link_type: 1,
            wire_len,
            data: data.to_vec(),
        }
    }

    fn written(items: &[Item], kept: usize) -> Vec<u8> {
        let (mut rows, mut out) = (Rows::default(), MAGIC.to_vec());
        for item in items {
            let frame = Frame {
                number: item.number,
                time_ns: item.time_ns,
                link_type: item.link_type,
                wire_len: item.wire_len,
                data: &item.data,
            };
            rows.write(&frame, kept.min(item.data.len()), &mut out);
        }
        out
    }

    #[test]
    fn frames_are_read_with_numbers_times_and_kept_bytes() {
        let given = [
            item(3, None, 60, b"abcdef"),
            item(4, Some(1 << 62), 0, b"abcdef"),
            item(900, Some(5), 9, b"xy"),
        ];
        let back = read_rows(&written(&given, 4)).frames;
        let expected = [
            item(3, None, 60, b"abcd"),
            item(4, Some(1 << 62), 6, b"abcd"),
            item(900, Some(5), 9, b"xy"),
        ];
        assert_eq!(back, expected);
    }

    #[test]
    fn a_capture_reader_refuses_rows() {
        let contents = read(&written(&[item(1, Some(1), 6, b"abcdef")], 6));
        assert!(contents.frames.is_empty());
        let reason = contents.damage.map(|damage| damage.reason);
        assert!(matches!(reason, Some(Reason::NotACapture(MAGIC))));
    }

    #[test]
    fn a_row_that_is_cut_or_too_long_is_damage() {
        let whole = written(
            &[
                item(1, Some(1), 6, b"abcdef"),
                item(2, Some(2), 6, b"abcdef"),
            ],
            6,
        );
        for length in 4 + HEAD_BYTES + 7..whole.len() {
            let contents = read_rows(&whole[..length]);
            assert_eq!(
                (contents.frames.len(), contents.damage.is_some()),
                (1, true)
            );
        }
        let mut long = whole;
        long[4 + 20..4 + 24].fill(0xff);
        assert!(matches!(
            read_rows(&long).damage.map(|damage| damage.reason),
            Some(Reason::PacketTooLong { .. })
        ));
    }
}
