//! # Shards
//! The connections of a capture, shared out to tables that may be filled by several threads, and told as one table.
//!
//! Nothing depends on how many tables there are. Segments come in batches of the capture. After each batch its new
//! connections are numbered by their first frames, and its rows put in order. What connections are let go follows from
//! the batches alone.

use super::summary::{Life, Summary};
use super::{Commands, ConnectionEnd, InferredScales, Table, TableReport, WantedEvents};
use crate::budget::{Budget, LeftOut};
use crate::decode::{Endpoint, Path};
use crate::threads;
use crate::track::connection::Rows;
use crate::track::connection::turns::Turn;
use crate::track::rounds::round::Round;
use foldhash::quality::RandomState;
use std::collections::VecDeque;
use std::hash::BuildHasher;

/// Where a connection is.
#[derive(Debug, Clone, Copy)]
struct Location {
    shard: u32,
    index: u32,
}

/// Which connection is where, and what the tables told.
#[derive(Debug, Default)]
pub struct Register {
    /// By stream number.
    locations: Vec<Location>,
    /// Stream numbers, by table and place in it.
    numbers: Vec<Vec<u32>>,
    /// First frames, by stream number, if they are to be kept.
    first_frames: Option<Vec<u64>>,
    /// Connections that ended but may get packets yet, the longest ago first.
    ended: VecDeque<(u32, ConnectionEnd)>,
    /// Rows made so far and not yet taken.
    pub rows: Rows,
    budget: Budget,
    /// What there was no room for.
    pub left_out: LeftOut,
}

impl Register {
    /// So many connections that ended are kept whole for packets that come late. Hosts bound what they keep for the
    /// same purpose in TIME-WAIT (Linux: `tcp_max_tw_buckets`).
    const MAX_ENDED: usize = 4096;

    /// Takes what the tables told of one batch, in their order. Gives what each should do because of it.
    pub fn take(&mut self, mut reports: Vec<TableReport>) -> Vec<Commands> {
        self.number_connections(&reports);
        let mut ended = Vec::new();
        let mut all_turns = Vec::new();
        for ((shard, numbers), report) in (0..).zip(&self.numbers).zip(&mut reports) {
            let Rows { turns, events } = &mut report.rows;
            for turn in turns.iter_mut() {
                turn.stream = numbers[turn.stream as usize];
            }
            for event in events.iter_mut() {
                event.stream = numbers[event.stream as usize];
            }
            all_turns.append(turns);
            self.left_out.segments += report.segments_left_out;
            ended.extend(report.ended.drain(..).map(|ended| (shard, ended)));
        }
        self.add_turns(all_turns);
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

    /// Turns, as long as there is room for them: of one batch the streams with the lowest numbers go first.
    fn add_turns(&mut self, mut turns: Vec<Turn>) {
        let room = self.budget.rows.saturating_sub(self.rows.turns.len());
        if turns.len() > room {
            turns.sort_by_key(|turn| turn.stream);
            self.left_out.turns += (turns.len() - room) as u64;
            turns.truncate(room);
        }
        self.rows.turns.append(&mut turns);
    }

    /// Events in the order of their frames; those of one frame are of one table.
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
    /// Of the connection between these ends, the same whichever of them sent.
    #[must_use]
    #[inline]
    pub fn hash(&self, source: Endpoint, destination: Endpoint) -> u64 {
        if let (Some(one), Some(other)) = (source.v4(), destination.v4()) {
            return self.0.hash_one((one.min(other), one.max(other)));
        }
        self.hash_pair(source, destination)
    }

    /// A sum is the same in either order. Of ends that are not hashed well before, it is the same for many connections:
    /// products alone cancel out where one end counts up and the other down.
    fn hash_pair(&self, source: Endpoint, destination: Endpoint) -> u64 {
        let source = self.0.hash_one(source);
        source.wrapping_add(self.0.hash_one(destination))
    }
}

/// Which of so many tables a connection of this hash belongs to.
#[must_use]
pub fn shard(hash: u64, tables: usize) -> usize {
    // A table looks at the lower bits.
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
    /// So many tables that make the events wanted, with window scales that an earlier pass inferred.
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

    /// From now on keeps the first frame of every stream, also of one that is only quoted.
    pub fn keep_first_frames(&mut self) {
        self.register.first_frames = Some(Vec::new());
    }

    /// First frames by stream number, as far as they were kept.
    #[must_use]
    pub fn first_frames(&self) -> &[u64] {
        self.register.first_frames.as_deref().unwrap_or_default()
    }

    /// The tables, to be filled, what to tell of it, and how connections are hashed.
    pub fn parts(&mut self) -> (&mut Vec<Table>, &mut Register, &ConnectionHasher) {
        (&mut self.tables, &mut self.register, &self.hashes)
    }

    /// The capture ended. Where many connections did not, much is left to do: the tables share it.
    pub fn finish(&mut self) {
        let finished = threads::each(&mut self.tables, |table| {
            table.finish();
            table.take_report()
        });
        self.register.take(finished);
    }

    /// See [`Table::replay_all`].
    pub fn replay_all(&mut self) {
        for table in &mut self.tables {
            table.replay_all();
        }
    }

    /// Rows made so far and not yet taken.
    pub fn rows(&mut self) -> &mut Rows {
        &mut self.register.rows
    }

    /// What there was no room for.
    #[must_use]
    pub fn left_out(&self) -> LeftOut {
        self.register.left_out
    }

    /// How many connections there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.register.locations.len()
    }

    /// Are there none?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.register.locations.is_empty()
    }

    fn at(&self, stream: usize) -> (&Table, usize) {
        let Location { shard, index } = self.register.locations[stream];
        (&self.tables[shard as usize], index as usize)
    }

    /// Streams of which there is nothing but what ICMP messages quote.
    #[must_use]
    pub fn quoted(&self) -> usize {
        self.tables.iter().map(Table::quoted).sum()
    }

    /// Client and server of a stream.
    #[must_use]
    pub fn ends(&self, stream: usize) -> &[Endpoint; 2] {
        let (table, index) = self.at(stream);
        table.ends(index)
    }

    /// Client and server of a stream, the headers around its first packet, and what is told of either direction.
    #[must_use]
    pub fn summaries(&self, stream: usize) -> (&[Endpoint; 2], &Path, [Summary; 2]) {
        let (table, index) = self.at(stream);
        table.summaries(index)
    }

    /// As [`Table::has_more_than_syn`].
    #[must_use]
    pub fn has_more_than_syn(&self, stream: usize) -> bool {
        let (table, index) = self.at(stream);
        table.has_more_than_syn(index)
    }

    /// How a stream began and ended.
    #[must_use]
    pub fn life(&self, stream: usize) -> Life {
        let (table, index) = self.at(stream);
        table.life(index)
    }

    /// The finished rounds of what one end of a stream sent, in their order.
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
    fn tables_share_evenly_where_the_numbers_of_both_ends_add_up_to_the_same() {
        let end = |last: u8| Endpoint {
            address: [10, 0, 0, last].into(),
            port: 5001,
        };
        // Each has a seed of its own.
        for hashes in (0..100).map(|_| ConnectionHasher::default()) {
            let mut connections = [0; 2];
            for last in 0..=u8::MAX {
                let (one, other) = (end(last), end(u8::MAX - last));
                let hash = hashes.hash(one, other);
                assert_eq!(hash, hashes.hash(other, one));
                connections[shard(hash, 2)] += 1;
            }
            // Of 128 pairs, each seen from both ends; fewer than 28 of 128 fair coins come about once in 10^10 times.
            assert!(connections.iter().all(|&count| count >= 2 * 28));
        }
    }
}
