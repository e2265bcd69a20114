//! # Paths
//! What flows from one host to another tell of each other: the least RTT that any of them measured, and what each
//! delivered when.

use crate::decode::Endpoint;
use crate::threads;
use crate::track::{DatagramFlow, NULL, Round, Shards};
use std::collections::HashMap;
use std::ops::Range;
use std::thread;

/// When something was delivered, of flows that are not alone on their way.
#[derive(Debug, Default)]
pub struct Spans {
    /// Which row of the directions of all streams.
    pub row: Vec<i64>,
    /// Start of each round.
    pub start_ns: Vec<i64>,
    /// End of each round.
    pub end_ns: Vec<i64>,
    /// Delivered meanwhile.
    pub delivered_bytes: Vec<i64>,
}

/// See the fields.
#[derive(Debug)]
pub struct Paths {
    /// The way of either direction of every stream, as a number.
    pub of_streams: Vec<u32>,
    /// The way of every UDP flow.
    pub of_datagrams: Vec<u32>,
    /// The least RTT of each way; [`NULL`] where none was measured.
    pub rtt_ns: Vec<i64>,
    /// Rounds of flows whose way has others.
    pub shared: Spans,
    /// When the last round of all ended; 0 without a round.
    pub end_ns: i64,
    /// Rounds of all flows.
    pub rounds: usize,
}

impl Paths {
    /// Of a capture that was read to its end.
    #[must_use]
    pub fn of(table: &Shards, datagrams: &[DatagramFlow]) -> Self {
        let (of_streams, of_datagrams) = ways(table, datagrams);
        let number = of_streams.iter().chain(&of_datagrams).max();
        let mut flows = vec![0_u32; number.map_or(0, |&most| most as usize + 1)];
        for &way in of_streams.iter().chain(&of_datagrams) {
            flows[way as usize] += 1;
        }
        let mut paths = Self {
            rtt_ns: vec![NULL; flows.len()],
            of_streams,
            of_datagrams,
            shared: Spans::default(),
            end_ns: 0,
            rounds: 0,
        };
        let counted = threads::each(parts(table.len()), |streams| {
            Part::of(table, streams, &paths.of_streams, &flows)
        });
        for part in counted {
            paths.add(part);
        }
        paths
    }

    fn add(&mut self, part: Part) {
        for (way, rtt_ns) in part.rtt_ns {
            let least = &mut self.rtt_ns[way as usize];
            *least = lesser(*least, rtt_ns);
        }
        self.shared.row.extend(part.shared.row);
        self.shared.start_ns.extend(part.shared.start_ns);
        self.shared.end_ns.extend(part.shared.end_ns);
        let delivered = part.shared.delivered_bytes;
        self.shared.delivered_bytes.extend(delivered);
        self.end_ns = self.end_ns.max(part.end_ns);
        self.rounds += part.rounds;
    }
}

/// Some streams.
#[derive(Default)]
struct Part {
    rtt_ns: Vec<(u32, i64)>,
    shared: Spans,
    end_ns: i64,
    rounds: usize,
}

impl Part {
    fn of(table: &Shards, streams: Range<usize>, ways: &[u32], flows: &[u32]) -> Self {
        let mut part = Self::default();
        for stream in streams {
            for from in [0, 1] {
                let row = 2 * stream + from;
                let way = ways[row];
                let shared = flows[way as usize] > 1;
                let (mut least, mut last) = (NULL, None);
                for round in table.rounds(stream, from) {
                    part.rounds += 1;
                    part.end_ns = part.end_ns.max(round.end_ns);
                    least = lesser(least, round.rtt_floor_ns);
                    if shared {
                        part.shared.add(row, &round);
                    }
                    last = Some(round.rtt_floor_ns);
                }
                let Some(last) = last else { continue };
                let rtt_ns = least_rtt_ns(last, least, || {
                    table.summaries(stream).2[from].initial_rtt_ns
                });
                part.rtt_ns.push((way, rtt_ns));
            }
        }
        part
    }
}

impl Spans {
    fn add(&mut self, row: usize, round: &Round) {
        self.row.push(row as i64);
        self.start_ns.push(round.start_ns);
        self.end_ns.push(round.end_ns);
        self.delivered_bytes.push(round.delivered_bytes);
    }
}

/// The least RTT of a flow: as its last round knows it, else of the handshake, else of any round.
fn least_rtt_ns(last: i64, least: i64, initial: impl Fn() -> i64) -> i64 {
    if last != NULL {
        return last;
    }
    match initial() {
        NULL => least,
        initial => initial,
    }
}

fn lesser(one: i64, other: i64) -> i64 {
    match (one, other) {
        (NULL, known) | (known, NULL) => known,
        _ => one.min(other),
    }
}

/// The streams, in as many parts as there are processors; few streams are one part.
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

/// The way from host to host, as a number, of either direction of every stream, and of every UDP flow; 0 of streams of
/// which there is nothing but a SYN, of which a scan has millions.
fn ways(table: &Shards, datagrams: &[DatagramFlow]) -> (Vec<u32>, Vec<u32>) {
    let mut numbers = HashMap::<_, u32, foldhash::fast::RandomState>::default();
    let mut number = |from: &Endpoint, to: &Endpoint| {
        let next = numbers.len() as u32 + 1;
        *numbers.entry((from.address, to.address)).or_insert(next)
    };
    let of_streams = (0..table.len())
        .flat_map(|stream| {
            if !table.went_on(stream) {
                return [0, 0];
            }
            let [client, server] = table.ends(stream);
            [number(client, server), number(server, client)]
        })
        .collect();
    let of_datagrams = datagrams
        .iter()
        .map(|flow| number(&flow.sender, &flow.receiver))
        .collect();
    (of_streams, of_datagrams)
}
