//! # IP
//! What both versions share: the header as later stages need it, and what a protocol number stands for.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::cursor::{Cursor, u16_at, u32_at, u128_at};
use super::{Endpoint, Layer, Next, Path, Undecoded};

/// An IP header without options or extensions, where it lies in the frame: read only if it turns out the innermost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Header<'a> {
    V4(&'a [u8; 20]),
    V6(&'a [u8; 40]),
}

impl Header<'_> {
    fn addresses(self) -> [IpAddr; 2] {
        match self {
            Self::V4(fixed) => [12, 16].map(|at| Ipv4Addr::from_bits(u32_at(fixed, at)).into()),
            Self::V6(fixed) => [8, 24].map(|at| Ipv6Addr::from_bits(u128_at(fixed, at)).into()),
        }
    }

    /// Time to live or hop limit.
    pub(super) const fn ttl(self) -> u8 {
        match self {
            Self::V4(fixed) => fixed[8],
            Self::V6(fixed) => fixed[7],
        }
    }

    /// The ECN field (RFC 3168 section 5).
    pub(super) const fn ecn(self) -> u8 {
        match self {
            Self::V4(fixed) => fixed[1] & 0x03,
            Self::V6(fixed) => fixed[1] >> 4 & 0x03,
        }
    }

    /// What only version 4 has.
    pub(super) fn identification(self) -> Option<u16> {
        match self {
            Self::V4(fixed) => Some(u16_at(fixed, 4)),
            Self::V6(_) => None,
        }
    }

    /// This header, as one that stands around another.
    pub(super) fn layer(self) -> Layer {
        let [source, destination] = self.addresses();
        Layer::Ip(source, destination)
    }

    /// Both ends of a packet whose transport header, like TCP's and UDP's, begins with the ports.
    pub(super) fn ends<const N: usize>(self, transport: &[u8; N]) -> [Endpoint; 2] {
        let [source, destination] = self.addresses();
        let end = |address, offset| Endpoint {
            address,
            port: u16_at(transport, offset),
        };
        [end(source, 0), end(destination, 2)]
    }
}

/// IP of a version that only its own first nibble tells.
pub(super) fn version<'a>(at: &Cursor<'a>) -> Result<Next<'a>, Undecoded> {
    let mut ahead = *at;
    let [first] = ahead.take(Undecoded::NotIp)?;
    match first >> 4 {
        4 => Ok(Next::Ipv4),
        6 => Ok(Next::Ipv6),
        _ => Err(Undecoded::NotIp),
    }
}

/// What a protocol number or next header value stands for (IANA "Assigned Internet Protocol Numbers").
pub(super) fn payload<'a>(
    header: Header<'a>,
    protocol: u8,
    path: &mut Path,
) -> Result<Next<'a>, Undecoded> {
    match protocol {
        6 => Ok(Next::Tcp(header)),
        17 => Ok(Next::Udp(header)),
        47 => Ok(Next::Gre(header)),
        4 | 41 => {
            path.push(header.layer());
            Ok(if protocol == 4 {
                Next::Ipv4
            } else {
                Next::Ipv6
            })
        }
        // Hop-by-hop, routing, fragment, authentication, destination options, mobility, HIP, shim6.
        0 | 43 | 44 | 51 | 60 | 135 | 139 | 140 => Ok(Next::Extension(header, protocol)),
        1 => Ok(Next::Icmp(Undecoded::Icmp)),
        58 => Ok(Next::Icmp(Undecoded::Icmpv6)),
        50 => Err(Undecoded::Esp),
        _ => Err(Undecoded::IpProtocol),
    }
}
