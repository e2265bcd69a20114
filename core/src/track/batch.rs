//! # Batch
//! Segments that are given to a table together.
//!
//! The table takes those of one connection one after the other: what it keeps of the connection is fetched from memory
//! once, not for every segment. Connections do not depend on each other, so this changes nothing else. Events are put
//! in the order of the capture, though: where they are made, segments are taken as they came.

use super::flow::At;
use super::table::{News, Orders, Seen, Table};
use crate::decode::{Endpoint, Flags, Options, Path, Segment};
use std::net::{IpAddr, Ipv4Addr};

/// A segment, and what its table is told with it, in one line of the processor's cache: thousands are on their way from
/// the thread that reads to those that follow connections.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Taken {
    at: At,
    path: u32,
    addresses: [Ipv4Addr; 2],
    ports: [u16; 2],
    sequence: u32,
    acknowledgment: u32,
    payload_bytes: u32,
    timestamps: (u32, u32),
    window: u16,
    checksum: u16,
    identification: u16,
    flags: Flags,
    ttl: u8,
    header_bytes: u8,
    ecn: u8,
    kind: Kind,
}

const _: () = assert!(size_of::<Taken>() == 64);

/// How much of a segment the line holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// All of it, over IPv4 and with no option.
    Bare,
    /// The same with timestamps: nearly every segment.
    Stamped,
    /// Its place among those that are kept whole, instead of its sequence number.
    Whole(Seen),
}

impl Taken {
    /// Of a segment whose ends have these addresses and that has nothing but timestamps for an option.
    #[inline]
    fn new(segment: &Segment, addresses: [Ipv4Addr; 2], path: u32, at: At) -> Self {
        let timestamps = segment.options.timestamps;
        Self {
            at,
            path,
            addresses,
            ports: [segment.source.port, segment.destination.port],
            sequence: segment.sequence,
            acknowledgment: segment.acknowledgment,
            payload_bytes: segment.payload_bytes,
            timestamps: timestamps.unwrap_or_default(),
            window: segment.window,
            checksum: segment.checksum,
            identification: segment.identification.unwrap_or_default(),
            flags: segment.flags,
            ttl: segment.ttl,
            header_bytes: segment.header_bytes,
            ecn: segment.ecn,
            kind: if timestamps.is_some() {
                Kind::Stamped
            } else {
                Kind::Bare
            },
        }
    }

    /// A segment that is kept whole at this place.
    fn whole(place: usize, seen: Seen, path: u32, at: At) -> Self {
        Self {
            at,
            path,
            addresses: [Ipv4Addr::UNSPECIFIED; 2],
            ports: [0; 2],
            sequence: place as u32,
            acknowledgment: 0,
            payload_bytes: 0,
            timestamps: (0, 0),
            window: 0,
            checksum: 0,
            identification: 0,
            flags: Flags(0),
            ttl: 0,
            header_bytes: 0,
            ecn: 0,
            kind: Kind::Whole(seen),
        }
    }

    /// The segment, if the line holds all of it.
    #[inline]
    fn segment(&self) -> Segment {
        let [source, destination] = [0, 1].map(|end| Endpoint {
            address: self.addresses[end].into(),
            port: self.ports[end],
        });
        Segment {
            source,
            destination,
            sequence: self.sequence,
            acknowledgment: self.acknowledgment,
            flags: self.flags,
            window: self.window,
            header_bytes: self.header_bytes,
            payload_bytes: self.payload_bytes,
            options: Options {
                timestamps: (self.kind == Kind::Stamped).then_some(self.timestamps),
                ..Options::default()
            },
            ttl: self.ttl,
            identification: Some(self.identification),
            ecn: self.ecn,
            checksum: self.checksum,
        }
    }
}

/// Segments of a stretch of frames that belong to one table.
#[derive(Debug, Default)]
pub struct Batch {
    segments: Vec<Taken>,
    /// Those that need more than a line.
    whole: Vec<Segment>,
    /// Of each, the hash of its connection.
    hashes: Vec<u32>,
    /// The headers around segments, by the number beside them: each differs from the one before.
    paths: Vec<Path>,
    /// What to do first.
    orders: Orders,
    /// Places of the segments, as they are taken.
    order: Vec<u32>,
    /// Those that are taken next.
    near: Vec<Taken>,
}

