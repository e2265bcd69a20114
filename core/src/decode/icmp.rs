//! # ICMP
//! Error messages of RFC 792 and RFC 4443: they quote the packet that they are about.

use super::cursor::Cursor;
use super::next::Next;
use super::segment::Path;
use super::tcp::{self, Tcp};
use super::undecoded::Undecoded;
use super::{ipv4, ipv6};

/// The TCP header that an error message quotes, if it quotes one whole. Wireshark numbers streams by these, too.
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
