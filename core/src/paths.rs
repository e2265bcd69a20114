//! # Paths
//! Quantities that the flows from one host to another share: the min RTT that any of them measured, and the bytes that
//! each delivered in each round.

use crate::capture::{Recording, recording_at};
use crate::threads;
use crate::track::{DatagramFlow, NULL, Round, Shards};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::BuildHasher;
use std::ops::Range;
use std::thread;

/// Rounds of flows that share their path with other flows, as columns.
#[derive(Debug, Default)]
pub struct Deliveries {
    /// Row of the flow in [`crate::columns::directions`] of all streams.
    pub row: Vec<i64>,
    /// Start of each round, in ns since the epoch.
    pub start_ns: Vec<i64>,
    /// End of each round, in ns since the epoch.
    pub end_ns: Vec<i64>,
    /// Bytes that the flow delivered in each round.
    pub delivered_bytes: Vec<i64>,
}

/// Paths between hosts, and the flows on them.
#[derive(Debug)]
pub struct Paths {
    /// Number of the path of each direction of each stream.
    pub of_streams: Vec<u32>,
    /// Number of the path of each UDP flow.
    pub of_datagrams: Vec<u32>,
    /// Min RTT of each path, in ns; [`NULL`] where none was measured. A flow without a round trip to its sender
    /// counts only if all flows of the path are such. The tap may be far from the sender.
    pub rtt_ns: Vec<i64>,
    /// Rounds of flows that share their path with other flows.
    pub shared: Deliveries,
    /// For each path the time at which the last round of all flows of its recording ended, in ns since the epoch; 0
    /// without a round.
    pub end_ns: Vec<i64>,
    /// Number of rounds of all flows.
    pub rounds: usize,
}

impl Paths {
    /// Finds the paths of a capture that was read to its end. Flows of two recordings share none.
    #[must_use]
    pub fn of(table: &Shards, datagrams: &[DatagramFlow], recordings: &[Recording]) -> Self {
        let recording = |row: usize| {
            // Most captures are one recording.
            if recordings.len() < 2 {
                return 0;
            }
            let start_ns = match row.checked_sub(2 * table.len()) {
                None => table.summaries(row / 2).2[row % 2].start_ns,
                Some(flow) => datagrams[flow].start_ns,
            };
            recording_at(recordings, start_ns)
        };
        let (of_streams, of_datagrams, first_rows) = path_numbers(table, datagrams, recording);
        let number = of_streams.iter().chain(&of_datagrams).max();
        let mut flows = vec![0_u32; number.map_or(0, |&most| most as usize + 1)];
        for &path in of_streams.iter().chain(&of_datagrams) {
            flows[path as usize] += 1;
        }
        let mut paths = Self {
            rtt_ns: vec![NULL; flows.len()],
            of_streams,
            of_datagrams,
            shared: Deliveries::default(),
            end_ns: Vec::new(),
            rounds: 0,
        };
        let counted = threads::each(parts(table.len()), |streams| {
            Part::of(table, streams, &paths.of_streams, &flows, &recording)
        });
        let mut to_receiver = Vec::new();
        let mut ends_ns = vec![0; recordings.len().max(1)];
        for part in counted {
            to_receiver.extend_from_slice(&part.to_receiver_ns);
            for (all, own) in ends_ns.iter_mut().zip(&part.ends_ns) {
                *all = (*all).max(*own);
            }
            paths.add(part);
        }
        // Streams of path 0 have no rounds.
        let end_of = |&row: &usize| ends_ns[recording(row)];
        let followed = first_rows.iter().skip(1).map(end_of);
        paths.end_ns = std::iter::once(0).chain(followed).collect();
        to_receiver.retain(|&(path, _)| paths.rtt_ns[path as usize] == NULL);
        paths.add_rtts(to_receiver);
        paths
    }

    fn add_rtts(&mut self, rtts: Vec<(u32, i64)>) {
        for (path, rtt_ns) in rtts {
            let min_rtt_ns = &mut self.rtt_ns[path as usize];
            *min_rtt_ns = lesser(*min_rtt_ns, rtt_ns);
        }
    }

    fn add(&mut self, part: Part) {
        self.add_rtts(part.rtt_ns);
        self.shared.row.extend(part.shared.row);
        self.shared.start_ns.extend(part.shared.start_ns);
        self.shared.end_ns.extend(part.shared.end_ns);
        let delivered = part.shared.delivered_bytes;
        self.shared.delivered_bytes.extend(delivered);
        self.rounds += part.rounds;
    }
}

/// The contribution of a range of streams to [`Paths`].
#[derive(Default)]
struct Part {
    /// Path and min RTT of each flow.
    rtt_ns: Vec<(u32, i64)>,
    /// Path and min RTT of each flow without a round trip to its sender, on a path that it shares.
    to_receiver_ns: Vec<(u32, i64)>,
    shared: Deliveries,
    /// Time at which the last round of each recording ended, as far as there are any.
    ends_ns: Vec<i64>,
    rounds: usize,
}

