//! # Annotate
//! Captures written again as pcapng, with comments on chosen frames and on the whole.

use crate::capture::{Piece, Reader, write_interface, write_packet, write_section};
use crate::source::{Source, Stop, in_order};
use std::collections::VecDeque;

/// Captures on their way to one pcapng file.
pub struct Annotated {
    sources: VecDeque<Source>,
    reader: Option<Reader>,
    /// Of a pcap file's timestamps.
    resolution: u8,
    frames_before: u64,
    frames_in_file: u64,
    about: Option<String>,
    comments: VecDeque<(u64, String)>,
    written: u64,
}

impl Annotated {
    /// The captures with these `comments`: number of the frame, as [`crate::capture::Frame::number`] counted on over
    /// all `sources`, ascending. `about` is the comment on the whole, which stands in the first section.
    ///
    /// # Errors
    /// A source cannot be read.
    pub fn new(
        sources: Vec<Source>,
        about: String,
        comments: VecDeque<(u64, String)>,
    ) -> Result<Self, Stop> {
        Ok(Self {
            sources: in_order(sources)?,
            reader: None,
            resolution: 0,
            frames_before: 0,
            frames_in_file: 0,
            about: Some(about),
            comments,
            written: 0,
        })
    }

    /// Comments on frames that were written. A simple packet block, which has no time either, cannot have one.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Adds to `out` until it holds so many bytes; says whether there may be more.
    ///
    /// # Errors
    /// A source cannot be read.
    pub fn advance(&mut self, bytes: usize, out: &mut Vec<u8>) -> Result<bool, Stop> {
        while out.len() < bytes {
            if self.reader.is_none() && !self.open_next(out)? {
                return Ok(false);
            }
            let Some(reader) = &mut self.reader else {
                return Ok(false);
            };
            // A capture that broke was analysed up to there.
            let Ok(Some(piece)) = reader.next_piece() else {
                self.reader = None;
                self.frames_before += std::mem::take(&mut self.frames_in_file);
                continue;
            };
            let in_file = match &piece {
                Piece::Frame(frame) => Some(frame.number),
                Piece::Block(block) => block.frame,
            };
            let comment = in_file.and_then(|number| {
                self.frames_in_file = number;
                let number = self.frames_before + number;
                match self.comments.front() {
                    Some((on, _)) if *on == number => self.comments.pop_front(),
                    _ => None,
                }
            });
            let comment = comment.as_ref().map(|(_, comment)| comment.as_str());
            let commented = match piece {
                Piece::Frame(frame) => {
                    write_packet(&frame, self.resolution, comment, out);
                    comment.is_some()
                }
                Piece::Block(block) if block.is_section_header() => {
                    block.write(self.about.take().as_deref(), out);
                    false
                }
                Piece::Block(block) => block.write(comment, out),
            };
            self.written += u64::from(commented);
        }
        Ok(true)
    }

    /// Opens the next source, if there is one, and writes what a pcap file says of itself.
    fn open_next(&mut self, out: &mut Vec<u8>) -> Result<bool, Stop> {
        let Some(source) = self.sources.pop_front() else {
            return Ok(false);
        };
        let reader = source.open()?;
        if let Some(interface) = reader.pcap_interface() {
            self.resolution = interface.resolution;
            write_section(self.about.take().as_deref(), out);
            write_interface(interface, out);
        }
        self.reader = Some(reader);
        Ok(true)
    }
}
