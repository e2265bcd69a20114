//! # Capture
//! Reads frames from pcap and pcapng captures, plain or compressed, from a file or a pipe, in one pass.
//!
//! The pcap-parser crate (0.17) is not used, for these reasons:
//!
//! - It does not support the modified pcap header.
//! - It returns no time for binary `if_tsresol`, and truncates times to 32 bits.
//! - It decodes `if_tsoffset` in the wrong byte order in big-endian sections.
//! - Records must be read without copying, to read tens of millions a second.

mod ahead;
mod block;
mod buffer;
mod bytes;
mod clock;
mod error;
mod frame;
mod info;
mod options;
mod pcap;
mod pcapng;
mod recordings;
pub mod rows;
mod source;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod ticks;
mod times;

use std::fs::File;
use std::io::{self, Read};

use buffer::Window;
use frame::Record;
use pcap::Pcap;
use pcapng::Pcapng;
use rows::Rows;
use source::Source;

pub use block::{Block, write_interface, write_packet, write_section};
pub use error::{CaptureError, Reason};
pub use frame::Frame;
pub use info::{CaptureInfo, Interface};
pub use recordings::{Recording, recording_at, recordings};
pub use ticks::Ticks;
pub use times::Times;

/// One element of a capture, from which the capture can be written again.
pub enum Piece<'a> {
    /// A packet of a pcap file.
    Frame(Frame<'a>),
    /// A block of a pcapng file.
    Block(Block<'a>),
}

/// Reads the frames of one capture, once and in order.
pub struct Reader {
    window: Window<Source>,
    format: Format,
    info: CaptureInfo,
    name: String,
    frames: u64,
    /// Whether the end or a damage has been reached.
    done: bool,
}

enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
    Rows(Rows),
}

impl Reader {
    /// Opens a capture. Compression and format are detected from the first bytes of `input`; `name` is used in
    /// messages.
    ///
    /// # Errors
    /// If the input is empty, no capture, of an unsupported version, or ends within its header.
    pub fn open(input: Box<dyn Read + Send>, name: &str) -> Result<Self, CaptureError> {
        Self::new(Source::open(input), name, Format::open)
    }

    /// Opens a capture file. A compressed file is decompressed by another thread.
    ///
    /// # Errors
    /// The errors of [`Reader::open`].
    pub fn open_file(file: File, name: &str) -> Result<Self, CaptureError> {
        let source = Source::open(Box::new(file)).and_then(Source::with_read_ahead);
        Self::new(source, name, Format::open)
    }

    /// Opens input in the row format that [`crate::pieces`] writes. [`Reader::open`] never detects this format.
    ///
    /// # Errors
    /// The errors of [`Reader::open`].
    pub fn open_rows(input: Box<dyn Read + Send>, name: &str) -> Result<Self, CaptureError> {
        Self::new(Source::open(input), name, Format::rows)
    }

    fn new(
        source: io::Result<Source>,
        name: &str,
        open: impl FnOnce(&mut Window<Source>, &mut CaptureInfo) -> Result<Format, Reason>,
    ) -> Result<Self, CaptureError> {
        let fault = |offset, reason| CaptureError {
            file: name.to_owned(),
            frame: 1,
            offset,
            reason,
        };
        let source = source.map_err(|error| fault(0, error.into()))?;
        let mut info = CaptureInfo {
            compression: source.compression,
            ..CaptureInfo::default()
        };
        let mut window = Window::new(source);
        let format =
            open(&mut window, &mut info).map_err(|reason| fault(window.offset(), reason))?;
        Ok(Reader {
            window,
            format,
            info,
            name: name.to_owned(),
            frames: 0,
            done: false,
        })
    }

