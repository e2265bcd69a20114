//! # Shards
//! The connections of a capture, distributed over tables that several threads may fill, and presented as one table.
//!
//! The results do not depend on the number of tables. Segments are processed in batches of consecutive frames. After
//! each batch, its new connections are numbered by their first frames and its rows are sorted. The batches alone
//! determine when an ended connection is replaced by its results.

use super::summary::{Life, Summary};
use super::{Commands, ConnectionEnd, InferredScales, Table, TableReport, WantedEvents};
use crate::budget::{Budget, LeftOut};
use crate::decode::{Endpoint, Path};
use crate::threads;
use crate::track::connection::Rows;
use crate::track::rounds::round::Round;
use foldhash::quality::RandomState;
use std::collections::VecDeque;
use std::hash::BuildHasher;

/// Location of a connection: its table, and its index there.
#[derive(Debug, Clone, Copy)]
struct Location {
    shard: u32,
    index: u32,
}

/// Locations of all connections, and the rows that the tables reported.
#[derive(Debug, Default)]
pub struct Register {
    /// Locations by stream number.
    locations: Vec<Location>,
    /// Stream numbers, by table and index in the table.
    numbers: Vec<Vec<u32>>,
    /// First frames by stream number; `None` where they are not kept.
    first_frames: Option<Vec<u64>>,
    /// Ended connections that may still get packets, in the order of their ends.
    ended: VecDeque<(u32, ConnectionEnd)>,
    /// Rows that were reported and not yet taken.
    pub rows: Rows,
    budget: Budget,
    /// Counts of segments and turns that were left out because of the budget.
    pub left_out: LeftOut,
}

impl Register {
    /// Number of ended connections whose full state is kept for late packets. Hosts bound the number of connections in
    /// TIME-WAIT for the same purpose (Linux: `tcp_max_tw_buckets`).
    const MAX_ENDED: usize = 4096;

    /// Processes the reports of one batch, one for each table; returns the commands for each table.
    pub fn take(&mut self, mut reports: Vec<TableReport>) -> Vec<Commands> {
        self.number_connections(&reports);
        let mut ended = Vec::new();
        let turns_before = self.rows.turns.len();
        for ((shard, numbers), report) in (0..).zip(&self.numbers).zip(&mut reports) {
            let Rows { turns, events } = &mut report.rows;
            for turn in turns.iter_mut() {
                turn.stream = numbers[turn.stream as usize];
            }
            for event in events.iter_mut() {
                event.stream = numbers[event.stream as usize];
            }
            self.rows.turns.append(turns);
            self.left_out.segments += report.segments_left_out;
            ended.extend(report.ended.drain(..).map(|ended| (shard, ended)));
        }
        self.limit_turns(turns_before);
        self.add_events(reports);
        ended.sort_unstable_by_key(|(_, ended)| ended.frame);
        self.ended.extend(ended);
        let commands = Commands {
            ended: Vec::new(),
            full: self.locations.len() >= self.budget.connections,
        };
        let mut commands = vec![commands; self.numbers.len()];
        while self.ended.len() > Self::MAX_ENDED {
            if let Some((shard, ended)) = self.ended.pop_front() {
                commands[shard as usize].ended.push(ended);
            }
        }
        commands
    }

    /// Leaves out turns of the newest batch, those from `first` on, that exceed the budget of rows. The streams with the
    /// lowest numbers come first.
    fn limit_turns(&mut self, first: usize) {
        let most = self.budget.rows.max(first);
        let turns = &mut self.rows.turns;
        if turns.len() > most {
            turns[first..].sort_by_key(|turn| turn.stream);
            self.left_out.turns += (turns.len() - most) as u64;
            turns.truncate(most);
        }
    }

    /// Adds events in the order of their frames; the events of one frame are all in one report.
    fn add_events(&mut self, reports: Vec<TableReport>) {
        let from = self.rows.events.len();
        for mut report in reports {
            self.rows.events.append(&mut report.rows.events);
        }
        self.rows.events[from..].sort_by_key(|event| event.frame);
    }

    /// Numbers new connections by their first frames.
    fn number_connections(&mut self, reports: &[TableReport]) {
        let mut opened = Vec::new();
        for ((shard, numbers), report) in (0..).zip(&mut self.numbers).zip(reports) {
            let indices = numbers.len() as u32..;
            opened.extend(
                report
                    .opened
                    .iter()
                    .zip(indices)
                    .map(|(&frame, index)| (frame, Location { shard, index })),
            );
            numbers.resize(numbers.len() + report.opened.len(), u32::MAX);
        }
        opened.sort_unstable_by_key(|(frame, _)| *frame);
        if let Some(frames) = &mut self.first_frames {
            frames.extend(opened.iter().map(|(frame, _)| frame));
        }
        for (_, location) in opened {
            self.numbers[location.shard as usize][location.index as usize] =
                self.locations.len() as u32;
            self.locations.push(location);
        }
    }
}

/// Hash function of connections, with a random seed.
#[derive(Debug, Default)]
pub struct ConnectionHasher(RandomState);

impl ConnectionHasher {
    /// Returns the hash of the connection between these ends; it is equal for both directions.
    #[must_use]
    #[inline]
    pub fn hash(&self, [source, destination]: [Endpoint; 2]) -> u64 {
        if let (Some(one), Some(other)) = (source.v4(), destination.v4()) {
            return self.0.hash_one((one.min(other), one.max(other)));
        }
        self.hash_pair(source, destination)
    }

