//! # Batch
//! Segments that a table processes together.
//!
//! The segments of one connection are processed one after the other. The connection's state is then fetched from memory
//! once, not for every segment. Connections do not depend on each other, so the results stay equal. Events must be in
//! the order of the capture, though: where they are wanted, segments are processed in that order.

use super::line::{Line, Lines, Provenance};
use super::{Commands, Table, TableReport};
use crate::decode::{Path, Tcp};
use crate::track::at::At;

/// Segments of consecutive frames that belong to one table.
#[derive(Debug, Default)]
pub struct Batch {
    segments: Lines,
    /// Hash of each segment's connection.
    hashes: Vec<u32>,
    /// Headers around segments; a [`Line`] has an index into them. Each differs from the one before.
    paths: Vec<Path>,
    /// Commands that the table executes first.
    commands: Commands,
    /// Indices of the segments, in the order of processing.
    order: Vec<u32>,
    /// Copies of the segments that are processed next.
    prefetched: Vec<Line>,
}

impl Batch {
    /// Number of buckets for sorting by hash. Segments of connections in one bucket are not separated; few share one.
    const BUCKETS: usize = 512;
    /// Number of segments that are copied at once. Another thread wrote them, so each access alone would wait for
    /// memory.
    const PREFETCHED: usize = 64;

    /// Begins the batch with the commands that its table executes first.
    pub fn begin(&mut self, commands: Commands) {
        self.commands = commands;
    }

    /// Adds the next segment; `path` are the headers around it.
    #[inline]
    pub fn push(&mut self, provenance: Provenance, hash: u32, tcp: &Tcp<'_>, path: &Path, at: At) {
        let same = |last: &Path| last.is_plain() && path.is_plain() || last == path;
        if !self.paths.last().is_some_and(same) {
            self.paths.push(*path);
        }
        let path = self.paths.len() as u32 - 1;
        self.hashes.push(hash);
        self.segments.push_header(provenance, tcp, path, at);
    }

    /// Lets `table` process all segments, empties the batch and returns the table's report.
    pub fn process(&mut self, table: &mut Table) -> TableReport {
        table.execute(&self.commands);
        let lines = self.segments.lines();
        if table.makes_events() {
            self.order.clear();
            self.order.extend(0..lines.len() as u32);
        } else {
            Self::sort_by_connection(&self.hashes, &mut self.order);
        }
        for places in self.order.chunks(Self::PREFETCHED) {
            self.prefetched.clear();
            let fetched = places.iter().map(|&place| lines[place as usize]);
            self.prefetched.extend(fetched);
            for (line, &place) in self.prefetched.iter().zip(places) {
                let hash = self.hashes[place as usize];
                let path = &self.paths[line.path as usize];
                self.segments.read(line, |provenance, segment| {
                    table.take(provenance, hash, segment, path, line.at);
                });
            }
        }
        self.segments.clear();
        self.hashes.clear();
        self.paths.clear();
        table.take_report()
    }

    /// Sorts the indices of segments by bucket (counting sort); segments of one bucket keep their order.
    fn sort_by_connection(hashes: &[u32], order: &mut Vec<u32>) {
        let bucket = |hash: u32| hash as usize % Self::BUCKETS;
        let mut places = [0; Self::BUCKETS];
        for &hash in hashes {
            places[bucket(hash)] += 1;
        }
        let mut before = 0;
        for count in &mut places {
            before += std::mem::replace(count, before);
        }
        order.resize(hashes.len(), 0);
        for (segment, &hash) in (0..).zip(hashes) {
            let place: &mut usize = &mut places[bucket(hash)];
            order[*place] = segment;
            *place += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        // The reference is a stable sort.
        #[test]
        fn sorting_by_connection_is_stable(
            hashes in prop::collection::vec(0..2000u32, 0..300),
        ) {
            let mut expected: Vec<u32> = (0..hashes.len() as u32).collect();
            expected.sort_by_key(|&segment| hashes[segment as usize] as usize % Batch::BUCKETS);
            let mut order = Vec::new();
            Batch::sort_by_connection(&hashes, &mut order);
            prop_assert_eq!(order, expected);
        }
    }
}
