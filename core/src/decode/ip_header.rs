//! # IP header
//! What both versions share of a header, as later stages need it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::cursor::{u16_at, u32_at, u128_at};
use super::segment::{Endpoint, Layer};

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
