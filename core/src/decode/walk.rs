//! # Walk
//! The loop over the headers of a frame.

use super::cursor::Cursor;
use super::datagram::Datagram;
use super::icmp::Quoted;
use super::next::Next;
use super::segment::Path;
use super::tcp::Tcp;
use super::undecoded::Undecoded;
use super::{datagram, ethernet, icmp, ip, ipv4, ipv6, lan, link, mpls, ppp, tcp, tunnel, wifi};

/// Decoded contents of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packet<'a> {
    /// A TCP segment, whose fields are read on demand.
    Tcp(Tcp<'a>),
    /// A UDP datagram that carries no tunnel.
    Datagram(Datagram),
    /// An ICMP error message that quotes a TCP header.
    Quoted(Quoted<'a>),
}

/// Decodes the headers of a frame in turn, up to `max_headers`. `visit` is called for each, with the cursor at its
/// first byte.
#[inline(never)] // inlined, it would slow down the fast path of `plain`
pub(super) fn walk<'a>(
    link_type: u32,
    data: &'a [u8],
    wire_len: u32,
    max_headers: usize,
    path: &mut Path,
    mut visit: impl FnMut(&Next<'a>, &Cursor<'a>),
) -> Result<Packet<'a>, Undecoded> {
    let mut at = Cursor::new(data, wire_len);
    let mut next = link::first_header(link_type).ok_or(Undecoded::LinkType)?;
    for _ in 0..max_headers {
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
            Next::PppWithDirection => ppp::after_direction(&mut at)?,
            Next::CiscoHdlc => ppp::cisco_hdlc(&mut at)?,
            Next::PppOrCiscoHdlc => ppp::ppp_or_cisco_hdlc(&at),
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
            Next::Icmp(outer, other) => {
                return icmp::quoted(&mut at, outer, other).map(Packet::Quoted);
            }
        };
    }
    Err(Undecoded::Depth)
}
