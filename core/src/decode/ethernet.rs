//! # Ethernet
//! Ethernet II and IEEE 802.3, LLC and SNAP, VLAN tags, and EtherTypes.

use super::cursor::{Cursor, u16_at, u32_at};
use super::next::Next;
use super::segment::{Layer, Path};
use super::undecoded::Undecoded;

/// Maximum of a length field (IEEE 802.3 section 3.2.6); an EtherType is at least 0x0600.
const LENGTH_MAX: u16 = 1500;

pub(super) fn header(at: &mut Cursor<'_>) -> Result<Next<'static>, Undecoded> {
    let header: &[u8; 14] = at.take(Undecoded::Link)?;
    type_or_length(u16_at(header, 12))
}

/// Decodes a tag of IEEE 802.1Q or 802.1ad: priority and VLAN number, then the type of the payload.
pub(super) fn vlan_tag(at: &mut Cursor<'_>, path: &mut Path) -> Result<Next<'static>, Undecoded> {
    let tag: &[u8; 4] = at.take(Undecoded::Link)?;
    path.push(Layer::Vlan(u16_at(tag, 0) & 0x0fff));
    type_or_length(u16_at(tag, 2))
}

/// Decodes the service instance tag of a provider backbone bridge (IEEE 802.1ah); the customer's frame follows.
pub(super) fn service_tag(
    at: &mut Cursor<'_>,
    path: &mut Path,
) -> Result<Next<'static>, Undecoded> {
    const SERVICE_IDENTIFIER: u32 = 0x00ff_ffff;
    let tag: &[u8; 4] = at.take(Undecoded::Link)?;
    path.push(Layer::Service(u32_at(tag, 0) & SERVICE_IDENTIFIER));
    Ok(Next::Ethernet)
}

fn type_or_length(field: u16) -> Result<Next<'static>, Undecoded> {
    if field <= LENGTH_MAX {
        Ok(Next::Llc)
    } else {
        payload(field)
    }
}

/// Returns the kind of header for an EtherType (IANA "IEEE 802 Numbers").
pub(super) const fn payload(ether_type: u16) -> Result<Next<'static>, Undecoded> {
    match ether_type {
        0x0800 => Ok(Next::Ipv4),
        0x86dd => Ok(Next::Ipv6),
        // 802.1Q, 802.1ad, and the number used for stacked tags before 802.1ad.
        0x8100 | 0x88a8 | 0x9100 => Ok(Next::VlanTag),
        0x88e7 => Ok(Next::ServiceTag),
        // Downstream-assigned and upstream-assigned labels (RFC 5332 section 3).
        0x8847 | 0x8848 => Ok(Next::Mpls),
        0x8864 => Ok(Next::Pppoe),
        0x6558 => Ok(Next::Ethernet), // transparent Ethernet bridging (RFC 7637 section 3.2)
        0x0806 => Err(Undecoded::Arp),
        0x88e5 => Err(Undecoded::MacSec),
        _ => Err(Undecoded::NotIp),
    }
}

/// Decodes IEEE 802.2 LLC with an EtherType in a SNAP header (RFC 1042), or with IP directly.
pub(super) fn llc(at: &mut Cursor<'_>) -> Result<Next<'static>, Undecoded> {
    const UNNUMBERED_INFORMATION: u8 = 0x03;
    match at.take(Undecoded::Link)? {
        [0xaa, 0xaa, UNNUMBERED_INFORMATION] => {}
        [0x06, 0x06, UNNUMBERED_INFORMATION] => return Ok(Next::Ipv4),
        _ => return Err(Undecoded::NotIp),
    }
    match at.take(Undecoded::Link)? {
        // RFC 1042, and the bridge-tunnel encapsulation of IEEE 802.1H.
        [0, 0, 0x00 | 0xf8, high, low] => payload(u16::from_be_bytes([*high, *low])),
        _ => Err(Undecoded::NotIp),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after_addresses(rest: &[u8]) -> Result<Next<'static>, Undecoded> {
        let frame = [&[0; 12], rest].concat();
        let mut at = Cursor::new(&frame, 0);
        match header(&mut at)? {
            Next::Llc => llc(&mut at),
            next => Ok(next),
        }
    }

    #[test]
    fn an_ether_type_names_the_payload() {
        assert_eq!(after_addresses(&[0x08, 0x00]), Ok(Next::Ipv4));
        assert_eq!(after_addresses(&[0x86, 0xdd]), Ok(Next::Ipv6));
        assert_eq!(after_addresses(&[0x08, 0x06]), Err(Undecoded::Arp));
        assert_eq!(after_addresses(&[0x06, 0x00]), Err(Undecoded::NotIp));
    }

    #[test]
    fn a_service_tag_has_its_instance_and_a_frame_follows() {
        let mut path = Path::default();
        let mut at = Cursor::new(&[0xe0, 0x01, 0x02, 0x03, 2], 5);
        assert_eq!(payload(0x88e7), Ok(Next::ServiceTag));
        assert_eq!(service_tag(&mut at, &mut path), Ok(Next::Ethernet));
        assert_eq!(at.data(), [2]);
        assert_eq!(
            path.layers().collect::<Vec<_>>(),
            [&Layer::Service(0x01_0203)]
        );
    }

    #[test]
    fn a_length_leads_to_llc_and_snap() {
        assert_eq!(
            after_addresses(&[0x05, 0xdc, 0xaa, 0xaa, 3, 0, 0, 0, 0x08, 0x00]),
            Ok(Next::Ipv4)
        );
        assert_eq!(
            after_addresses(&[0, 46, 0xaa, 0xaa, 3, 0, 0, 0xf8, 0x86, 0xdd]),
            Ok(Next::Ipv6)
        );
        assert_eq!(after_addresses(&[0, 46, 0x06, 0x06, 3]), Ok(Next::Ipv4));
        // Spanning tree, and a SNAP frame with Cisco's identifier.
        assert_eq!(
            after_addresses(&[0, 46, 0x42, 0x42, 3]),
            Err(Undecoded::NotIp)
        );
        assert_eq!(
            after_addresses(&[0, 46, 0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0]),
            Err(Undecoded::NotIp)
        );
    }

    #[test]
    fn the_vlan_of_a_tag_excludes_the_priority_bits() {
        let mut path = Path::default();
        assert_eq!(
            vlan_tag(&mut Cursor::new(&[0xef, 0xfe, 0x08, 0x00], 4), &mut path),
            Ok(Next::Ipv4)
        );
        assert_eq!(
            vlan_tag(&mut Cursor::new(&[0x00, 0x07, 0x00, 0x30], 4), &mut path),
            Ok(Next::Llc)
        );
        assert_eq!(
            path.layers().collect::<Vec<_>>(),
            [&Layer::Vlan(0xffe), &Layer::Vlan(7)]
        );
    }
}
