//! # ICMP
//! ICMP error messages (RFC 792, RFC 4443), which quote the packet that caused the error.

use std::net::IpAddr;

use super::cursor::{Cursor, u16_at, u32_at};
use super::ip_header::Header;
use super::next::Next;
use super::segment::Path;
use super::tcp::{self, Tcp};
use super::undecoded::Undecoded;
use super::{ipv4, ipv6};

/// Why a packet was not delivered, as an ICMP error message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// Another reason.
    Other,
    /// The packet is larger than the next link carries (RFC 1191, RFC 8201).
    TooBig,
    /// No route leads to the destination.
    NoRoute,
    /// The destination host does not answer on its link.
    HostUnreachable,
    /// No program listens on the port, or a firewall says so.
    PortUnreachable,
    /// A firewall or a policy forbids it.
    Prohibited,
    /// The time to live ran out, as in a routing loop.
    Expired,
}

impl Refusal {
    /// Names of the refusals, in their order.
    pub const NAMES: [&'static str; 7] = [
        "other",
        "too big",
        "no route",
        "host unreachable",
        "port unreachable",
        "prohibited",
        "expired",
    ];
}

/// An ICMP error message that quotes a TCP header; its fields are read on demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quoted<'a> {
    /// The reason under which the frame is counted.
    pub counted: Undecoded,
    /// The TCP header that it quotes.
    pub tcp: Tcp<'a>,
    outer: Header<'a>,
    message: &'a [u8; 8],
}

impl Quoted<'_> {
    /// Returns the address that sent the message.
    #[must_use]
    pub fn reporter(&self) -> IpAddr {
        self.outer.addresses()[0]
    }

    /// Returns why the quoted packet was not delivered.
    #[must_use]
    pub fn refusal(&self) -> Refusal {
        match (self.counted, self.message[0], self.message[1]) {
            (Undecoded::Icmp, 3, 4) | (Undecoded::Icmpv6, 2, _) => Refusal::TooBig,
            // Network unreachable or unknown, for this type of service; no route.
            (Undecoded::Icmp, 3, 0 | 6 | 11) | (Undecoded::Icmpv6, 1, 0) => Refusal::NoRoute,
            // Host unreachable or unknown, for this type of service; address unreachable.
            (Undecoded::Icmp, 3, 1 | 7 | 12) | (Undecoded::Icmpv6, 1, 3) => {
                Refusal::HostUnreachable
            }
            (Undecoded::Icmp, 3, 3) | (Undecoded::Icmpv6, 1, 4) => Refusal::PortUnreachable,
            // Network, host or communication prohibited; failed policy, rejected route.
            (Undecoded::Icmp, 3, 9 | 10 | 13) | (Undecoded::Icmpv6, 1, 1 | 5 | 6) => {
                Refusal::Prohibited
            }
            (Undecoded::Icmp, 11, 0) | (Undecoded::Icmpv6, 3, 0) => Refusal::Expired,
            _ => Refusal::Other,
        }
    }

    /// Returns the largest packet that the next link carries, in bytes; 0 where the packet was not too big, and from a
    /// router older than RFC 1191.
    #[must_use]
    pub fn mtu(&self) -> u32 {
        match (self.refusal(), self.counted) {
            (Refusal::TooBig, Undecoded::Icmp) => u16_at(self.message, 6).into(),
            (Refusal::TooBig, _) => u32_at(self.message, 4),
            _ => 0,
        }
    }
}

/// Returns the error message at the cursor. The error is `other` if the message quotes no TCP header. Wireshark also
/// assigns stream numbers to quoted segments.
pub(super) fn quoted<'a>(
    at: &mut Cursor<'a>,
    outer: Header<'a>,
    other: Undecoded,
) -> Result<Quoted<'a>, Undecoded> {
    let message: &[u8; 8] = at.take(other)?;
    let is_error = match other {
        // Unreachable, source quench, redirect, time exceeded, parameter problem.
        Undecoded::Icmp => matches!(message[0], 3 | 4 | 5 | 11 | 12),
        // Unreachable, too big, time exceeded, parameter problem.
        _ => matches!(message[0], 1..=4),
    };
    if !is_error {
        return Err(other);
    }
    let mut path = Path::default();
    let inner = match other {
        Undecoded::Icmp => ipv4::header(at, &mut path),
        _ => ipv6::header(at, &mut path),
    };
    let Ok(Next::Tcp(ip)) = inner else {
        return Err(other);
    };
    let tcp = tcp::header(at, ip).map_err(|_| other)?;
    Ok(Quoted {
        counted: other,
        tcp,
        outer,
        message,
    })
}
