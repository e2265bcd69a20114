//! # Ahead
//! Bytes that a thread of its own reads ahead: a capture is decompressed while its frames are looked at.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread;

/// Bytes that are handed over at once.
const PIECE_BYTES: usize = 1 << 18;
/// Pieces that may wait.
const PIECES: usize = 4;

/// What the thread has read. The thread ends with its input, or with this.
pub(super) struct Ahead {
    /// None is the end.
    pieces: Receiver<Option<io::Result<Vec<u8>>>>,
    /// Pieces that were looked at, to be used again.
    spent: Sender<Vec<u8>>,
    piece: Vec<u8>,
    at: usize,
    ended: bool,
}

impl Ahead {
    /// Starts to read.
    pub fn new(mut input: Box<dyn Read + Send>) -> io::Result<Self> {
        let (send, pieces) = sync_channel(PIECES);
        let (spent, spare) = channel::<Vec<u8>>();
        let work = move || {
            loop {
                let mut piece = spare.try_recv().unwrap_or_default();
                piece.resize(PIECE_BYTES, 0);
                let read = match input.read(&mut piece) {
                    Ok(0) => None,
                    Ok(count) => {
                        piece.truncate(count);
                        Some(Ok(piece))
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
            pieces,
            spent,
            piece: Vec::new(),
            at: 0,
            ended: false,
        })
    }
}

impl Read for Ahead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.piece.len() && !self.ended {
            let gone = || io::Error::other("the thread that decompresses broke off");
            let piece = match self.pieces.recv().map_err(|_| gone())? {
                Some(read) => read?,
                None => Vec::new(),
            };
            self.ended = piece.is_empty();
            // Where the thread has ended, nobody needs it.
            let _ = self.spent.send(std::mem::replace(&mut self.piece, piece));
            self.at = 0;
        }
        let count = buffer.len().min(self.piece.len() - self.at);
        buffer[..count].copy_from_slice(&self.piece[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives bytes, then fails.
    struct Torn<'a>(&'a [u8]);

    impl Read for Torn<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(io::ErrorKind::InvalidData.into()),
                count => Ok(count),
            }
        }
    }

    #[test]
    fn all_bytes_come_in_their_order() {
        let bytes: Vec<u8> = (0..PIECE_BYTES * 7 + 5).map(|i| (i % 251) as u8).collect();
        let mut ahead = Ahead::new(Box::new(io::Cursor::new(bytes.clone()))).expect("a thread");
        let mut back = Vec::new();
        ahead.read_to_end(&mut back).expect("no error");
        assert!(back == bytes);
    }

    #[test]
    fn an_error_comes_after_the_bytes_before_it() {
        let mut ahead = Ahead::new(Box::new(Torn(b"abc"))).expect("a thread");
        let mut back = Vec::new();
        let error = ahead.read_to_end(&mut back).expect_err("it is torn");
        assert_eq!(
            (back.as_slice(), error.kind()),
            (&b"abc"[..], io::ErrorKind::InvalidData)
        );
    }

    #[test]
    fn who_stops_reading_waits_for_nobody() {
        let ahead = Ahead::new(Box::new(io::repeat(1))).expect("a thread");
        drop(ahead);
    }
}
