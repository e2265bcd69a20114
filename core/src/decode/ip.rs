//! # IP
//! Decoding shared by IPv4 and IPv6: the version field and protocol numbers.

use super::cursor::Cursor;
use super::ip_header::Header;
use super::next::Next;
use super::segment::Path;
use super::undecoded::Undecoded;

/// Returns the kind of IP header by the version in its first four bits.
pub(super) fn version<'a>(at: &Cursor<'a>) -> Result<Next<'a>, Undecoded> {
    let mut ahead = *at;
    let [first] = ahead.take(Undecoded::NotIp)?;
    match first >> 4 {
        4 => Ok(Next::Ipv4),
        6 => Ok(Next::Ipv6),
        _ => Err(Undecoded::NotIp),
    }
}

/// Returns the kind of header for a protocol number or next header value (IANA "Assigned Internet Protocol Numbers").
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
        1 => Ok(Next::Icmp(header, Undecoded::Icmp)),
        58 => Ok(Next::Icmp(header, Undecoded::Icmpv6)),
        50 => Err(Undecoded::Esp),
        _ => Err(Undecoded::IpProtocol),
    }
}