    /// Returns the sum of both ends' hashes, which is equal in either order. Each end needs a good hash. With mere
    /// products, many connections would have equal sums: those where one end's number counts up and the other's down.
    fn hash_pair(&self, source: Endpoint, destination: Endpoint) -> u64 {
        let source = self.0.hash_one(source);
        source.wrapping_add(self.0.hash_one(destination))
    }
}

/// Returns the index of the table, of `tables` in all, to which a connection of this hash belongs.
#[must_use]
pub fn shard(hash: u64, tables: usize) -> usize {
    // The upper bits choose the table, since a table uses the lower bits.
    (((hash >> 32) * tables as u64) >> 32) as usize
}

/// All connections of a capture, numbered as Wireshark numbers `tcp.stream`.
#[derive(Debug)]
pub struct Shards {
    tables: Vec<Table>,
    register: Register,
    hashes: ConnectionHasher,
}

impl Shards {
    /// Returns `tables` empty tables that create the wanted events; `scales` are those that an earlier pass inferred.
    #[must_use]
    pub fn new(
        tables: usize,
        wanted: &WantedEvents,
        scales: &InferredScales,
        budget: Budget,
    ) -> Self {
        let tables: Vec<_> = (0..tables.max(1))
            .map(|_| Table::new(wanted.clone(), scales.clone(), budget))
            .collect();
        let numbers = vec![Vec::new(); tables.len()];
        Self {
            tables,
            register: Register {
                numbers,
                budget,
                ..Register::default()
            },
            hashes: ConnectionHasher::default(),
        }
    }

    /// Keeps the first frame of every stream from now on, also of streams that are only quoted by ICMP messages.
    pub fn keep_first_frames(&mut self) {
        self.register.first_frames = Some(Vec::new());
    }

    /// Returns the first frames by stream number; empty where they are not kept.
    #[must_use]
    pub fn first_frames(&self) -> &[u64] {
        self.register.first_frames.as_deref().unwrap_or_default()
    }

    /// Returns the tables to fill, the register for their reports, and the hash function of connections.
    pub fn parts(&mut self) -> (&mut Vec<Table>, &mut Register, &ConnectionHasher) {
        (&mut self.tables, &mut self.register, &self.hashes)
    }

    /// Ends the capture: finishes all connections. The tables do so in parallel, since many connections may still be
    /// open.
    pub fn finish(&mut self) {
        let finished = threads::each(&mut self.tables, |table| {
            table.finish();
            table.take_report()
        });
        self.register.take(finished);
    }

    /// Processes the kept segments of every short-lived connection; see [`Table::replay_all`].
    pub fn replay_all(&mut self) {
        for table in &mut self.tables {
            table.replay_all();
        }
    }

    /// Returns the rows that were reported and not yet taken.
    pub fn rows(&mut self) -> &mut Rows {
        &mut self.register.rows
    }

    /// Returns counts of the segments and turns that were left out because of the budget.
    #[must_use]
    pub fn left_out(&self) -> LeftOut {
        self.register.left_out
    }

    /// Returns the number of connections.
    #[must_use]
    pub fn len(&self) -> usize {
        self.register.locations.len()
    }

    /// Are there no connections?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.register.locations.is_empty()
    }

    /// Returns the table of a stream, and the stream's index there.
    fn at(&self, stream: usize) -> (&Table, usize) {
        let Location { shard, index } = self.register.locations[stream];
        (&self.tables[shard as usize], index as usize)
    }

    /// Returns the number of streams of which only segments quoted by ICMP messages were captured.
    #[must_use]
    pub fn quoted(&self) -> usize {
        self.tables.iter().map(Table::quoted).sum()
    }

    /// Returns client and server of a stream.
    #[must_use]
    pub fn ends(&self, stream: usize) -> &[Endpoint; 2] {
        let (table, index) = self.at(stream);
        table.ends(index)
    }

    /// Returns client and server of a stream, the headers around its first packet, and the summaries of both
    /// directions, the client's first.
    #[must_use]
    pub fn summaries(&self, stream: usize) -> (&[Endpoint; 2], &Path, [Summary; 2]) {
        let (table, index) = self.at(stream);
        table.summaries(index)
    }

    /// Was more of the stream captured than a SYN? See [`Table::has_more_than_syn`].
    #[must_use]
    pub fn has_more_than_syn(&self, stream: usize) -> bool {
        let (table, index) = self.at(stream);
        table.has_more_than_syn(index)
    }

    /// Returns how a stream began and ended.
    #[must_use]
    pub fn life(&self, stream: usize) -> Life {
        let (table, index) = self.at(stream);
        table.life(index)
    }

    /// Yields the finished rounds of the data that one end of a stream sent, in order of time.
    pub fn rounds(&self, stream: usize, from: usize) -> impl Iterator<Item = Round> {
        let (table, index) = self.at(stream);
        let number = stream as u32;
        table.rounds(index, from).map(move |row| Round {
            stream: number,
            ..row
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_with_equal_sums_are_distributed_evenly() {
        let end = |last: u8| Endpoint {
            address: [10, 0, 0, last].into(),
            port: 5001,
        };
        // Each hasher has another random seed.
        for hashes in (0..100).map(|_| ConnectionHasher::default()) {
            let mut connections = [0; 2];
            for last in 0..=u8::MAX {
                let (one, other) = (end(last), end(u8::MAX - last));
                let hash = hashes.hash([one, other]);
                assert_eq!(hash, hashes.hash([other, one]));
                connections[shard(hash, 2)] += 1;
            }
            // There are 128 pairs, each counted from both ends. Fewer than 28 heads of 128 fair coins have a chance of
            // 10^-10.
            assert!(connections.iter().all(|&count| count >= 2 * 28));
        }
    }
}
