//! # Columns
//! Rows to named columns, the form in which results leave the core.

use crate::decode::{Endpoint, Layer, Path};
use crate::track::{
    Cause, DatagramFlow, Ending, Event, Kind, NULL, Opening, ScaleSource, Shards, Turn,
};
use std::cell::Cell;
use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;

/// One column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Column {
    /// Signed integers, [`NULL`] where absent.
    I64(Vec<i64>),
    /// Frame numbers.
    U64(Vec<u64>),
    /// Stream and round numbers.
    U32(Vec<u32>),
    /// Small enumerations.
    U8(Vec<u8>),
    /// Names, by their place among all names in it.
    Text(Vec<u32>, Vec<String>),
}

/// Columns of equal length, in order.
pub type Columns = Vec<(&'static str, Column)>;

/// Rows that are transposed together, so that they fit a cache.
const CHUNK: usize = 32;

/// Rows for which room is made before they come.
const MOST_ROOM: usize = 1 << 16;

/// Gives rows in chunks. An iterator that is driven from within takes fewer steps than one that is asked for each row.
fn in_chunks<T>(rows: impl Iterator<Item = T>, mut take: impl FnMut(&[T])) {
    let mut chunk = Vec::with_capacity(CHUNK);
    rows.for_each(|row| {
        chunk.push(row);
        if chunk.len() == CHUNK {
            take(&chunk);
            chunk.clear();
        }
    });
    take(&chunk);
}

macro_rules! transpose {
    ($rows:expr, $($variant:ident { $($field:ident),* $(,)? })*) => {
        transpose!($rows, |_: &str| true, $($variant { $($field),* })*)
    };
    ($rows:expr, $wanted:expr, $($variant:ident { $($field:ident),* $(,)? })*) => {
        transpose!($rows, $wanted, 0, $($variant { $($field),* })*)
    };
    ($rows:expr, $wanted:expr, $room:expr, $($variant:ident { $($field:ident),* $(,)? })*) => {
        {
            let (wanted, room) = ($wanted, $room);
            $($(let mut $field = wanted(stringify!($field)).then(|| Vec::with_capacity(room));)*)*
            in_chunks($rows.into_iter(), |chunk| {
                $($(if let Some(column) = &mut $field {
                    column.extend(chunk.iter().map(|row| row.$field));
                })*)*
            });
            let mut columns: Columns = Vec::new();
            $($(if let Some(column) = $field {
                columns.push((stringify!($field), Column::$variant(column)));
            })*)*
            columns
        }
    };
}

/// The finished rounds of streams from `first` on, until there are `most` or a stream's more, or so many streams, by
/// stream, direction and number: a column for each field of [`crate::track::Round`] that is `wanted`, and the stream that follows.
#[must_use]
pub fn rounds(
    table: &Shards,
    first: usize,
    most: usize,
    wanted: impl Fn(&str) -> bool,
) -> (Columns, usize) {
    let (mut next, count) = (first, Cell::new(0));
    let streams = std::iter::from_fn(|| {
        let more = next < table.len() && count.get() < most && next - first < most;
        next += usize::from(more);
        more.then(|| next - 1)
    });
    let both = streams.flat_map(|stream| [(stream, 0), (stream, 1)]);
    let rows = both.flat_map(|(stream, from)| table.rounds(stream, from));
    let counted = rows.inspect(|_| count.set(count.get() + 1));
    // A column that grows is copied as often as it doubles.
    let room = if most > MOST_ROOM { 0 } else { most };
    let columns = transpose!(counted, wanted, room,
        U32 { stream, round }
        U8 { direction, after_fin }
        U64 { first_frame, last_frame }
        I64 {
            start_ns, end_ns, length_ns, sent_bytes, sent_segments, resent_bytes, resent_segments, acked_bytes,
            delivered_bytes, acks, answered_acks, ack_ticks, echoed_ticks, replies, fresh_starts, flight_max_bytes, flight_mean_bytes,
            window_min_bytes, window_max_bytes, usable_min_bytes, empty_ns,
            stalled_ns, tight_ns, zero_window_ns, rtt_samples, rtt_min_ns, rtt_ns, rtt_max_ns, rtt_floor_ns,
            queue_low_ns, busy_ns, run_rate, spacing_rate, pauses_ns, forth_ns, back_ns, small_segments, after_small_ns, unprompted_bytes,
            bursts, short_ends, burst_freed_bytes, burst_wait_ns, replied_bursts, burst_period_min_ns, burst_period_max_ns, silence_ns, asleep_ns, sleep_max_ns, duplicate_acks, reordered, timeouts, congestion_echoes,
            missed_bytes, backwards,
        }
    );
    (columns, next)
}

/// Turns by stream, in order of time, a column per field of [`Turn`].
#[must_use]
pub fn turns(rows: &[Turn]) -> Columns {
    let mut rows: Vec<&Turn> = rows.iter().collect();
    rows.sort_by_key(|row| row.stream);
    transpose!(rows,
        U32 { stream }
        U8 { direction, overlapping, unseen }
        U64 { first_frame, last_frame }
        I64 { start_ns, end_ns, resent_ns, pause_ns, rtt_ns, bytes }
    )
}

/// Events, a column per field of [`Event`] that is `wanted`; `kind` indexes [`Kind::NAMES`], `cause` [`Cause::NAMES`].
#[must_use]
pub fn events(rows: &[Event], wanted: impl Fn(&str) -> bool) -> Columns {
    let kinds = || rows.iter().map(|row| row.kind as u8).collect();
    let causes = || rows.iter().map(|row| row.cause as u8).collect();
    let kinds = wanted("kind").then(|| ("kind", Column::U8(kinds())));
    let causes = wanted("cause").then(|| ("cause", Column::U8(causes())));
    let mut columns = transpose!(rows.iter(), wanted,
        U32 { stream }
        U8 { direction, tcp_flags }
        U64 { frame }
        I64 {
            time_ns, sequence, length, acknowledged, window_bytes, in_flight_bytes, pipe_bytes, rtt_ns,
            sack_start, sack_end, advertised_bytes, own_acknowledgment, tap_in_flight_bytes,
        }
    );
    columns.extend(kinds.into_iter().chain(causes));
    columns
}

/// Names by what indexes them: `kind` and `cause` of events, `handshake` and `ended` of connections.
pub const NAMES: [(&str, &[&str]); 5] = [
    ("KINDS", &Kind::NAMES),
    ("CAUSES", &Cause::NAMES),
    ("HANDSHAKES", &Opening::NAMES),
    ("ENDINGS", &Ending::NAMES),
    ("SCALE_SOURCES", &ScaleSource::NAMES),
];

/// Names of things, each written once.
struct Names<T> {
    places: HashMap<T, u32, foldhash::fast::RandomState>,
    names: Vec<String>,
    column: Vec<u32>,
}

impl<T: Hash + Eq + ToString> Names<T> {
    fn of(things: impl Iterator<Item = T>) -> Column {
        let mut names = Self {
            places: HashMap::default(),
            names: Vec::new(),
            column: Vec::new(),
        };
        for thing in things {
            let next = names.names.len() as u32;
            let place = *names.places.entry(thing).or_insert_with_key(|thing| {
                names.names.push(thing.to_string());
                next
            });
            names.column.push(place);
        }
        Column::Text(names.column, names.names)
    }
}

/// Both directions of some streams, two rows each: the columns that are `wanted`; `window_scale_source` indexes
/// [`ScaleSource::NAMES`].
#[must_use]
pub fn directions(
    table: &Shards,
    tick_ns: i64,
    streams: Range<usize>,
    wanted: impl Fn(&str) -> bool,
) -> Columns {
    let ends = |from: usize| {
        let both = move |stream| {
            let ends = table.ends(stream);
            [ends[from], ends[1 - from]]
        };
        Names::of(streams.clone().flat_map(both))
    };
    let ticks = wanted("tick_ns");
    let rows = || streams.clone().flat_map(|stream| table.summaries(stream).2);
    let twice = || streams.clone().flat_map(|stream| [stream as u32; 2]);
    let made: [(&str, &dyn Fn() -> Column); 5] = [
        ("stream", &|| Column::U32(twice().collect())),
        ("direction", &|| {
            Column::U8(
                twice()
                    .zip([0, 1].into_iter().cycle())
                    .map(|(_, at)| at)
                    .collect(),
            )
        }),
        ("sender", &|| ends(0)),
        ("receiver", &|| ends(1)),
        ("path", &|| {
            Names::of(twice().map(|stream| table.summaries(stream as usize).1))
        }),
    ];
    let mut columns: Columns = made
        .into_iter()
        .filter(|(name, _)| wanted(name))
        .map(|(name, make)| (name, make()))
        .collect();
    columns.extend(transpose!(rows(), wanted,
        U8 {
            carried, handshake, direct, has_timestamps, multipath, unfinished, scale_least, scale_most, scale_reached,
            window_scale_source,
        }
        U64 { first_frame, last_frame }
        I64 {
            start_ns, end_ns, packets, payload_bytes, retransmitted_bytes, retransmits, fast_retransmits,
            timeout_retransmits, tail_loss_probes, unexplained_retransmits, timeouts, timeout_wait_ns,
            spurious_retransmits, reordered, copies, acked_bytes, acks, missed_bytes,
            largest_bytes, mss_bytes, window_scale, scale_checked, scale_exceeded, ttl, syn_window_bytes, window_max_bytes, in_flight_max_bytes, merged_ranges, rounds_left_out, rtt_min_ns,
            initial_rtt_ns, sender_side_ns, receiver_side_ns,
        }
    ));
    if ticks {
        columns.push(("tick_ns", Column::I64(vec![tick_ns; 2 * streams.len()])));
    }
    columns
}

/// Some connections, with or without payload; `handshake` and `ended` index [`NAMES`], `ended_by` is 0 for the client, 1
/// for the server.
#[must_use]
pub fn connections(table: &Shards, streams: Range<usize>) -> Columns {
    let numbers = streams.clone().map(|stream| stream as u32);
    let mut columns = vec![("stream", Column::U32(numbers.collect()))];
    columns.extend(transpose!(streams.map(|stream| table.life(stream)),
        U8 { handshake, ended, completeness }
        I64 { ended_by, syns, syn_acks, client_bytes, server_bytes, unacknowledged_bytes, retry_wait_ns }
    ));
    columns
}

/// One UDP flow.
#[derive(Debug, Clone)]
struct Counted {
    packets: i64,
    payload_bytes: i64,
    start_ns: i64,
    end_ns: i64,
    lost: i64,
    reordered: i64,
    jitter_ns: i64,
}

/// UDP flows of a capture that began at `capture_ns`; `tool` is empty where none is known.
#[must_use]
pub fn datagrams(flows: &[DatagramFlow], capture_ns: i64) -> Columns {
    let row = |flow: &DatagramFlow| {
        let report = flow.report(capture_ns);
        Counted {
            packets: flow.packets,
            payload_bytes: flow.payload_bytes,
            start_ns: flow.start_ns,
            end_ns: flow.end_ns,
            lost: report.map_or(NULL, |report| report.lost),
            reordered: report.map_or(NULL, |report| report.reordered),
            jitter_ns: report.map_or(NULL, |report| report.jitter_ns),
        }
    };
    let rows: Vec<Counted> = flows.iter().map(row).collect();
    let tool = |flow: &DatagramFlow| {
        flow.report(capture_ns)
            .map_or("", |report| report.tool.name())
    };
    let mut columns = vec![
        ("sender", Names::of(flows.iter().map(|flow| flow.sender))),
        (
            "receiver",
            Names::of(flows.iter().map(|flow| flow.receiver)),
        ),
        ("tool", Names::of(flows.iter().map(tool))),
    ];
    columns.extend(transpose!(
        rows,
        I64 {
            packets,
            payload_bytes,
            start_ns,
            end_ns,
            lost,
            reordered,
            jitter_ns
        }
    ));
    columns
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::net::SocketAddr::new(self.address, self.port).fmt(f)
    }
}

impl std::fmt::Display for Layer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Vlan(id) => write!(f, "VLAN {id}"),
            Self::Mpls(label) => write!(f, "MPLS {label}"),
            Self::Pppoe(session) => write!(f, "PPPoE {session}"),
            Self::Ip(from, to) => write!(f, "IP {from} > {to}"),
            Self::Gre(None) => write!(f, "GRE"),
            Self::Gre(Some(key)) => write!(f, "GRE key {key}"),
            Self::Service(id) => write!(f, "802.1ah {id}"),
            Self::Vxlan(id) => write!(f, "VXLAN {id}"),
            Self::Geneve(id) => write!(f, "Geneve {id}"),
            Self::Gtp(endpoint) => write!(f, "GTP-U {endpoint}"),
            Self::L2tp(tunnel, session) => write!(f, "L2TP {tunnel}/{session}"),
            Self::Capwap => write!(f, "CAPWAP"),
        }
    }
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, layer) in self.layers().enumerate() {
            if i > 0 {
                write!(f, " / ")?;
            }
            write!(f, "{layer}")?;
        }
        Ok(())
    }
}
