//! # Buffer
//! A window that slides over a stream: records are looked at where they lie, and nothing is copied out.

use std::io::{self, Read};
use std::ops::Range;

/// Room at the start; it grows for a larger record.
const INITIAL_BYTES: usize = 1 << 18;

/// The part of a stream that is in memory and not yet consumed.
pub(super) struct Window<R> {
    input: R,
    memory: Vec<u8>,
    start: usize,
    end: usize,
    /// Position of `start` in the stream.
    offset: u64,
}

impl<R: Read> Window<R> {
    pub fn new(input: R) -> Self {
        Window {
            input,
            memory: vec![0; INITIAL_BYTES],
            start: 0,
            end: 0,
            offset: 0,
        }
    }

    /// What the window slides over.
    pub fn input(&self) -> &R {
        &self.input
    }

    /// The same, to be changed.
    pub fn input_mut(&mut self) -> &mut R {
        &mut self.input
    }

    /// Position in the stream of the first byte not yet consumed.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes in memory that are not consumed.
    pub fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.end]
    }

    /// Brings at least `want` bytes into memory. False if the stream ends before.
    #[inline]
    pub fn fill(&mut self, want: usize) -> io::Result<bool> {
        if self.end - self.start >= want {
            Ok(true)
        } else {
            self.refill(want)
        }
    }

    #[cold]
    fn refill(&mut self, want: usize) -> io::Result<bool> {
        self.memory.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < want {
            if self.end == self.memory.len() {
                // Only as the bytes arrive: a record's word for its length is not worth memory.
                self.memory.resize(2 * self.end, 0);
            }
            match self.input.read(&mut self.memory[self.end..]) {
                Ok(0) => return Ok(false),
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Consumes `count` bytes, which must be in memory, and says where they lie until the next `fill`.
    #[inline]
    pub fn take(&mut self, count: usize) -> Range<usize> {
        let taken = self.start..self.start + count;
        debug_assert!(taken.end <= self.end);
        self.start = taken.end;
        self.offset += count as u64;
        taken
    }

    /// Bytes that `take` consumed.
    #[inline]
    pub fn taken(&self, place: Range<usize>) -> &[u8] {
        &self.memory[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte at a time, as a slow pipe may.
    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = buffer.len().min(1);
            self.0.read(&mut buffer[..count])
        }
    }

    #[test]
    fn gathers_a_record_that_arrives_in_pieces() {
        let mut window = Window::new(Trickle(b"abcdef"));
        assert!(window.fill(4).expect("no error"));
        let taken = window.take(4);
        assert_eq!(window.taken(taken), b"abcd");
        assert_eq!(window.offset(), 4);
    }

    #[test]
    fn keeps_what_is_left_when_the_stream_ends_inside_a_record() {
        let mut window = Window::new(&b"abcdef"[..]);
        assert!(!window.fill(7).expect("no error"));
        assert_eq!(window.bytes(), b"abcdef");
    }

    #[test]
    fn grows_for_a_record_larger_than_the_window() {
        let stream: Vec<u8> = (0..3 * INITIAL_BYTES).map(|i| (i % 251) as u8).collect();
        let mut window = Window::new(&stream[..]);
        assert!(window.fill(stream.len()).expect("no error"));
        assert_eq!(window.bytes(), stream);
    }

    #[test]
    fn takes_no_memory_on_a_records_word() {
        let mut window = Window::new(&b"short"[..]);
        assert!(!window.fill(1 << 40).expect("no error"));
        assert_eq!(window.memory.len(), INITIAL_BYTES);
    }
}
