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
mod ipv4;
mod ipv6;
mod lan;
mod link;
mod mpls;
mod options;
mod plain;
mod ppp;
mod segment;
mod tcp;
#[cfg(test)]
pub(crate) mod tests;
mod tunnel;
mod undecoded;
mod wifi;

pub use datagram::Datagram;
pub use headers::{Header, Kind, extent, headers};
pub use link::{LINK_TYPES, link_type_name};
pub use segment::{Endpoint, Flags, Layer, Options, Path, Segment};
pub use tcp::Tcp;
pub use undecoded::Undecoded;

use cursor::Cursor;

/// The header that the cursor stands at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next<'a> {
    Null,
    Cooked,
    Cooked2,
    Ethernet,
    Llc,
    VlanTag,
    ServiceTag,
    Mpls,
    ControlWord,
    Pppoe,
    Ppp,
    CiscoHdlc,
    PppOrCiscoHdlc,
    Radiotap,
    Prism,
    Wifi {
        padded: bool,
        swapped: bool,
    },
    Fddi,
    Arcnet,
    ArcnetLinux,
    Ipoib,
    Nflog,
    Erf,
    Ip,
    Ipv4,
    Ipv6,
    Extension(ip::Header<'a>, u8),
    Gre(ip::Header<'a>),
    Erspan2,
    Erspan3,
    Udp(ip::Header<'a>),
    Datagram(ip::Header<'a>),
    Tcp(ip::Header<'a>),
    /// With the reason if it quotes no TCP.
    Icmp(Undecoded),
}

/// What a frame carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packet<'a> {
    /// A TCP segment, for the caller to read.
    Tcp(Tcp<'a>),
    /// A UDP datagram that is no tunnel's.
    Datagram(Datagram),
    /// An ICMP error message, by the reason why it carries neither, and the TCP header that it quotes.
    Quoted(Undecoded, Tcp<'a>),
}

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

/// Walks the headers; `visit` sees each one and the cursor at its first byte.
#[inline(never)] // beside the short way
fn walk<'a>(
    link_type: u32,
    data: &'a [u8],
    wire_len: u32,
    most: usize,
    path: &mut Path,
    mut visit: impl FnMut(&Next<'a>, &Cursor<'a>),
) -> Result<Packet<'a>, Undecoded> {
    let mut at = Cursor::new(data, wire_len);
    let mut next = link::first_header(link_type).ok_or(Undecoded::LinkType)?;
    for _ in 0..most {
        visit(&next, &at);
        next = match next {
            Next::Null => link::null(&mut at)?,
            Next::Cooked => link::cooked(&mut at)?,
            Next::Cooked2 => link::cooked2(&mut at)?,
            Next::Ethernet => ethernet::header(&mut at)?,
            Next::Llc => ethernet::llc(&mut at)?,
            Next::VlanTag => ethernet::vlan_tag(&mut at, path)?,
            Next::ServiceTag => ethernet::service_tag(&mut at, path)?,
            Next::Mpls => mpls::label(&mut at, path)?,
            Next::ControlWord => mpls::control_word(&mut at)?,
            Next::Pppoe => ppp::pppoe(&mut at, path)?,
            Next::Ppp => ppp::header(&mut at)?,
            Next::CiscoHdlc => ppp::cisco_hdlc(&mut at)?,
            Next::PppOrCiscoHdlc => ppp::either(&at),
            Next::Radiotap => wifi::radiotap(&mut at)?,
            Next::Prism => wifi::prism(&mut at)?,
            Next::Wifi { padded, swapped } => wifi::header(&mut at, padded, swapped)?,
            Next::Fddi => lan::fddi(&mut at)?,
            Next::Arcnet => lan::arcnet(&mut at)?,
            Next::ArcnetLinux => lan::arcnet_linux(&mut at)?,
            Next::Ipoib => lan::ipoib(&mut at)?,
            Next::Nflog => link::nflog(&mut at)?,
            Next::Erf => link::erf(&mut at)?,
            Next::Ip => ip::version(&at)?,
            Next::Ipv4 => ipv4::header(&mut at, path)?,
            Next::Ipv6 => ipv6::header(&mut at, path)?,
            Next::Extension(outer, kind) => ipv6::extension(&mut at, path, outer, kind)?,
            Next::Gre(outer) => tunnel::gre(&mut at, path, outer)?,
            Next::Erspan2 => tunnel::erspan2(&mut at)?,
            Next::Erspan3 => tunnel::erspan3(&mut at)?,
            Next::Udp(outer) => tunnel::udp(&mut at, path, outer)?,
            Next::Datagram(header) => {
                return datagram::datagram(&mut at, header).map(Packet::Datagram);
            }
            Next::Tcp(header) => return tcp::header(&mut at, header).map(Packet::Tcp),
            Next::Icmp(other) => {
                return icmp::quoted(&mut at, other).map(|tcp| Packet::Quoted(other, tcp));
            }
        };
    }
    Err(Undecoded::Depth)
}
