//! # Copies
//! Detection of packets that the capture holds more than once. Port mirroring in both directions and captures on any
//! interface record a packet several times, and so do captures before and after a router.
//!
//! A sender does not reuse an IP identification while an earlier packet with it may still be in transit (RFC 6864
//! section 4.2). It sends all packets with the same time to live. A lower one shows that routers lie between two
//! capture points (RFC 791 section 3.2).
//!
//! A capture may also hold a packet before and after segmentation offload cut it, as on the two sides of a virtual
//! switch. The pieces count the identification on from that of the whole packet (Linux `inet_gso_segment`).
//!
//! A device on the path may add bytes to the payload of a packet. The capture then has one identification and sequence
//! number with several lengths. Sequence numbers do not count the added bytes.

use crate::decode::{Flags, Segment};

/// A packet's header in eight bytes, since one is kept for each recent packet. The highest 32 bits are of the numbers
/// that identify it, the next 24 of its content, the lowest eight the time to live.
#[derive(Debug, Clone, Copy)]
struct Fingerprint(u64);

impl Fingerprint {
    /// Returns the fingerprint of a packet. All but the lowest eight bits hash the fields that copies share; two
    /// packets captured within moments rarely collide.
    fn of(segment: &Segment) -> Self {
        let identification = u64::from(segment.identification.unwrap_or_default());
        let numbers = u64::from(segment.sequence) << 32 | u64::from(segment.acknowledgment);
        // Where the numbers are equal, checksums let other contents agree by chance in one of 65,536 cases.
        let content = segment.payload_bytes << 8
            ^ u32::from(segment.flags.0) << 24
            ^ u32::from(segment.checksum) << 8;
        // Both halves of the product count, so each bit of one factor meets all of the other (as foldhash mixes). The
        // constants, digits of pi, keep a factor from being 0.
        let product = u128::from(numbers ^ 0x243f_6a88_85a3_08d3)
            * u128::from(identification ^ 0x1319_8a2e_0370_7344);
        let identity = product as u64 ^ (product >> 64) as u64;
        Self(identity & !0xffff_ffff | u64::from(content) | u64::from(segment.ttl))
    }

    fn is_copy_of(self, other: Self) -> bool {
        self.0 >> 8 == other.0 >> 8
    }

