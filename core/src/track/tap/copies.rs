//! # Copies
//! Is a packet one that the capture already holds? Port mirroring in both directions, captures on any interface, and
//! those before and after a router show each packet several times.
//!
//! A sender gives each packet an identification that does not come again while the first may be on its way (RFC 6864
//! section 4.2), and sends all of them with the same time to live: one that differs was taken down by routers between
//! two places of capture (RFC 791 section 3.2).

use crate::decode::{Flags, Segment};

/// Enough of a packet to know it again, in few bytes: one is kept of every packet. The lowest are the time to live.
#[derive(Debug, Clone, Copy)]
struct Print(u64);

impl Print {
    /// Of what copies have in common; two packets of one moment hardly have the same.
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

    fn is_routed_from(self, other: Self) -> bool {
        self.0 as u8 != other.0 as u8
    }
}

/// A packet of the last moment.
#[derive(Debug, Clone, Copy)]
struct Seen {
    time_ns: i64,
    print: Print,
}

/// The packets of the last moment, of one end of a connection.
#[derive(Debug, Default)]
pub struct Copies {
    /// A ring once it is full.
    recent: Vec<Seen>,
    /// Place of the next in it.
    next: usize,
    /// Sequence and acknowledgment number that no packet went beyond.
    furthest: Option<(u32, u32)>,
    /// Was there a copy?
    any: bool,
}

impl Copies {
    /// Copies made at one place lie this close together.
    const NEAR_NS: i64 = 1_000_000;
    /// A copy from behind a router is later by the queue there: by more than this hardly ever.
    const ROUTED_NS: i64 = 1_000_000_000;
    /// Packets remembered until one is a copy: a host hands them over in batches of 64 at most (Linux
    /// `NAPI_POLL_WEIGHT`).
    const PACKETS: usize = 64;
    /// And from then on: a burst, or what a router's queue holds, may lie between two copies.
    const PACKETS_MOST: usize = 4096;

    /// Remembers the packet; says whether the same one was captured before.
    pub fn remember(&mut self, segment: &Segment, time_ns: i64) -> bool {
        let seen = Seen {
            time_ns,
            print: Print::of(segment),
        };
        let copy = !self.move_furthest(segment) && self.holds(segment, seen);
        if copy && !self.any {
            self.any = true;
            self.recent.rotate_left(self.next);
            self.next = self.recent.len();
        }
        match self.recent.get_mut(self.next) {
            Some(oldest) => *oldest = seen,
            None => self.recent.push(seen),
        }
        self.next += 1;
        if self.next == self.most() {
            self.next = 0;
        }
        copy
    }

    fn most(&self) -> usize {
        if self.any {
            Self::PACKETS_MOST
        } else {
            Self::PACKETS
        }
    }

    #[inline(never)] // few packets go beyond none before them
    fn holds(&self, segment: &Segment, packet: Seen) -> bool {
        // Where the IP header tells packets apart only an equal identification makes a copy; without one, two equal
        // acknowledgments may well be two packets, two equal SYNs or data segments within a millisecond hardly.
        let tells = segment.identification.is_some_and(|id| id != 0)
            || segment.payload_bytes > 0
            || segment.flags.has(Flags::SYN);
        self.recent
            .iter()
            .filter(|seen| seen.print.is_copy_of(packet.print))
            .any(|seen| {
                let apart_ns = (packet.time_ns - seen.time_ns).abs();
                let routed = seen.print.is_routed_from(packet.print);
                routed && apart_ns < Self::ROUTED_NS || tells && apart_ns < Self::NEAR_NS
            })
    }

    /// Moves the furthest to the packet; says whether it goes beyond all before it, in what it sends or acknowledges.
    /// Most do, and can be no copies.
    fn move_furthest(&mut self, segment: &Segment) -> bool {
        if !segment.flags.has(Flags::ACK) {
            return false;
        }
        let (sequence, acknowledgment) = (segment.sequence, segment.acknowledgment);
        let furthest = self.furthest.get_or_insert((sequence, acknowledgment));
        let beyond = |number: u32, so_far: &mut u32| {
            let beyond = (1..1 << 31).contains(&number.wrapping_sub(*so_far));
            if beyond {
                *so_far = number;
            }
            beyond
        };
        beyond(sequence, &mut furthest.0) | beyond(acknowledgment, &mut furthest.1)
    }
}
