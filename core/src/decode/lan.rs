//! # LAN
//! Link layers of FDDI, ARCNET and IP over InfiniBand.

use super::cursor::{Cursor, u16_at};
use super::ethernet;
use super::next::Next;
use super::undecoded::Undecoded;

/// Decodes LINKTYPE_FDDI: frame control and two addresses, then LLC in data frames (ISO 9314-2 section 7.3).
pub(super) fn fddi(at: &mut Cursor<'_>) -> Result<Next<'static>, Undecoded> {
    const SYNCHRONOUS_AND_PRIORITY: u8 = 0x8f;
    const LLC: u8 = 0x50;
    let [control, ..] = at.take::<13>(Undecoded::Link)?;
    if control & !SYNCHRONOUS_AND_PRIORITY == LLC {
        Ok(Next::Llc)
    } else {
        Err(Undecoded::NotIp)
    }
}

/// Decodes LINKTYPE_ARCNET_BSD: source, destination, type, and by RFC 1201 a split flag with a sequence number.
pub(super) fn arcnet(at: &mut Cursor<'_>) -> Result<Next<'static>, Undecoded> {
    at.take::<2>(Undecoded::Link)?;
    arcnet_type(at)
}

/// Decodes LINKTYPE_ARCNET_LINUX, which has an offset before the type.
pub(super) fn arcnet_linux(at: &mut Cursor<'_>) -> Result<Next<'static>, Undecoded> {
    at.take::<4>(Undecoded::Link)?;
    arcnet_type(at)
}

fn arcnet_type(at: &mut Cursor<'_>) -> Result<Next<'static>, Undecoded> {
    /// Protocol number of RFC 1051 section 2; packets are never split.
    const IP_OF_RFC_1051: u8 = 240;
    /// Protocol number of RFC 1201 section 3.
    const IP: u8 = 212;
    const IPV6: u8 = 196;
    const EXCEPTION: u8 = 0xff;
    let [kind] = *at.take(Undecoded::Link)?;
    let next = match kind {
        IP_OF_RFC_1051 => return Ok(Next::Ipv4),
        IP => Next::Ipv4,
        IPV6 => Next::Ipv6,
        _ => return Err(Undecoded::NotIp),
    };
    let [mut split, ..] = *at.take::<3>(Undecoded::Link)?;
    if split == EXCEPTION {
        [_, split, ..] = *at.take::<4>(Undecoded::Link)?;
    }
    if split == 0 {
        Ok(next)
    } else {
        Err(Undecoded::ArcnetFragment)
    }
}

/// Decodes LINKTYPE_IPOIB: 40 bytes of hardware addresses, then the encapsulation header of RFC 4391 section 6.
pub(super) fn ipoib(at: &mut Cursor<'_>) -> Result<Next<'static>, Undecoded> {
    let header: &[u8; 44] = at.take(Undecoded::Link)?;
    ethernet::payload(u16_at(header, 40))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Reader = fn(&mut Cursor<'_>) -> Result<Next<'static>, Undecoded>;

    fn after(reader: Reader, bytes: &[u8]) -> Result<(Next<'static>, usize), Undecoded> {
        let mut at = Cursor::new(bytes, 0);
        reader(&mut at).map(|next| (next, at.wire_len()))
    }

    #[test]
    fn fddi_data_frames_carry_llc_at_every_priority() {
        let frame = |control| [&[control][..], &[0; 12], &[0xaa]].concat();
        for control in [0x50, 0x57, 0xd0] {
            assert_eq!(after(fddi, &frame(control)), Ok((Next::Llc, 1)));
        }
        // Frame control of station management and of a token.
        for control in [0x41, 0x80] {
            assert_eq!(after(fddi, &frame(control)), Err(Undecoded::NotIp));
        }
    }

    #[test]
    fn arcnet_packets_are_read_unless_split() {
        assert_eq!(after(arcnet, &[1, 2, 240, 0xaa]), Ok((Next::Ipv4, 1)));
        assert_eq!(
            after(arcnet, &[1, 2, 212, 0, 0, 9, 0xaa]),
            Ok((Next::Ipv4, 1))
        );
        assert_eq!(
            after(arcnet_linux, &[1, 2, 0, 0, 196, 0, 0, 9, 0xaa]),
            Ok((Next::Ipv6, 1))
        );
        let exception = [1, 2, 212, 0xff, 0xff, 0xff, 212, 0, 0, 9, 0xaa];
        assert_eq!(after(arcnet, &exception), Ok((Next::Ipv4, 1)));
        assert_eq!(
            after(arcnet, &[1, 2, 212, 3, 0, 9, 0xaa]),
            Err(Undecoded::ArcnetFragment)
        );
        assert_eq!(after(arcnet, &[1, 2, 213, 0, 0, 9]), Err(Undecoded::NotIp));
    }

    #[test]
    fn ip_over_infiniband_names_its_ether_type() {
        let frame = [&[0; 40][..], &[0x86, 0xdd, 0, 0, 0x60]].concat();
        assert_eq!(after(ipoib, &frame), Ok((Next::Ipv6, 1)));
    }
}
