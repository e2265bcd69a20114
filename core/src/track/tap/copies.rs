//! # Copies
//! Detection of packets that the capture holds more than once. Port mirroring in both directions and captures on any
//! interface record a packet several times, and so do captures before and after a router.
//!
//! A sender does not reuse an IP identification while an earlier packet with it may still be in transit (RFC 6864
//! section 4.2). It sends all packets with the same time to live. A lower one shows that routers lie between two
//! capture points (RFC 791 section 3.2).

use crate::decode::{Flags, Segment};

/// A packet's header in eight bytes, since one is kept for each recent packet. The lowest eight bits are the time to
/// live.
#[derive(Debug, Clone, Copy)]
struct Fingerprint(u64);

impl Fingerprint {
    /// Returns the fingerprint of a packet. All but the lowest eight bits hash the fields that copies share; two
    /// packets captured within moments rarely collide.
    fn of(segment: &Segment) -> Self {
        let identification = u64::from(segment.identification.unwrap_or_default());
        let words = [
            u64::from(segment.sequence) << 32 | u64::from(segment.acknowledgment),
            u64::from(segment.payload_bytes) << 40
                | u64::from(segment.flags.0) << 32
                | identification << 16
                | u64::from(segment.checksum),
        ];
        // Products by an odd number lose nothing; the shift lets high bits count below (Fibonacci hashing).
        let mixed = words.into_iter().fold(0u64, |hash, word| {
            let product = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            product ^ product >> 29
        });
        Self(mixed << 8 | u64::from(segment.ttl))
    }

    fn is_copy_of(self, other: Self) -> bool {
        self.0 >> 8 == other.0 >> 8
    }

    fn differs_in_ttl(self, other: Self) -> bool {
        self.0 as u8 != other.0 as u8
    }
}

/// A packet that was captured recently.
#[derive(Debug, Clone, Copy)]
struct RecentPacket {
    time_ns: i64,
    fingerprint: Fingerprint,
}

/// The recent packets of one end of a connection.
#[derive(Debug, Default)]
pub struct Copies {
    /// A ring buffer, once it is full.
    recent: Vec<RecentPacket>,
    /// Index of the entry that is written next.
    next: usize,
    /// Highest sequence number and highest acknowledgment number so far.
    highest: Option<(u32, u32)>,
    /// Has a copy been found?
    copy_found: bool,
}

impl Copies {
    /// Copies made at one place lie less than this apart, ns.
    const SAME_PLACE_NS: i64 = 1_000_000;
    /// A copy from behind a router comes later by the delay of the router's queue, which is hardly ever longer than
    /// this, ns.
    const ROUTED_NS: i64 = 1_000_000_000;
    /// Packets remembered until the first copy is found. A Linux host hands packets over in batches of at most 64
    /// (`NAPI_POLL_WEIGHT`).
    const REMEMBERED: usize = 64;
    /// Packets remembered once a copy was found: a burst, or the packets in a router's queue, may lie between two
    /// copies.
    const REMEMBERED_AFTER_COPY: usize = 4096;

    /// Remembers the packet; returns true if the capture already holds a copy of it.
    pub fn remember(&mut self, segment: &Segment, time_ns: i64) -> bool {
        let seen = RecentPacket {
            time_ns,
            fingerprint: Fingerprint::of(segment),
        };
        let copy = !self.update_highest(segment) && self.holds_copy(segment, seen);
        if copy && !self.copy_found {
            self.copy_found = true;
            self.recent.rotate_left(self.next);
            self.next = self.recent.len();
        }
        match self.recent.get_mut(self.next) {
            Some(oldest) => *oldest = seen,
            None => self.recent.push(seen),
        }
        self.next += 1;
        if self.next == self.capacity() {
            self.next = 0;
        }
        copy
    }

    fn capacity(&self) -> usize {
        if self.copy_found {
            Self::REMEMBERED_AFTER_COPY
        } else {
            Self::REMEMBERED
        }
    }

    #[inline(never)] // rare: most packets exceed the highest numbers
    fn holds_copy(&self, segment: &Segment, packet: RecentPacket) -> bool {
        // A nonzero identification distinguishes packets, so equal ones are copies. Without it, two equal SYNs or data
        // segments within a millisecond are copies, but two equal acknowledgments may be different packets.
        let distinguishable = segment.identification.is_some_and(|id| id != 0)
            || segment.payload_bytes > 0
            || segment.flags.has(Flags::SYN);
        self.recent
            .iter()
            .filter(|seen| seen.fingerprint.is_copy_of(packet.fingerprint))
            .any(|seen| {
                let apart_ns = (packet.time_ns - seen.time_ns).abs();
                let routed = seen.fingerprint.differs_in_ttl(packet.fingerprint);
                routed && apart_ns < Self::ROUTED_NS
                    || distinguishable && apart_ns < Self::SAME_PLACE_NS
            })
    }

    /// Updates the highest numbers; returns true if the packet exceeds one of them. Most packets do, and these cannot
    /// be copies.
    fn update_highest(&mut self, segment: &Segment) -> bool {
        if !segment.flags.has(Flags::ACK) {
            return false;
        }
        let (sequence, acknowledgment) = (segment.sequence, segment.acknowledgment);
        let highest = self.highest.get_or_insert((sequence, acknowledgment));
        let exceeds = |number: u32, so_far: &mut u32| {
            let exceeds = (1..1 << 31).contains(&number.wrapping_sub(*so_far));
            if exceeds {
                *so_far = number;
            }
            exceeds
        };
        exceeds(sequence, &mut highest.0) | exceeds(acknowledgment, &mut highest.1)
    }
}
