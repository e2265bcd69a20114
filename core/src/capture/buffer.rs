//! # Buffer
//! A sliding window over a stream, so that records are read in place and never copied.

use std::io::{self, Read};
use std::ops::Range;

/// Initial size of the window; it grows for a larger record.
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

    /// Returns the stream under the window.
    pub fn input(&self) -> &R {
        &self.input
    }

    /// Returns the stream under the window, mutable.
    pub fn input_mut(&mut self) -> &mut R {
        &mut self.input
    }

    /// Returns the position in the stream of the first byte not yet consumed.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the bytes in memory that are not yet consumed.
    pub fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.end]
    }

    /// Reads until at least `want` unconsumed bytes are in memory; returns false if the stream ends before.
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
                // Memory grows with the bytes that arrive; the length that a record states may be wrong.
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

    /// Consumes `count` bytes, which must be in memory; returns their place, which is valid until the next `fill`.
    #[inline]
    pub fn take(&mut self, count: usize) -> Range<usize> {
        let taken = self.start..self.start + count;
        debug_assert!(taken.end <= self.end);
        self.start = taken.end;
        self.offset += count as u64;
        taken
    }

    /// Returns the bytes at a place that `take` returned.
    #[inline]
    pub fn taken(&self, place: Range<usize>) -> &[u8] {
        &self.memory[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that returns one byte at a time, as a slow pipe may.
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
    fn keeps_the_bytes_left_when_the_stream_ends_inside_a_record() {
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
    fn a_stated_length_alone_allocates_no_memory() {
        let mut window = Window::new(&b"short"[..]);
        assert!(!window.fill(1 << 40).expect("no error"));
        assert_eq!(window.memory.len(), INITIAL_BYTES);
    }
}
