//! # Headers
//! Where in a frame each header stands, for those who rewrite frames.

use super::cursor::Cursor;
use super::datagram::Datagram;
use super::next::Next;
use super::segment::Path;
use super::undecoded::Undecoded;
use super::walk::{Packet, walk};
use crate::budget::Budget;
use std::ops::Range;

/// A header, as far as it matters to what can be rewritten in it.
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
    /// An extension header of IPv6, by its protocol number; the authentication header stands after IPv4 as well.
    Extension(u8),
    /// GRE.
    Gre,
    /// UDP together with the header of the tunnel in it.
    Udp,
    /// TCP with what was kept of its options.
    Tcp,
    /// One that names nobody and has no checksum.
    Other,
}

/// A header and its place, in bytes of the frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Which header it is.
    pub kind: Kind,
    /// Where it stands.
    pub range: Range<usize>,
}

/// The headers around a TCP segment, outermost first, without gaps; TCP is the last.
///
/// # Errors
/// As [`super::decode`], and [`Undecoded::Udp`] for a datagram.
pub fn headers(link_type: u32, data: &[u8], wire_len: u32) -> Result<Vec<Header>, Undecoded> {
    let mut headers: Vec<Header> = Vec::new();
    let packet = walked(link_type, data, wire_len, |next, at| {
        let start = offset(data, at.data());
        if let Some(before) = headers.last_mut() {
            before.range.end = start;
        }
        let rest = at.data();
        let end = match next {
            // Its length stands in the fourth bit group from the 12th byte on, in words.
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
        Packet::Quoted(other, _) => Err(other),
    }
}

/// How many bytes of a frame [`super::decode`] looked at to find this packet: up to the end of the innermost TCP header,
/// also of one that is quoted, or of the head of the datagram.
#[must_use]
pub fn extent(packet: &Packet<'_>, link_type: u32, data: &[u8], wire_len: u32) -> usize {
    const UDP_BYTES: usize = 8;
    let end = match packet {
        Packet::Tcp(tcp) | Packet::Quoted(_, tcp) => {
            offset(data, tcp.options()) + tcp.options().len()
        }
        Packet::Datagram(_) => {
            let mut last = 0;
            let visit = |_: &Next<'_>, at: &Cursor<'_>| last = offset(data, at.data());
            let _ = walked(link_type, data, wire_len, visit);
            last + UDP_BYTES + Datagram::HEAD_BYTES
        }
    };
    end.min(data.len())
}

/// All headers of a frame, as many as are usual at most.
fn walked<'a>(
    link_type: u32,
    data: &'a [u8],
    wire_len: u32,
    visit: impl FnMut(&Next<'a>, &Cursor<'a>),
) -> Result<Packet<'a>, Undecoded> {
    let (headers, mut path) = (Budget::DEFAULT.headers, Path::default());
    walk(link_type, data, wire_len, headers, &mut path, visit)
}

/// Lengths do not tell, since a header may have taken off what follows its payload.
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
