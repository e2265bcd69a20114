//! # Error
//! Why reading stopped, as data: in which file, at which frame and byte, and for what reason.

use std::error::Error;
use std::fmt;
use std::io;

/// The capture could not be opened, or broke off. All frames before the fault have been given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureError {
    /// Name of the file as the caller gave it.
    pub file: String,
    /// The frame that broke: one more than were given.
    pub frame: u64,
    /// Where the broken record begins, in bytes from the start of the (uncompressed) capture.
    pub offset: u64,
    /// What is wrong with it.
    pub reason: Reason,
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            Reason::Empty | Reason::NotACapture(_) => write!(f, "{}: {}", self.file, self.reason),
            _ => write!(
                f,
                "{}: frame {}, byte {}: {}",
                self.file, self.frame, self.offset, self.reason
            ),
        }
    }
}

impl Error for CaptureError {}

/// What is wrong with a record, a block or the whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// There is not one byte.
    Empty,
    /// The first bytes are no magic number that we know.
    NotACapture([u8; 4]),
    /// The input itself failed: a read error, or compressed data that is damaged or cut short.
    Unreadable(String),
    /// The input ends inside a record.
    CutShort {
        /// Bytes that the record needs, as far as is known.
        needed: usize,
        /// Bytes that are left.
        left: usize,
    },
    /// A version of the format that nobody knows.
    Version(u16, u16),
    /// More captured bytes than a packet can have.
    PacketTooLong {
        /// Bytes said to have been captured.
        bytes: u32,
        /// The most that is believed for this link type.
        most: u32,
    },
    /// pcapng: the section header's byte-order magic is neither order.
    ByteOrderMagic([u8; 4]),
    /// pcapng: a block too short for its kind, or too long for any.
    BlockLength {
        /// Block type.
        kind: u32,
        /// Length that the block states.
        length: u32,
    },
    /// pcapng: the lengths at the two ends of a block differ.
    BlockLengths(u32, u32),
    /// pcapng: a packet is longer than the block it is in.
    PacketBeyondBlock {
        /// Bytes said to have been captured.
        bytes: u32,
        /// Bytes that the block holds.
        room: usize,
    },
    /// pcapng: a packet of an interface that the section has not described.
    UnknownInterface(u32),
    /// pcapng: more interfaces are described than these.
    Interfaces(usize),
    /// pcapng: an option runs over the end of its block.
    Options,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Empty => write!(f, "the file is empty"),
            Reason::NotACapture(magic) => {
                match (other_format(*magic), magic) {
                    (Some(name), _) => write!(f, "{name} file, not pcap or pcapng")?,
                    (None, [a, b, c, d]) => write!(
                        f,
                        "not a packet capture: it begins with {a:02x} {b:02x} {c:02x} {d:02x}, \
                         which is neither pcap nor pcapng, plain or compressed with gzip, zstd or lz4"
                    )?,
                }
                write!(
                    f,
                    "; if Wireshark opens it, convert it: editcap -F pcapng FILE out.pcapng"
                )
            }
            Reason::Unreadable(error) => write!(f, "cannot be read further: {error}"),
            Reason::CutShort { needed, left } => {
                write!(
                    f,
                    "cut short: the record needs {needed} bytes, {left} are left"
                )
            }
            Reason::Version(major, minor) => {
                write!(f, "format version {major}.{minor} is not supported")
            }
            Reason::PacketTooLong { bytes, most } => {
                write!(
                    f,
                    "damaged: a packet of {bytes} captured bytes, where {most} is the most"
                )
            }
            Reason::ByteOrderMagic([a, b, c, d]) => {
                write!(
                    f,
                    "damaged: {a:02x} {b:02x} {c:02x} {d:02x} is no byte-order magic"
                )
            }
            Reason::BlockLength { kind, length } => {
                write!(
                    f,
                    "damaged: a block of type {kind:#x} cannot have a length of {length} bytes"
                )
            }
            Reason::BlockLengths(first, second) => {
                write!(
                    f,
                    "damaged: a block begins with length {first} and ends with length {second}"
                )
            }
            Reason::PacketBeyondBlock { bytes, room } => {
                write!(
                    f,
                    "damaged: a packet of {bytes} bytes in a block that has room for {room}"
                )
            }
            Reason::UnknownInterface(index) => {
                write!(
                    f,
                    "damaged: a packet of interface {index}, which the section has not described"
                )
            }
            Reason::Interfaces(most) => {
                write!(f, "damaged: more than {most} interfaces are described")
            }
            Reason::Options => write!(f, "damaged: an option runs over the end of its block"),
        }
    }
}

/// Capture formats of others by their first bytes, with an article. ERF has none of its own.
fn other_format(magic: [u8; 4]) -> Option<&'static str> {
    match &magic {
        b"snoo" => Some("a snoop"), // RFC 1761
        b"\x7fver" => Some("an EtherPeek or OmniPeek"),
        b"GMBU" | b"RTSS" => Some("a Network Monitor"),
        b"TRSN" => Some("a Sniffer"),
        b"XCP\0" => Some("a NetXray"),
        _ => None,
    }
}

impl From<io::Error> for Reason {
    fn from(error: io::Error) -> Self {
        Reason::Unreadable(match error.kind() {
            // What decoders say when the input ends inside a compressed block.
            io::ErrorKind::UnexpectedEof => "the compressed data is cut short".to_owned(),
            _ => error.to_string(),
        })
    }
}