    /// Returns the next frame if the capture is a pcap file and all of the frame is in memory. Else
    /// [`Reader::next_frame`] returns it.
    #[inline(always)] // keeps the frame in registers
    pub fn buffered_frame(&mut self) -> Option<Frame<'_>> {
        let Format::Pcap(pcap) = &self.format else {
            return None;
        };
        let record = if self.done {
            None
        } else {
            pcap.buffered(&mut self.window)
        };
        record.map(|record| self.frame(record))
    }

    /// Returns the next frame; `Ok(None)` at the end.
    ///
    /// # Errors
    /// Once, where the capture is damaged or cut short, after all frames before the damage have been returned. Further
    /// calls return `Ok(None)`.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        if self.done {
            return Ok(None);
        }
        let record = match &mut self.format {
            Format::Pcap(pcap) => pcap.next(&mut self.window),
            Format::Pcapng(pcapng) => pcapng.next(&mut self.window, &mut self.info),
            Format::Rows(rows) => rows.next(&mut self.window).map(|next| {
                next.map(|(number, record)| {
                    self.frames = number.saturating_sub(1);
                    record
                })
            }),
        };
        match record {
            Ok(Some(record)) => Ok(Some(self.frame(record))),
            Ok(None) => {
                self.done = true;
                Ok(None)
            }
            Err(reason) => Err(self.fault(reason)),
        }
    }

    /// Returns a record as the next frame.
    #[inline(always)]
    fn frame(&mut self, record: Record) -> Frame<'_> {
        self.frames += 1;
        Frame {
            number: self.frames,
            time_ns: record.time_ns,
            link_type: record.link_type,
            wire_len: record.wire_len,
            data: self.window.taken(record.data),
        }
    }

    /// Returns the next packet of a pcap file, or the next block of a pcapng file; `Ok(None)` at the end. Frames are
    /// numbered as by [`Reader::next_frame`].
    ///
    /// # Errors
    /// The errors of [`Reader::next_frame`].
    pub fn next_piece(&mut self) -> Result<Option<Piece<'_>>, CaptureError> {
        let Format::Pcapng(pcapng) = &mut self.format else {
            return Ok(self.next_frame()?.map(Piece::Frame));
        };
        if self.done {
            return Ok(None);
        }
        let taken = pcapng.next_block(&mut self.window, &mut self.info);
        let order = pcapng.order();
        let Some(taken) = taken.map_err(|reason| self.fault(reason))? else {
            self.done = true;
            return Ok(None);
        };
        self.frames += u64::from(taken.is_packet);
        Ok(Some(Piece::Block(Block {
            frame: taken.is_packet.then_some(self.frames),
            options_at: taken.options_at,
            bytes: self.window.taken(taken.place),
            order,
        })))
    }

    /// Ends reading; returns the error for the damaged record.
    #[cold]
    fn fault(&mut self, reason: Reason) -> CaptureError {
        self.done = true;
        CaptureError {
            file: self.name.clone(),
            frame: self.frames + 1,
            offset: self.window.offset(),
            reason,
        }
    }

    /// Returns the interface of a pcap file; `None` for pcapng, whose blocks describe interfaces.
    #[must_use]
    pub fn pcap_interface(&self) -> Option<&Interface> {
        match self.format {
            Format::Pcap(_) => self.info.interfaces.first(),
            Format::Pcapng(_) | Format::Rows(_) => None,
        }
    }

    /// Returns the description of the capture, as far as it has been read.
    #[must_use]
    pub fn info(&self) -> &CaptureInfo {
        &self.info
    }

    /// Sets the maximum ratio of uncompressed to compressed bytes; see [`crate::budget::Budget::ratio`].
    pub fn limit_ratio(&mut self, max_ratio: usize) {
        self.window.input_mut().max_ratio = max_ratio;
    }

    /// Returns the number of bytes read from the input so far; compressed input counts its compressed bytes.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.window.input().raw_bytes()
    }
}

impl Format {
    fn open(window: &mut Window<Source>, info: &mut CaptureInfo) -> Result<Self, Reason> {
        let magic = Self::magic(window)?;
        if let Some(pcap) = Pcap::open(magic, window, info)? {
            return Ok(Format::Pcap(pcap));
        }
        if let Some(pcapng) = Pcapng::open(magic, window, info)? {
            return Ok(Format::Pcapng(pcapng));
        }
        Err(Reason::NotACapture(magic))
    }

    fn rows(window: &mut Window<Source>, _: &mut CaptureInfo) -> Result<Self, Reason> {
        let magic = Self::magic(window)?;
        if magic != rows::MAGIC {
            return Err(Reason::NotACapture(magic));
        }
        window.take(magic.len());
        Ok(Format::Rows(Rows::default()))
    }

    /// Returns the first four bytes without consuming them.
    fn magic(window: &mut Window<Source>) -> Result<[u8; 4], Reason> {
        window.fill(4)?;
        let bytes = window.bytes();
        bytes.first_chunk().copied().ok_or(match bytes.len() {
            0 => Reason::Empty,
            short => Reason::TooShort(short),
        })
    }
}
