//! # Error
//! Errors of reading a capture, with file, frame, byte and reason.

use std::error::Error;
use std::fmt;
use std::io;

/// The capture cannot be opened, or is damaged. All frames before the damage have been returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureError {
    /// Name of the file as the caller gave it.
    pub file: String,
    /// Number of the damaged frame: one more than the number of frames returned.
    pub frame: u64,
    /// Where the damaged record begins, in bytes from the start of the (uncompressed) capture.
    pub offset: u64,
    /// The kind of damage.
    pub reason: Reason,
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            Reason::Empty | Reason::TooShort(_) | Reason::NotACapture(_) => {
                write!(f, "{}: {}", self.file, self.reason)
            }
            _ => write!(
                f,
                "{}: frame {}, byte {}: {}",
                self.file, self.frame, self.offset, self.reason
            ),
        }
    }
}

impl Error for CaptureError {}

/// Kinds of damage of a record, a block or the whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// The input has no bytes.
    Empty,
    /// The input has so many bytes, fewer than a magic number.
    TooShort(usize),
    /// The first bytes are no magic number of a supported format.
    NotACapture([u8; 4]),
    /// The input itself failed: a read error, or compressed data that is damaged or cut short.
    Unreadable(String),
    /// The input ends inside a record.
    CutShort {
        /// Bytes that the record needs, as far as its length is known.
        needed: usize,
        /// Bytes that are left.
        left: usize,
    },
    /// The version of the format (major, minor) is not supported.
    Version(u16, u16),
    /// A record states more captured bytes than a packet can have.
    PacketTooLong {
        /// Number of captured bytes that the record states.
        bytes: u32,
        /// Maximum number of captured bytes for this link type.
        max: u32,
    },
    /// pcapng: the section header's byte-order magic stands for neither byte order.
    ByteOrderMagic([u8; 4]),
    /// pcapng: a block is too short for its type, or too long for any type.
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
        /// Number of captured bytes that the record states.
        bytes: u32,
        /// Number of bytes that the block has room for.
        room: usize,
    },
    /// pcapng: a packet's interface, given by its index, is not described in the section.
    UnknownInterface(u32),
    /// pcapng: more than this number of interfaces are described.
    Interfaces(usize),
    /// pcapng: an option runs over the end of its block.
    Options,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Empty => write!(f, "the file is empty"),
            Reason::TooShort(bytes) => write!(
                f,
                "not a packet capture: it has {bytes} of the four bytes that every format begins with"
            ),
            Reason::NotACapture(magic) if other_format(*magic).is_none() && is_text(*magic) => {
                write!(
                    f,
                    "not a packet capture: it begins with the text \"{}\"; if tcpdump printed it, capture with \
                 tcpdump -w FILE",
                    magic.escape_ascii()
                )
            }
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
            Reason::PacketTooLong { bytes, max } => {
                write!(
                    f,
                    "damaged: a packet of {bytes} captured bytes, where {max} is the most"
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
            Reason::Interfaces(max) => {
                write!(f, "damaged: more than {max} interfaces are described")
            }
            Reason::Options => write!(f, "damaged: an option runs over the end of its block"),
        }
    }
}

/// Do these bytes begin a text?
fn is_text(magic: [u8; 4]) -> bool {
    (magic.iter()).all(|byte| byte.is_ascii_graphic() || b" \t\r\n".contains(byte))
}

/// Returns the name, with its article, of an unsupported capture format that begins with these bytes. ERF is missing
/// here, since it has no magic number.
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
            // Decompressors return this error when the input ends inside a compressed block.
            io::ErrorKind::UnexpectedEof => "the compressed data is cut short".to_owned(),
            _ => error.to_string(),
        })
    }
}
