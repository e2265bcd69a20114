//! # IP header
//! Fields of an IPv4 or IPv6 header that later stages need.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::cursor::{u16_at, u32_at, u128_at};
use super::segment::{Endpoint, Layer};

/// Usual initial times to live and hop limits. A packet with another one was forwarded.
pub const INITIAL_TTLS: [u8; 3] = [64, 128, 255];

/// An IP header in the frame, without options or extensions. Its fields are read only if it is the innermost one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Header<'a> {
    V4(&'a [u8; 20]),
    V6(&'a [u8; 40]),
}

impl Header<'_> {
    /// Returns source and destination.
    pub(super) fn addresses(self) -> [IpAddr; 2] {
        match self {
            Self::V4(fixed) => [12, 16].map(|at| Ipv4Addr::from_bits(u32_at(fixed, at)).into()),
            Self::V6(fixed) => [8, 24].map(|at| Ipv6Addr::from_bits(u128_at(fixed, at)).into()),
        }
    }

    /// Returns the time to live or hop limit.
    pub(super) const fn ttl(self) -> u8 {
        match self {
            Self::V4(fixed) => fixed[8],
            Self::V6(fixed) => fixed[7],
        }
    }

    /// Returns the ECN field (RFC 3168 section 5).
    pub(super) const fn ecn(self) -> u8 {
        match self {
            Self::V4(fixed) => fixed[1] & 0x03,
            Self::V6(fixed) => fixed[1] >> 4 & 0x03,
        }
    }

    /// Returns the identification of IPv4; `None` for IPv6.
    pub(super) fn identification(self) -> Option<u16> {
        match self {
            Self::V4(fixed) => Some(u16_at(fixed, 4)),
            Self::V6(_) => None,
        }
    }

    /// Returns whether an IPv4 packet must not be fragmented; `false` for IPv6.
    pub(super) const fn dont_fragment(self) -> bool {
        match self {
            Self::V4(fixed) => fixed[6] & 0x40 != 0,
            Self::V6(_) => false,
        }
    }

    /// Returns this header as a layer around an inner packet.
    pub(super) fn layer(self) -> Layer {
        let [source, destination] = self.addresses();
        Layer::Ip(source, destination)
    }

    /// Returns source and destination of a packet whose transport header begins with the ports, as TCP's and UDP's do.
    pub(super) fn ends<const N: usize>(self, transport: &[u8; N]) -> [Endpoint; 2] {
        let [source, destination] = self.addresses();
        let end = |address, offset| Endpoint {
            address,
            port: u16_at(transport, offset),
        };
        [end(source, 0), end(destination, 2)]
    }
}
