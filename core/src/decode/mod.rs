//! # Decode
//! A frame to a TCP segment or a UDP datagram: link layer, tags and tunnels, IP, TCP or UDP.
//!
//! Every header is one function that takes its bytes off a `Cursor` and says what comes next; [`decode()`] is the
//! loop that calls them. The innermost TCP or UDP header ends it. Nothing recurses, allocates or panics.

mod access;
mod cursor;
mod datagram;
mod ethernet;
mod headers;
mod icmp;
mod ip;
mod ip_header;
mod ipv4;
mod ipv6;
mod lan;
mod link;
mod mpls;
mod next;
mod options;
mod plain;
mod ppp;
mod segment;
mod tcp;
#[cfg(test)]
pub(crate) mod tests;
mod tunnel;
mod undecoded;
mod walk;
mod wifi;

pub use datagram::Datagram;
pub use headers::{Header, Kind, extent, headers};
pub use link::{LINK_TYPES, link_type_name};
pub use segment::{Endpoint, Flags, Layer, Options, Path, Segment};
pub use tcp::Tcp;
pub use undecoded::Undecoded;
pub use walk::Packet;

use walk::walk;

/// Decodes a frame as far as its innermost TCP or UDP header.
///
/// `link_type` is a LINKTYPE_ value, `data` what the capture kept of the frame, `wire_len` its length in bytes on the
/// wire. No more than `most` headers are walked; those around the innermost IP packet are added to `path`.
///
/// # Errors
/// The reason why neither was found, for counting.
pub fn decode<'a>(
    link_type: u32,
    data: &'a [u8],
    wire_len: u32,
    most: usize,
    path: &mut Path,
) -> Result<Packet<'a>, Undecoded> {
    match plain::frame(link_type, data, wire_len) {
        Some(tcp) => Ok(Packet::Tcp(tcp)),
        None => walk(link_type, data, wire_len, most, path, |_, _| ()),
    }
}
