//! # Decode
//! Decodes a frame to a TCP segment or a UDP datagram, through link layer, tags, tunnels and IP.
//!
//! Each kind of header has a function that takes its bytes from a `Cursor` and returns the kind of the next header.
//! [`decode()`] calls these functions in a loop that ends at the innermost TCP or UDP header. Nothing recurses,
//! allocates or panics.

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
mod marks;
mod mpls;
mod next;
mod option_list;
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
mod wifi_retry;

pub use datagram::Datagram;
pub use headers::{Header, Kind, extent, headers};
pub use icmp::{Quoted, Refusal};
pub use ip_header::INITIAL_TTLS;
pub use link::{ETHERNET, LINK_TYPES, link_type_name};
pub use marks::Marks;
pub use segment::{Endpoint, Flags, Layer, Options, Path, Segment};
pub use tcp::Tcp;
pub use undecoded::Undecoded;
pub use walk::Packet;

use walk::walk;

/// Returns whether a frame is a retry of IEEE 802.11: its station sent it before, but got no acknowledgment from the
/// link. `None` for frames of other links. Arguments are those of [`decode()`].
#[inline]
#[must_use]
pub fn is_wifi_retry(link_type: u32, data: &[u8], wire_len: u32) -> Option<bool> {
    if link::is_wifi(link_type) {
        wifi_retry::is_retry(link_type, data, wire_len)
    } else {
        None
    }
}

/// Returns whether the capturing host sent a frame, by the packet type of Linux's cooked captures. `None` for frames of
/// other links. Arguments are those of [`decode()`].
#[inline]
#[must_use]
pub fn was_sent(link_type: u32, data: &[u8]) -> Option<bool> {
    link::was_sent(link_type, data)
}

/// Decodes a frame as far as its innermost TCP or UDP header.
///
/// `link_type` is a LINKTYPE_ value, `data` the captured bytes of the frame, `wire_len` its length in bytes on the wire.
/// At most `max_headers` headers are decoded; those around the innermost IP packet are added to `path`.
///
/// # Errors
/// The reason why the frame is neither a TCP segment nor a UDP datagram.
pub fn decode<'a>(
    link_type: u32,
    data: &'a [u8],
    wire_len: u32,
    max_headers: usize,
    path: &mut Path,
) -> Result<Packet<'a>, Undecoded> {
    match plain::frame(link_type, data, wire_len) {
        Some(tcp) => Ok(Packet::Tcp(tcp)),
        None => walk(link_type, data, wire_len, max_headers, path, |_, _| ()),
    }
}
