//! # Annotate
//! Writes captures again as one pcapng file, with comments on selected frames and on the whole capture.

use crate::capture::{Piece, Reader, write_interface, write_packet, write_section};
use crate::source::{Source, Stop, in_order};
use std::collections::VecDeque;

/// A pcapng file in the making, from one or more captures.
pub struct Annotated {
    sources: VecDeque<Source>,
    reader: Option<Reader>,
    /// Unit of a pcap file's timestamps, as in [`crate::capture::Interface::resolution`].
    resolution: u8,
    frames_before: u64,
    frames_in_file: u64,
    about: Option<String>,
    comments: VecDeque<(u64, String)>,
    written: u64,
}

impl Annotated {
    /// Sorts and prepares `sources`. Each of `comments` has the number of its frame, ascending; frames are numbered
    /// from 1 over all sources. `about` is the comment on the whole capture and goes to the first section.
    ///
    /// # Errors
    /// If a source cannot be read.
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

    /// Returns the number of frame comments written so far. A pcapng simple packet block cannot have a comment.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Appends to `out` until it has at least `bytes` bytes; returns whether more may follow.
    ///
    /// # Errors
    /// If a source cannot be read.
    pub fn advance(&mut self, bytes: usize, out: &mut Vec<u8>) -> Result<bool, Stop> {
        while out.len() < bytes {
            if self.reader.is_none() && !self.open_next(out)? {
                return Ok(false);
            }
            let Some(reader) = &mut self.reader else {
                return Ok(false);
            };
            // A damaged capture is copied up to the damage.
            let Ok(Some(piece)) = reader.next_piece() else {
                self.reader = None;
                self.frames_before += std::mem::take(&mut self.frames_in_file);
                continue;
            };
            let number_in_file = match &piece {
                Piece::Frame(frame) => Some(frame.number),
                Piece::Block(block) => block.frame,
            };
            let comment = number_in_file.and_then(|number| {
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

    /// Opens the next source, and writes a section and an interface block for a pcap file. Returns false if no source
    /// is left.
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
