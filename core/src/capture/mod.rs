//! # Capture
//! Bytes to frames: pcap and pcapng, plain or compressed, from a file or a pipe, in one pass.
//!
//! The framing is our own. The pcap-parser crate (0.17) has no notion of the modified pcap header, gives no time for
//! binary `if_tsresol`, decodes `if_tsoffset` in the wrong order for big-endian sections and cuts times to 32 bits;
//! and records must be handed on where they lie, at tens of millions a second.

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
use pcap::Pcap;
use pcapng::Pcapng;
use rows::Rows;
use source::Source;

pub use block::{Block, write_interface, write_packet, write_section};
pub use error::{CaptureError, Reason};
pub use frame::Frame;
pub use info::{CaptureInfo, Interface};
pub use ticks::Ticks;
pub use times::Times;

/// What a capture consists of, for whoever writes it again.
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
    /// The end has come, or a fault.
    done: bool,
}

enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
    Rows(Rows),
}

impl Reader {
    /// Tells compression and format by the first bytes of `input`; `name` is for messages.
    ///
    /// # Errors
    /// If the input is empty, no capture, of an unsupported version, or breaks off before the first packet could
    /// come.
    pub fn open(input: Box<dyn Read + Send>, name: &str) -> Result<Self, CaptureError> {
        Self::new(Source::open(input), name, Format::open)
    }

    /// The same of a file; if it is compressed, another thread decompresses it.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn open_file(file: File, name: &str) -> Result<Self, CaptureError> {
        let source = Source::open(Box::new(file)).and_then(Source::ahead);
        Self::new(source, name, Format::open)
    }

    /// Rows that [`crate::pieces`] wrote: no capture is read like this, whatever it begins with.
    ///
    /// # Errors
    /// As [`Reader::open`].
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

    /// The next frame; `Ok(None)` at the end.
    ///
    /// # Errors
    /// Once, where the capture is damaged or cut short. All frames before have been given; after it comes
    /// `Ok(None)`.
    #[inline(always)] // a frame stays in registers
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
            Ok(Some(record)) => {
                self.frames += 1;
                Ok(Some(Frame {
                    number: self.frames,
                    time_ns: record.time_ns,
                    link_type: record.link_type,
                    wire_len: record.wire_len,
                    data: self.window.taken(record.data),
                }))
            }
            Ok(None) => {
                self.done = true;
                Ok(None)
            }
            Err(reason) => Err(self.fault(reason)),
        }
    }

    /// The next packet of a pcap file, or block of a pcapng file; `Ok(None)` at the end. The frames of both count as
    /// those of [`Reader::next_frame`].
    ///
    /// # Errors
    /// As [`Reader::next_frame`].
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

    /// The end, and why.
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

    /// The interface of a pcap file; a pcapng file describes its own.
    #[must_use]
    pub fn pcap_interface(&self) -> Option<&Interface> {
        match self.format {
            Format::Pcap(_) => self.info.interfaces.first(),
            Format::Pcapng(_) | Format::Rows(_) => None,
        }
    }

    /// What the capture has said about itself up to here.
    #[must_use]
    pub fn info(&self) -> &CaptureInfo {
        &self.info
    }

    /// How often the bytes of a packed capture may be multiplied; see [`crate::budget::Budget::ratio`].
    pub fn limit_ratio(&mut self, most: usize) {
        self.window.input_mut().most_ratio = most;
    }

    /// Bytes taken from the input so far, compressed as they are.
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

    /// The first bytes, which stay.
    fn magic(window: &mut Window<Source>) -> Result<[u8; 4], Reason> {
        window.fill(4)?;
        window.bytes().first_chunk().copied().ok_or_else(|| {
            let mut magic = [0; 4];
            let bytes = window.bytes();
            magic[..bytes.len()].copy_from_slice(bytes);
            if bytes.is_empty() {
                Reason::Empty
            } else {
                Reason::NotACapture(magic)
            }
        })
    }
}