impl Batch {
    /// Segments are put in order by so many values of a hash: connections that share one are mixed, and few do.
    const VALUES: usize = 512;
    /// So many are fetched together: another thread wrote them, and memory is waited for once.
    const TOGETHER: usize = 64;

    /// What its table does first.
    pub fn begin(&mut self, orders: Orders) {
        self.orders = orders;
    }

    /// Adds the next segment.
    #[inline]
    pub fn push(&mut self, seen: Seen, hash: u32, segment: &Segment, path: &Path, at: At) {
        let same = |last: &Path| last.is_plain() && path.is_plain() || last == path;
        if !self.paths.last().is_some_and(same) {
            self.paths.push(*path);
        }
        let path = self.paths.len() as u32 - 1;
        self.hashes.push(hash);
        if let (Seen::Captured, IpAddr::V4(source), IpAddr::V4(destination), Some(_)) = (
            seen,
            segment.source.address,
            segment.destination.address,
            segment.identification,
        ) && segment.options.is_timestamps()
        {
            let addresses = [source, destination];
            self.segments.push(Taken::new(segment, addresses, path, at));
        } else {
            self.push_whole(seen, segment, path, at);
        }
    }

    #[cold]
    fn push_whole(&mut self, seen: Seen, segment: &Segment, path: u32, at: At) {
        let taken = Taken::whole(self.whole.len(), seen, path, at);
        self.segments.push(taken);
        self.whole.push(*segment);
    }

    /// Gives all to their table; the batch is empty then.
    pub fn give(&mut self, table: &mut Table) -> News {
        table.follow(&self.orders);
        if table.makes_events() {
            self.order.clear();
            self.order.extend(0..self.segments.len() as u32);
        } else {
            self.put_in_order();
        }
        for places in self.order.chunks(Self::TOGETHER) {
            self.near.clear();
            let fetched = places.iter().map(|&place| self.segments[place as usize]);
            self.near.extend(fetched);
            for (taken, &place) in self.near.iter().zip(places) {
                let hash = self.hashes[place as usize];
                let path = &self.paths[taken.path as usize];
                match taken.kind {
                    Kind::Bare | Kind::Stamped => {
                        table.take(Seen::Captured, hash, &taken.segment(), path, taken.at);
                    }
                    Kind::Whole(seen) => {
                        let segment = &self.whole[taken.sequence as usize];
                        table.take(seen, hash, segment, path, taken.at);
                    }
                }
            }
        }
        self.segments.clear();
        self.whole.clear();
        self.hashes.clear();
        self.paths.clear();
        table.news()
    }

    /// Puts those of one connection together, as they came: sorts by counting.
    fn put_in_order(&mut self) {
        let value = |hash: u32| hash as usize % Self::VALUES;
        let mut places = [0; Self::VALUES];
        for &hash in &self.hashes {
            places[value(hash)] += 1;
        }
        let mut before = 0;
        for count in &mut places {
            before += std::mem::replace(count, before);
        }
        self.order.resize(self.hashes.len(), 0);
        for (segment, &hash) in (0..).zip(&self.hashes) {
            let place: &mut usize = &mut places[value(hash)];
            self.order[*place] = segment;
            *place += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        // The oracle is a sort that keeps the order of what is equal.
        #[test]
        fn segments_of_one_connection_are_taken_together_and_as_they_came(
            hashes in prop::collection::vec(0..2000u32, 0..300),
        ) {
            let mut expected: Vec<u32> = (0..hashes.len() as u32).collect();
            expected.sort_by_key(|&segment| hashes[segment as usize] as usize % Batch::VALUES);
            let mut batch = Batch { hashes, ..Batch::default() };
            batch.put_in_order();
            prop_assert_eq!(batch.order, expected);
        }
    }
}
