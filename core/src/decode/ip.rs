//! # IP
//! What both versions share: the header as later stages need it, and what a protocol number stands for.

use std::net::IpAddr;

use super::cursor::{Cursor, u16_at};
use super::{Endpoint, Layer, Next, Path, Undecoded};

/// The fields of an IP header that outlive it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    pub(super) ttl: u8,
    pub(super) ecn: u8,
    pub(super) identification: Option<u16>,
}

impl Header {
    /// This header, as one that stands around another.
    pub(super) const fn layer(&self) -> Layer {
        Layer::Ip(self.source, self.destination)
    }

    /// Both ends of a packet whose transport header, like TCP's and UDP's, begins with the ports.
    pub(super) fn ends<const N: usize>(&self, transport: &[u8; N]) -> [Endpoint; 2] {
        let end = |address, offset| Endpoint {
            address,
            port: u16_at(transport, offset),
        };
        [end(self.source, 0), end(self.destination, 2)]
    }
}

/// IP of a version that only its own first nibble tells.
pub(super) fn version(at: &Cursor<'_>) -> Result<Next, Undecoded> {
    let mut ahead = *at;
    let [first] = ahead.take(Undecoded::NotIp)?;
    match first >> 4 {
        4 => Ok(Next::Ipv4),
        6 => Ok(Next::Ipv6),
        _ => Err(Undecoded::NotIp),
    }
}

/// What a protocol number or next header value stands for (IANA "Assigned Internet Protocol Numbers").
pub(super) fn payload(header: Header, protocol: u8, path: &mut Path) -> Result<Next, Undecoded> {
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
        1 => Err(Undecoded::Icmp),
        58 => Err(Undecoded::Icmpv6),
        50 => Err(Undecoded::Esp),
        _ => Err(Undecoded::IpProtocol),
    }
}