    /// Do the packets have the same identification, sequence number and acknowledgment number?
    fn has_numbers_of(self, other: Self) -> bool {
        self.0 >> 32 == other.0 >> 32
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

/// A packet that segmentation offload may cut into pieces.
#[derive(Debug, Clone, Copy)]
struct WholePacket {
    time_ns: i64,
    sequence: u32,
    acknowledgment: u32,
    payload_bytes: u32,
    identification: u16,
}

impl WholePacket {
    /// Is `segment` one of the pieces? Each has its place in the payload, and as many identifications from the first.
    fn was_cut_into(&self, segment: &Segment, time_ns: i64) -> bool {
        let Some(identification) = segment.identification else {
            return false;
        };
        let offset = segment.sequence.wrapping_sub(self.sequence);
        let index = u32::from(identification.wrapping_sub(self.identification));
        let length = segment.payload_bytes;
        let in_place = offset.is_multiple_of(index) && (index == 0 || length <= offset / index);
        in_place
            && segment.acknowledgment == self.acknowledgment
            && (1..self.payload_bytes).contains(&length)
            && offset.saturating_add(length) <= self.payload_bytes
            && (time_ns - self.time_ns).abs() < Copies::SAME_PLACE_NS
    }
}

/// The numbers of a packet, as compared with the highest ones so far.
enum Numbers {
    /// None is higher: it may be a copy.
    Known,
    /// One is higher: most packets are such, and these are no copies.
    New,
    /// One is higher by the bytes that a device added.
    Lengthened,
}

/// The recent packets of one end of a connection.
#[derive(Debug, Default)]
pub struct Copies {
    /// A ring buffer, once it is full.
    recent: Vec<RecentPacket>,
    /// Index of the entry that is written next.
    next: usize,
    /// Highest sequence number of a byte, and highest acknowledgment number so far.
    highest: Option<(u32, u32)>,
    /// The last packet above an Ethernet frame's size that exceeded the highest sequence number.
    whole: Option<WholePacket>,
    /// Longest time from a packet to a copy with its time to live so far, in microseconds; 0 before the first copy.
    apart_us: u32,
    /// Copies with another time to live than the packet before.
    routed: u32,
    /// Copies whose payload is longer than that of the packet that was sent.
    lengthened: u32,
}

impl Copies {
    /// Copies made at one place lie less than this apart, ns.
    const SAME_PLACE_NS: i64 = 1_000_000;
    /// A copy from behind a router comes later by the delay of the router's queue, which is hardly ever longer than
    /// this, ns.
    const ROUTED_NS: i64 = 1_000_000_000;
    /// Copies with the same identification and time to live lie less than this apart, ns. No router lies between their
    /// taps, and a Wi-Fi station sends a frame again for some milliseconds. No timer of TCP is as short (Linux
    /// `TCP_RTO_MIN`). A program that makes packets may repeat one later.
    const SAME_IDENTIFICATION_NS: i64 = 50_000_000;
    /// Largest payload in an Ethernet frame; a larger packet may be cut later.
    const ETHERNET_PAYLOAD: u32 = 1460;
    /// Packets for which there is room at first: few short connections have more from one end.
    const FIRST: usize = 8;
    /// Packets remembered until the first copy is found. A Linux host hands packets over in batches of at most 64
    /// (`NAPI_POLL_WEIGHT`).
    const REMEMBERED: usize = 64;
    /// Packets remembered once a copy was found: a burst, or the packets in a router's queue, may lie between two
    /// copies.
    const REMEMBERED_AFTER_COPY: usize = 4096;

    /// Returns the longest time from a packet to a copy with its time to live so far, ns; 0 before the first copy.
    #[must_use]
    pub fn apart_ns(&self) -> i64 {
        i64::from(self.apart_us) * 1000
    }

    /// Remembers the packet; returns true if the capture already holds a copy of it. `other_apart_ns` is
    /// [`Self::apart_ns`] of the other end, whose SYN came first.
    pub fn remember(&mut self, segment: &Segment, time_ns: i64, other_apart_ns: i64) -> bool {
        let seen = RecentPacket {
            time_ns,
            fingerprint: Fingerprint::of(segment),
        };
        let none_before = self.apart_us == 0;
        let copy = match self.update_highest(segment, seen) {
            Numbers::Known => self.holds_copy(segment, seen, other_apart_ns),
            Numbers::New => false,
            Numbers::Lengthened => true,
        };
        if copy && none_before {
            self.apart_us = self.apart_us.max(1);
            self.recent.rotate_left(self.next);
            self.next = self.recent.len();
        }
        if self.next == self.recent.len() {
            self.make_room();
        }
        match self.recent.get_mut(self.next) {
            Some(oldest) => *oldest = seen,
            None => self.recent.push(seen),
        }
        self.next += 1;
        copy
    }

    /// Lets the next packet replace the oldest one, if the ring buffer is full.
    fn make_room(&mut self) {
        if self.recent.is_empty() {
            self.recent.reserve_exact(Self::FIRST);
        } else if self.next == self.capacity() {
            self.next = 0;
        }
    }

    fn capacity(&self) -> usize {
        if self.apart_us > 0 {
            Self::REMEMBERED_AFTER_COPY
        } else {
            Self::REMEMBERED
        }
    }

    /// Returns the number of copies from the other side of a router.
    #[must_use]
    pub fn routed(&self) -> u32 {
        self.routed
    }

    /// Returns the number of copies whose payload is longer than that of the packet that was sent.
    #[must_use]
    pub fn lengthened(&self) -> u32 {
        self.lengthened
    }

    /// Is this a packet that was sent with a shorter payload? That has the same numbers. A retransmission with new data
    /// has another identification, and larger packets than fit in an Ethernet frame are merged by offload.
    #[cold]
    fn is_lengthened(&mut self, segment: &Segment, packet: RecentPacket) -> bool {
        let lengthened = segment.payload_bytes <= Self::ETHERNET_PAYLOAD
            && segment.identification.is_some_and(|id| id != 0)
            && self.recent.iter().any(|seen| {
                seen.fingerprint.has_numbers_of(packet.fingerprint)
                    && (packet.time_ns - seen.time_ns).abs() < Self::ROUTED_NS
            });
        self.lengthened = self.lengthened.saturating_add(u32::from(lengthened));
        lengthened
    }

    #[inline(never)] // rare: most packets exceed the highest numbers
    fn holds_copy(&mut self, segment: &Segment, packet: RecentPacket, other_apart_ns: i64) -> bool {
        let was_cut = |whole: WholePacket| whole.was_cut_into(segment, packet.time_ns);
        if self.whole.is_some_and(was_cut) {
            return true;
        }
        // A nonzero identification distinguishes packets, so equal ones are copies. Without it, two equal SYNs or data
        // segments within a millisecond are copies, but two equal acknowledgments may be different packets. So may two
        // equal SYN-ACKs: one for each of two SYNs, or for a timer that runs out just then. Equal data may lie twice as
        // far apart as known copies do: a device that forwards packets takes its time.
        let identified = segment.identification.is_some_and(|id| id != 0);
        // A device that changes payloads delays them as a router does, and may send the first payload on again.
        let changed = identified && self.lengthened > 0;
        let max_apart_ns = if changed {
            Self::ROUTED_NS
        } else if identified {
            Self::SAME_IDENTIFICATION_NS
        } else if segment.payload_bytes > 0 {
            let known_ns = self.apart_ns().max(other_apart_ns);
            (2 * known_ns).clamp(Self::SAME_PLACE_NS, Self::SAME_IDENTIFICATION_NS)
        } else if segment.flags.has(Flags::SYN)
            && (other_apart_ns > 0 || !segment.flags.has(Flags::ACK))
        {
            Self::SAME_PLACE_NS
        } else {
            0
        };
        let mut copy = false;
        let mut routed = false;
        for seen in &self.recent {
            let (of, seen_of) = (packet.fingerprint, seen.fingerprint);
            if !(seen_of.is_copy_of(of) || changed && seen_of.has_numbers_of(of)) {
                continue;
            }
            let apart_ns = (packet.time_ns - seen.time_ns).abs();
            let other_side =
                seen.fingerprint.differs_in_ttl(packet.fingerprint) && apart_ns < Self::ROUTED_NS;
            routed |= other_side;
            let same_side = !other_side && apart_ns < max_apart_ns;
            // What is only taken for a copy is none to measure others by.
            if same_side && identified && apart_ns < Self::SAME_IDENTIFICATION_NS {
                self.apart_us = self.apart_us.max((apart_ns / 1000) as u32);
            }
            copy |= other_side || same_side;
        }
        self.routed = self.routed.saturating_add(u32::from(routed));
        copy
    }

    /// Updates the highest numbers, but for those of a lengthened packet.
    fn update_highest(&mut self, segment: &Segment, packet: RecentPacket) -> Numbers {
        if !segment.flags.has(Flags::ACK) {
            return Numbers::Known;
        }
        let (payload_bytes, acknowledgment) = (segment.payload_bytes, segment.acknowledgment);
        // A piece of a packet lies within it: only the last byte shows whether anything is new.
        let last = segment
            .sequence
            .wrapping_add(payload_bytes.saturating_sub(1));
        let (highest, acknowledged) = *self.highest.get_or_insert((last, acknowledgment));
        let exceeds =
            |number: u32, so_far: u32| (1..1 << 31).contains(&number.wrapping_sub(so_far));
        let has_new_bytes = exceeds(last, highest);
        if has_new_bytes {
            let begins_before = payload_bytes > 1 && last.wrapping_sub(highest) < payload_bytes - 1;
            if begins_before && self.is_lengthened(segment, packet) {
                return Numbers::Lengthened;
            }
            if payload_bytes > Self::ETHERNET_PAYLOAD {
                self.whole = segment.identification.map(|identification| WholePacket {
                    time_ns: packet.time_ns,
                    sequence: segment.sequence,
                    acknowledgment,
                    payload_bytes,
                    identification,
                });
            }
        } else if !exceeds(acknowledgment, acknowledged) {
            return Numbers::Known;
        }
        let later = |one: u32, other: u32| if exceeds(one, other) { one } else { other };
        self.highest = Some((later(last, highest), later(acknowledgment, acknowledged)));
        Numbers::New
    }
}
