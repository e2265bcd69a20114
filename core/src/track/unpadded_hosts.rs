//! # Unpadded hosts
//! Which addresses are those of the host that captured, by Ethernet frames that no adapter has padded yet.

use crate::decode::INITIAL_TTLS;
use std::net::IpAddr;

/// A packet without payload in a frame that Ethernet pads.
#[derive(Debug)]
struct Small {
    source: IpAddr,
    /// Whether an adapter has padded the frame.
    padded: bool,
    /// Whether the packet has an initial time to live.
    fresh: bool,
}

/// The first small Ethernet frames of a capture.
#[derive(Debug, Default)]
pub struct UnpaddedHosts(Vec<Small>);

impl UnpaddedHosts {
    /// Least length of an Ethernet frame on a wire in bytes, without the checksum (IEEE 802.3 section 4A.4.2).
    const LEAST_FRAME_BYTES: u32 = 60;
    /// Maximum number of frames kept. The place of capture does not change, so the first ones suffice.
    const MAX_FRAMES: usize = 512;

    /// Returns whether [`Self::take`] has use for a frame of so many bytes.
    #[must_use]
    #[inline(always)] // for every segment
    pub fn want(&self, wire_bytes: u32) -> bool {
        wire_bytes <= Self::LEAST_FRAME_BYTES && self.0.len() < Self::MAX_FRAMES
    }

    /// Takes a packet without payload from `source`, with this time to live, in an Ethernet frame of so many bytes.
    #[cold]
    pub fn take(&mut self, source: IpAddr, ttl: u8, wire_bytes: u32) {
        self.0.push(Small {
            source,
            padded: wire_bytes == Self::LEAST_FRAME_BYTES,
            fresh: INITIAL_TTLS.contains(&ttl),
        });
    }

    /// Returns the addresses all of whose frames are unpadded, in ascending order. There are none where nobody's are
    /// padded, as between virtual machines.
    ///
    /// An adapter pads a frame when it sends it, and a capture on its host comes before. A router lowers the time to live,
    /// and removes the padding.
    #[must_use]
    pub fn own(&self) -> Vec<IpAddr> {
        if !self.0.iter().any(|small| small.padded) {
            return Vec::new();
        }
        let mut own: Vec<IpAddr> = self.0.iter().map(|small| small.source).collect();
        own.sort_unstable();
        own.dedup();
        own.retain(|address| {
            let mut frames = self.0.iter().filter(|small| small.source == *address);
            frames.all(|small| small.fresh && !small.padded)
        });
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    #[test]
    fn frames_of_the_host_are_unpadded_where_others_are_padded() {
        let [own, near, forwarded, far] = [1, 2, 3, 4].map(address);
        let mut hosts = UnpaddedHosts::default();
        hosts.take(own, 64, 54);
        hosts.take(forwarded, 63, 54);
        assert!(hosts.own().is_empty());
        hosts.take(near, 128, 60);
        hosts.take(far, 57, 60);
        assert_eq!(hosts.own(), [own]);
        hosts.take(own, 64, 60);
        assert!(hosts.own().is_empty());
    }

    #[test]
    fn the_first_small_frames_suffice() {
        let mut hosts = UnpaddedHosts::default();
        for _ in 0..UnpaddedHosts::MAX_FRAMES {
            assert!(hosts.want(54) && hosts.want(60) && !hosts.want(61));
            hosts.take(address(1), 64, 54);
        }
        assert!(!hosts.want(54));
    }
}
