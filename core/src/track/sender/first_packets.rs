//! # First packets
//! Evidence from an end's first packets of where they were captured: their time to live, and whether the network
//! adapter had yet to complete their checksums.

use crate::decode::{Flags, Segment};
use std::net::IpAddr;

/// Counts of the first packets of one end.
#[derive(Debug, Clone, Copy, Default)]
pub struct FirstPackets {
    /// Packets counted.
    packets: u8,
    /// Packets with a partial checksum.
    partial_checksums: u8,
    /// Largest time to live or hop limit without resets: a device on the way may have made them.
    ttl: Option<u8>,
    /// Time to live of the first reset.
    reset_ttl: Option<u8>,
}

impl FirstPackets {
    /// Maximum number of packets counted. The place of capture does not change, so the first packets suffice.
    const MAX_PACKETS: u8 = 16;

    /// Counts the next packet.
    pub fn add(&mut self, segment: &Segment) {
        if self.packets == Self::MAX_PACKETS {
            return;
        }
        if segment.flags.has(Flags::RST) {
            self.reset_ttl = self.reset_ttl.or(Some(segment.ttl));
            return;
        }
        self.packets += 1;
        self.partial_checksums += u8::from(has_partial_checksum(segment));
        self.ttl = self.ttl.max(Some(segment.ttl));
    }

    /// Returns the time to live or hop limit of the first reset; `None` without one before so many other packets.
    #[must_use]
    pub fn reset_ttl(&self) -> Option<u8> {
        self.reset_ttl
    }

    /// Returns the largest time to live or hop limit, a reset's where there is no other packet; `None` without a packet.
    #[must_use]
    pub fn ttl(&self) -> Option<u8> {
        self.ttl.or(self.reset_ttl)
    }

    /// Do most of the packets have a partial checksum?
    #[must_use]
    pub fn has_partial_checksums(&self) -> bool {
        self.partial_checksums > self.packets / 2
    }
}

/// Does the checksum cover the pseudo-header (RFC 9293 section 3.1) alone?
///
/// A host that leaves checksums to its adapter writes that sum, not complemented (Linux: `CHECKSUM_PARTIAL`). The
/// host's capture shows the packet like this. The check needs no payload.
fn has_partial_checksum(segment: &Segment) -> bool {
    let length = u32::from(segment.header_bytes) + segment.payload_bytes;
    let words = |address: IpAddr| -> u32 {
        match address {
            IpAddr::V4(address) => (address.to_bits() >> 16) + (address.to_bits() & 0xffff),
            IpAddr::V6(address) => address.segments().into_iter().map(u32::from).sum(),
        }
    };
    let mut sum = words(segment.source.address)
        + words(segment.destination.address)
        + 6
        + (length >> 16)
        + (length & 0xffff);
    while sum >> 16 != 0 {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    sum == u32::from(segment.checksum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Endpoint, Flags, Marks, Options};

    fn segment(checksum: u16) -> Segment {
        let end = |last, port| Endpoint {
            address: [10, 0, 0, last].into(),
            port,
        };
        Segment {
            source: end(1, 1),
            destination: end(2, 2),
            sequence: 0,
            acknowledgment: 0,
            flags: Flags(Flags::ACK),
            window: 0,
            header_bytes: 32,
            payload_bytes: 68,
            options: Options::default(),
            ttl: 64,
            identification: None,
            ecn: 0,
            checksum,
            marks: Marks::default(),
        }
    }

    #[test]
    fn a_sum_of_the_pseudo_header_alone_is_a_partial_checksum() {
        // 10.0.0.1, 10.0.0.2, protocol 6, length 100.
        let sum = 0x0a00 + 0x0001 + 0x0a00 + 0x0002 + 6 + 100;
        assert!(has_partial_checksum(&segment(sum)));
        assert!(!has_partial_checksum(&segment(!sum)));
    }

    #[test]
    fn a_reset_has_a_time_to_live_apart() {
        let with = |ttl, flags| Segment {
            ttl,
            flags: Flags(flags),
            ..segment(0)
        };
        let mut first = FirstPackets::default();
        first.add(&with(126, Flags::RST));
        assert_eq!((first.ttl(), first.reset_ttl()), (Some(126), Some(126)));
        first.add(&with(108, Flags::ACK));
        first.add(&with(125, Flags::RST));
        assert_eq!((first.ttl(), first.reset_ttl()), (Some(108), Some(126)));
    }

    #[test]
    fn one_partial_checksum_of_three_is_not_enough() {
        let mut first = FirstPackets::default();
        first.add(&segment(0x0a00 + 1 + 0x0a00 + 2 + 6 + 100));
        assert!(first.has_partial_checksums());
        first.add(&segment(0));
        first.add(&segment(0));
        assert!(!first.has_partial_checksums());
        assert_eq!(first.ttl(), Some(64));
    }
}
