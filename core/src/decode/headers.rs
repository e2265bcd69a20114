//! # Headers
//! The place of each header in a frame, needed to rewrite frames.

use super::cursor::Cursor;
use super::datagram::Datagram;
use super::icmp::Quoted;
use super::next::Next;
use super::segment::Path;
use super::undecoded::Undecoded;
use super::walk::{Packet, walk};
use crate::budget::Budget;
use std::ops::Range;

/// Kinds of headers that are rewritten in different ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Ethernet II or IEEE 802.3.
    Ethernet,
    /// LINKTYPE_LINUX_SLL.
    Cooked,
    /// LINKTYPE_LINUX_SLL2.
    Cooked2,
    /// Prism or AVS monitor header.
    Prism,
    /// IEEE 802.11.
    Wifi {
        /// Whether the two bytes of frame control are swapped.
        swapped: bool,
    },
    /// FDDI.
    Fddi,
    /// LINKTYPE_IPOIB.
    Ipoib,
    /// LINKTYPE_NFLOG.
    Nflog,
    /// LINKTYPE_ERF.
    Erf,
    /// IPv4 with its options.
    Ipv4,
    /// IPv6 without extension headers.
    Ipv6,
    /// An extension header of IPv6, with its protocol number. The authentication header may also follow IPv4.
    Extension(u8),
    /// GRE.
    Gre,
    /// UDP, together with the header of a tunnel in it.
    Udp,
    /// TCP with the captured part of its options.
    Tcp,
    /// A header without addresses and without a checksum.
    Other,
}

/// A header and its place, in bytes of the frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Kind of the header.
    pub kind: Kind,
    /// Place of the header.
    pub range: Range<usize>,
}

/// Returns the headers of a frame with a TCP segment, outermost first and without gaps; the TCP header is the last.
///
/// # Errors
/// The errors of [`super::decode`]; [`Undecoded::Udp`] for a UDP datagram.
pub fn headers(link_type: u32, data: &[u8], wire_len: u32) -> Result<Vec<Header>, Undecoded> {
    let mut headers: Vec<Header> = Vec::new();
    let packet = walk_headers(link_type, data, wire_len, |next, at| {
        let start = offset(data, at.data());
        if let Some(before) = headers.last_mut() {
            before.range.end = start;
        }
        let rest = at.data();
        let end = match next {
            // The upper four bits of byte 12 are the length of the header in words of 4 bytes.
            Next::Tcp(_) => rest.get(12).map_or(0, |byte| usize::from(byte >> 4) * 4),
            _ => 0,
        };
        headers.push(Header {
            kind: kind(next),
            range: start..start + end.min(rest.len()),
        });
    })?;
    match packet {
        Packet::Tcp(_) => Ok(headers),
        Packet::Datagram(_) => Err(Undecoded::Udp),
        Packet::Quoted(quoted) => Err(quoted.counted),
    }
}

/// Returns the number of bytes of a frame that [`super::decode`] needs to find this packet. They end with the innermost
/// TCP header, which may be a quoted one, or with the first payload bytes of a datagram.
#[must_use]
pub fn extent(packet: &Packet<'_>, link_type: u32, data: &[u8], wire_len: u32) -> usize {
    const UDP_BYTES: usize = 8;
    let end = match packet {
        Packet::Tcp(tcp) | Packet::Quoted(Quoted { tcp, .. }) => {
            offset(data, tcp.options()) + tcp.options().len()
        }
        Packet::Datagram(_) => {
            let mut last = 0;
            let visit = |_: &Next<'_>, at: &Cursor<'_>| last = offset(data, at.data());
            let _ = walk_headers(link_type, data, wire_len, visit);
            last + UDP_BYTES + Datagram::HEAD_BYTES
        }
    };
    end.min(data.len())
}

/// Calls `visit` for each header of a frame, up to the default maximum number.
fn walk_headers<'a>(
    link_type: u32,
    data: &'a [u8],
    wire_len: u32,
    visit: impl FnMut(&Next<'a>, &Cursor<'a>),
) -> Result<Packet<'a>, Undecoded> {
    let (headers, mut path) = (Budget::DEFAULT.headers, Path::default());
    walk(link_type, data, wire_len, headers, &mut path, visit)
}

/// Returns the offset of `rest` in `data`, from their addresses. The length of `rest` does not give it, since a header
/// may have removed padding from its end.
fn offset(data: &[u8], rest: &[u8]) -> usize {
    rest.as_ptr().addr() - data.as_ptr().addr()
}

const fn kind(next: &Next<'_>) -> Kind {
    match next {
        Next::Ethernet => Kind::Ethernet,
        Next::Cooked => Kind::Cooked,
        Next::Cooked2 => Kind::Cooked2,
        Next::Prism => Kind::Prism,
        Next::Wifi { swapped, .. } => Kind::Wifi { swapped: *swapped },
        Next::Fddi => Kind::Fddi,
        Next::Ipoib => Kind::Ipoib,
        Next::Nflog => Kind::Nflog,
        Next::Erf => Kind::Erf,
        Next::Ipv4 => Kind::Ipv4,
        Next::Ipv6 => Kind::Ipv6,
        Next::Extension(_, number) => Kind::Extension(*number),
        Next::Gre(_) => Kind::Gre,
        Next::Udp(_) => Kind::Udp,
        Next::Tcp(_) => Kind::Tcp,
        _ => Kind::Other,
    }
}
