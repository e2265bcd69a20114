//! # Next
//! The kinds of headers.

use super::ip_header::Header;
use super::undecoded::Undecoded;

/// Kind of the header at the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next<'a> {
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
    PppWithDirection,
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
    Extension(Header<'a>, u8),
    Gre(Header<'a>),
    Erspan2,
    Erspan3,
    Udp(Header<'a>),
    Datagram(Header<'a>),
    Tcp(Header<'a>),
    /// ICMP of either version, with the reason to report if it quotes no TCP header.
    Icmp(Header<'a>, Undecoded),
}
