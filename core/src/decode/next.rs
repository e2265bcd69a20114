//! # Next
//! Which headers there are.

use super::ip_header::Header;
use super::undecoded::Undecoded;

/// The header that the cursor stands at.
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
    /// With the reason if it quotes no TCP.
    Icmp(Undecoded),
}