impl Part {
    fn of(
        table: &Shards,
        streams: Range<usize>,
        paths: &[u32],
        flows: &[u32],
        recording: &impl Fn(usize) -> usize,
    ) -> Self {
        let mut part = Self::default();
        for stream in streams {
            for from in [0, 1] {
                let row = 2 * stream + from;
                let path = paths[row];
                let shared = flows[path as usize] > 1;
                let (mut least, mut last, mut end_ns) = (NULL, None, 0);
                for round in table.rounds(stream, from) {
                    part.rounds += 1;
                    end_ns = round.end_ns.max(end_ns);
                    least = lesser(least, round.flow_rtt_min_ns);
                    if shared {
                        part.shared.add(row, &round);
                    }
                    last = Some(round.flow_rtt_min_ns);
                }
                let Some(last) = last else { continue };
                part.add_end(recording(row), end_ns);
                let summary = || table.summaries(stream).2[from];
                let rtt_ns = min_rtt_ns(last, least, || summary().initial_rtt_ns);
                let partial = shared && rtt_ns != NULL && summary().sender_side_ns == NULL;
                let rtts = if partial {
                    &mut part.to_receiver_ns
                } else {
                    &mut part.rtt_ns
                };
                rtts.push((path, rtt_ns));
            }
        }
        part
    }

    fn add_end(&mut self, recording: usize, end_ns: i64) {
        if self.ends_ns.len() <= recording {
            self.ends_ns.resize(recording + 1, 0);
        }
        self.ends_ns[recording] = self.ends_ns[recording].max(end_ns);
    }
}

impl Deliveries {
    fn add(&mut self, row: usize, round: &Round) {
        self.row.push(row as i64);
        self.start_ns.push(round.start_ns);
        self.end_ns.push(round.end_ns);
        self.delivered_bytes.push(round.delivered_bytes);
    }
}

/// Returns a flow's min RTT in ns: the one known in its last round, else the handshake's, else the least of any round;
/// [`NULL`] if none is known.
fn min_rtt_ns(last: i64, least: i64, initial: impl Fn() -> i64) -> i64 {
    if last != NULL {
        return last;
    }
    match initial() {
        NULL => least,
        initial => initial,
    }
}

/// Returns the smaller of two numbers, of which either may be [`NULL`].
fn lesser(one: i64, other: i64) -> i64 {
    match (one, other) {
        (NULL, known) | (known, NULL) => known,
        _ => one.min(other),
    }
}

/// Splits the streams into one range for each processor, up to 8. A range has at least 8,192 streams, but for the last.
fn parts(streams: usize) -> Vec<Range<usize>> {
    const LEAST: usize = 1 << 13;
    const MOST: usize = 8;
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let size = streams.div_ceil(processors.min(MOST)).max(LEAST);
    let starts = (0..streams).step_by(size);
    starts
        .map(|start| start..(start + size).min(streams))
        .collect()
}

/// Numbers the paths from host to host in each recording. Returns the path of each direction of each stream, the path of
/// each UDP flow, and a row of each path. Streams of which no more than a SYN was captured get path 0, since a port scan has
/// millions of them.
fn path_numbers(
    table: &Shards,
    datagrams: &[DatagramFlow],
    recording: impl Fn(usize) -> usize,
) -> (Vec<u32>, Vec<u32>, Vec<usize>) {
    let rows = 2 * table.len();
    let key = |row: usize| match row.checked_sub(rows) {
        None => {
            let ends = table.ends(row / 2);
            let (own, other) = (ends[row % 2].address, ends[1 - row % 2].address);
            (own, other, recording(row))
        }
        Some(flow) => {
            let flow = &datagrams[flow];
            (flow.sender.address, flow.receiver.address, recording(row))
        }
    };
    let is_followed = |row: &usize| *row >= rows || table.has_more_than_syn(row / 2);
    let all = 0..rows + datagrams.len();
    let hashes = foldhash::fast::RandomState::default();
    // There may be as many paths as rows, so the table has no keys but the number of each path. Its first row has the key.
    let room = all.clone().filter(is_followed).count();
    let mut numbers = HashTable::<u32>::with_capacity(room);
    let mut first_rows = vec![0];
    let mut number = |row: usize| {
        if !is_followed(&row) {
            return 0;
        }
        let own = key(row);
        let is_same = |&path: &u32| key(first_rows[path as usize]) == own;
        let next = first_rows.len() as u32;
        let hash = hashes.hash_one(own);
        let rehash = |&path: &u32| hashes.hash_one(key(first_rows[path as usize]));
        match numbers.entry(hash, is_same, rehash) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(free) => {
                free.insert(next);
                first_rows.push(row);
                next
            }
        }
    };
    let of_streams = (0..rows).map(&mut number).collect();
    let of_datagrams = (rows..all.end).map(number).collect();
    (of_streams, of_datagrams, first_rows)
}
