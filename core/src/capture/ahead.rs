//! # Ahead
//! Read-ahead in a separate thread, so that a capture is decompressed while its frames are analysed.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread;

/// Maximum size of a chunk.
const CHUNK_BYTES: usize = 1 << 18;
/// Number of chunks that may be read ahead.
const MAX_CHUNKS: usize = 4;

/// Input that a thread reads ahead. The thread ends at the end of its input, or when this is dropped.
pub(super) struct ReadAhead {
    /// Chunks read by the thread; `None` is the end of the input.
    chunks: Receiver<Option<io::Result<Vec<u8>>>>,
    /// Returns consumed chunks to the thread, so that it reuses their memory.
    consumed: Sender<Vec<u8>>,
    chunk: Vec<u8>,
    at: usize,
    ended: bool,
}

impl ReadAhead {
    /// Starts the thread.
    pub fn new(mut input: Box<dyn Read + Send>) -> io::Result<Self> {
        let (send, chunks) = sync_channel(MAX_CHUNKS);
        let (consumed, spare) = channel::<Vec<u8>>();
        let work = move || {
            loop {
                let mut chunk = spare.try_recv().unwrap_or_default();
                chunk.resize(CHUNK_BYTES, 0);
                let read = match input.read(&mut chunk) {
                    Ok(0) => None,
                    Ok(count) => {
                        chunk.truncate(count);
                        Some(Ok(chunk))
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Some(Err(error)),
                };
                let last = !matches!(read, Some(Ok(_)));
                if send.send(read).is_err() || last {
                    return;
                }
            }
        };
        thread::Builder::new().spawn(work)?;
        Ok(Self {
            chunks,
            consumed,
            chunk: Vec::new(),
            at: 0,
            ended: false,
        })
    }
}

impl Read for ReadAhead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.chunk.len() && !self.ended {
            let gone = || io::Error::other("the thread that decompresses broke off");
            let chunk = match self.chunks.recv().map_err(|_| gone())? {
                Some(read) => read?,
                None => Vec::new(),
            };
            self.ended = chunk.is_empty();
            // Sending fails if the thread has ended, which is harmless: no further chunk is read.
            let _ = self
                .consumed
                .send(std::mem::replace(&mut self.chunk, chunk));
            self.at = 0;
        }
        let count = buffer.len().min(self.chunk.len() - self.at);
        buffer[..count].copy_from_slice(&self.chunk[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that returns its bytes and then an error.
    struct FailingReader<'a>(&'a [u8]);

    impl Read for FailingReader<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(io::ErrorKind::InvalidData.into()),
                count => Ok(count),
            }
        }
    }

    #[test]
    fn bytes_are_read_in_order() {
        let bytes: Vec<u8> = (0..CHUNK_BYTES * 7 + 5).map(|i| (i % 251) as u8).collect();
        let mut ahead = ReadAhead::new(Box::new(io::Cursor::new(bytes.clone()))).expect("a thread");
        let mut back = Vec::new();
        ahead.read_to_end(&mut back).expect("no error");
        assert!(back == bytes);
    }

    #[test]
    fn an_error_is_returned_after_the_bytes_before_it() {
        let mut ahead = ReadAhead::new(Box::new(FailingReader(b"abc"))).expect("a thread");
        let mut back = Vec::new();
        let error = ahead.read_to_end(&mut back).expect_err("it is torn");
        assert_eq!(
            (back.as_slice(), error.kind()),
            (&b"abc"[..], io::ErrorKind::InvalidData)
        );
    }

    #[test]
    fn dropping_the_reader_does_not_block() {
        let ahead = ReadAhead::new(Box::new(io::repeat(1))).expect("a thread");
        drop(ahead);
    }
}
