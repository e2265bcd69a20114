//! # ICMP
//! ICMP error messages (RFC 792, RFC 4443), which quote the packet that caused the error.

use super::cursor::Cursor;
use super::next::Next;
use super::segment::Path;
use super::tcp::{self, Tcp};
use super::undecoded::Undecoded;
use super::{ipv4, ipv6};

/// Returns the TCP header that an error message quotes. The error is `other` if the message quotes no TCP header.
/// Wireshark also assigns stream numbers to quoted segments.
pub(super) fn quoted<'a>(at: &mut Cursor<'a>, other: Undecoded) -> Result<Tcp<'a>, Undecoded> {
    let header: &[u8; 8] = at.take(other)?;
    let is_error = match other {
        // Unreachable, source quench, redirect, time exceeded, parameter problem.
        Undecoded::Icmp => matches!(header[0], 3 | 4 | 5 | 11 | 12),
        // Unreachable, too big, time exceeded, parameter problem.
        _ => matches!(header[0], 1..=4),
    };
    if !is_error {
        return Err(other);
    }
    let mut path = Path::default();
    let inner = match other {
        Undecoded::Icmp => ipv4::header(at, &mut path),
        _ => ipv6::header(at, &mut path),
    };
    match inner {
        Ok(Next::Tcp(ip)) => tcp::header(at, ip).map_err(|_| other),
        _ => Err(other),
    }
}
