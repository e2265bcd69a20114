//! # Columns
//! Converts rows to named columns, the form in which the core returns results.

use crate::capture::{Recording, recording_at};
use crate::decode::{Endpoint, Layer, Marks, Path, Refusal};
use crate::track::row::row;
use crate::track::{
    Cause, DatagramFlow, Ending, Event, FieldVisitor, Kind, Life, NULL, Opening, RefusedPackets,
    Round, Row, ScaleSource, Shards, Summary, Turn,
};
use std::borrow::Borrow;
use std::cell::Cell;
use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;

/// One column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Column {
    /// Signed integers; [`NULL`] marks an absent value.
    I64(Vec<i64>),
    /// Frame numbers.
    U64(Vec<u64>),
    /// Stream and round numbers.
    U32(Vec<u32>),
    /// Small enumerations.
    U8(Vec<u8>),
    /// Indices into a list of names, and that list.
    Text(Vec<u32>, Vec<String>),
}

/// Columns of equal length, each with its name.
pub type Columns = Vec<(&'static str, Column)>;

/// Number of rows transposed together; so few fit in the CPU's cache.
const CHUNK: usize = 32;

/// Maximum number of rows for which memory is reserved in advance.
const MOST_ROOM: usize = 1 << 16;

/// A column for each field; `None` for fields that are not wanted.
type OptionalColumns = Vec<Option<(&'static str, Column)>>;

/// Visitor that creates an empty column for each wanted field.
struct NewColumns<W> {
    wanted: W,
    room: usize,
    columns: OptionalColumns,
}

/// Visitor that appends rows to columns.
struct AppendRows<'a, B> {
    rows: &'a [B],
    columns: std::slice::IterMut<'a, Option<(&'static str, Column)>>,
}

macro_rules! each_kind {
    ($($kind:ident $column:ident)*) => {
        impl<R, W: Fn(&str) -> bool> FieldVisitor<R> for NewColumns<W> {
            $(fn $kind(&mut self, name: &'static str, _: impl Fn(&R) -> $kind) {
                let column = |room| (name, Column::$column(Vec::with_capacity(room)));
                self.columns.push((self.wanted)(name).then(|| column(self.room)));
            })*
        }

        impl<R, B: Borrow<R>> FieldVisitor<R> for AppendRows<'_, B> {
            $(fn $kind(&mut self, _: &'static str, of: impl Fn(&R) -> $kind) {
                if let Some(Some((_, Column::$column(column)))) = self.columns.next() {
                    column.extend(self.rows.iter().map(|row| of(row.borrow())));
                }
            })*
        }
    };
}

each_kind! { u8 U8 u32 U32 u64 U64 i64 I64 }

/// Returns a column for each `wanted` field of `rows`; memory is reserved for `room` rows.
fn transposed<R: Row, B: Borrow<R>>(
    rows: impl Iterator<Item = B>,
    wanted: impl Fn(&str) -> bool,
    room: usize,
) -> Columns {
    let mut new = NewColumns {
        wanted,
        room,
        columns: OptionalColumns::new(),
    };
    R::visit_fields(&mut new);
    let mut columns = new.columns;
    let mut add = |rows: &[B]| {
        let columns = columns.iter_mut();
        R::visit_fields(&mut AppendRows { rows, columns });
    };
    let mut chunk = Vec::with_capacity(CHUNK);
    // `for_each` is faster than a `for` loop here, since `rows` is a chain of nested iterators.
    rows.for_each(|row| {
        chunk.push(row);
        if chunk.len() == CHUNK {
            add(&chunk);
            chunk.clear();
        }
    });
    add(&chunk);
    columns.into_iter().flatten().collect()
}

/// Returns a column for each `wanted` field of the finished rounds of streams from `first` on, and the number of the
/// next stream. It stops after the stream that brings the rounds to `most`, and after `most` streams. Rounds are sorted
/// by stream, direction and number.
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
    // Without reserved memory, a growing column is copied each time it doubles.
    let room = if most > MOST_ROOM { 0 } else { most };
    let columns = transposed::<Round, _>(counted, wanted, room);
    (columns, next)
}

/// Returns a column for each field of [`Turn`]. Turns are sorted by stream, and within a stream by time.
#[must_use]
pub fn turns(rows: &[Turn]) -> Columns {
    let mut rows: Vec<&Turn> = rows.iter().collect();
    rows.sort_by_key(|row| row.stream);
    transposed::<Turn, _>(rows.into_iter(), |_| true, 0)
}

/// Returns a column for each `wanted` field of [`Event`]. `kind` is an index into [`Kind::NAMES`], `cause` into
/// [`Cause::NAMES`].
#[must_use]
pub fn events(rows: &[Event], wanted: impl Fn(&str) -> bool) -> Columns {
    transposed::<Event, _>(rows.iter(), wanted, rows.len())
}

/// Lists of names for the columns that hold indices into them, and the letters of the options in `syn_layout`. The
/// columns are `kind` and `cause` of events, `handshake` and `ended` of connections, `window_scale_source` of
/// directions, and `refusal` of refused packets.
pub const NAMES: [(&str, &[&str]); 7] = [
    ("KINDS", &Kind::NAMES),
    ("CAUSES", &Cause::NAMES),
    ("HANDSHAKES", &Opening::NAMES),
    ("ENDINGS", &Ending::NAMES),
    ("SCALE_SOURCES", &ScaleSource::NAMES),
    ("REFUSALS", &Refusal::NAMES),
    ("SYN_OPTIONS", &Marks::CODES),
];

/// Builder of a text column that holds each distinct text once.
struct Texts<T> {
    places: HashMap<T, u32, foldhash::fast::RandomState>,
    names: Vec<String>,
    column: Vec<u32>,
}

impl<T: Hash + Eq + ToString> Texts<T> {
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

/// Returns the `wanted` columns about both directions of these streams. Each stream has two rows, the client's first.
/// `window_scale_source` is an index into [`ScaleSource::NAMES`]. `data_alone` is whether no segment acknowledges alone:
/// then no stall is known.
#[must_use]
pub fn directions(
    table: &Shards,
    recordings: &[Recording],
    streams: Range<usize>,
    data_alone: bool,
    wanted: impl Fn(&str) -> bool,
) -> Columns {
    let ends = |from: usize| {
        let both = move |stream| {
            let ends = table.ends(stream);
            [ends[from], ends[1 - from]]
        };
        Texts::of(streams.clone().flat_map(both))
    };
    let ticks = wanted("tick_ns");
    let rows = || streams.clone().flat_map(|stream| table.summaries(stream).2);
    let twice = || streams.clone().flat_map(|stream| [stream as u32; 2]);
    let made: [(&str, &dyn Fn() -> Column); 6] = [
        ("stream", &|| Column::U32(twice().collect())),
        ("data_alone", &|| {
            Column::U8(twice().map(|_| u8::from(data_alone)).collect())
        }),
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
            Texts::of(twice().map(|stream| table.summaries(stream as usize).1))
        }),
    ];
    let mut columns: Columns = made
        .into_iter()
        .filter(|(name, _)| wanted(name))
        .map(|(name, make)| (name, make()))
        .collect();
    let unexplained = wanted("unexplained_retransmits");
    columns.extend(transposed::<Summary, _>(rows(), wanted, 0));
    if data_alone {
        // Acknowledgments without payload were filtered out, so when they came is unknown.
        for (name, column) in &mut columns {
            if name.starts_with("longest_stall") {
                *column = Column::I64(vec![NULL; 2 * streams.len()]);
            }
        }
    }
    if unexplained {
        let counts = rows().map(|row| row.unexplained_retransmits());
        columns.push(("unexplained_retransmits", Column::I64(counts.collect())));
    }
    if ticks {
        let tick_ns = |row: Summary| {
            let of = recordings.get(recording_at(recordings, row.start_ns));
            of.map_or(1, |one| one.tick_ns)
        };
        columns.push(("tick_ns", Column::I64(rows().map(tick_ns).collect())));
    }
    columns
}

/// Returns columns about these connections, with or without payload. `handshake` is an index into [`Opening::NAMES`],
/// `ended` into [`Ending::NAMES`]; `ended_by` is 0 for the client, 1 for the server.
#[must_use]
pub fn connections(table: &Shards, streams: Range<usize>) -> Columns {
    let numbers = streams.clone().map(|stream| stream as u32);
    let mut columns = vec![("stream", Column::U32(numbers.collect()))];
    let lives = streams.map(|stream| table.life(stream));
    columns.extend(transposed::<Life, _>(lives, |_| true, 0));
    columns
}

row! {
    /// Counts of one UDP flow.
    #[derive(Debug, Clone)]
    struct DatagramCounts {
        packets: i64,
        payload_bytes: i64,
        start_ns: i64,
        end_ns: i64,
        lost: i64,
        reordered: i64,
        jitter_ns: i64,
    }
}

/// Returns columns about the UDP flows of a capture that began at `capture_ns`. `tool` is empty if the sending program
/// is not recognised.
#[must_use]
pub fn datagrams(flows: &[DatagramFlow], capture_ns: i64) -> Columns {
    let row = |flow: &DatagramFlow| {
        let report = flow.report(capture_ns);
        DatagramCounts {
            packets: flow.packets,
            payload_bytes: flow.payload_bytes,
            start_ns: flow.start_ns,
            end_ns: flow.end_ns,
            lost: report.map_or(NULL, |report| report.lost),
            reordered: report.map_or(NULL, |report| report.reordered),
            jitter_ns: report.map_or(NULL, |report| report.jitter_ns),
        }
    };
    let rows = flows.iter().map(row);
    let tool = |flow: &DatagramFlow| {
        flow.report(capture_ns)
            .map_or("", |report| report.tool.name())
    };
    let mut columns = vec![
        ("sender", Texts::of(flows.iter().map(|flow| flow.sender))),
        (
            "receiver",
            Texts::of(flows.iter().map(|flow| flow.receiver)),
        ),
        ("tool", Texts::of(flows.iter().map(tool))),
    ];
    columns.extend(transposed::<DatagramCounts, _>(rows, |_| true, 0));
    columns
}

row! {
    /// Numbers about refused packets.
    #[derive(Debug, Clone)]
    struct RefusedCounts {
        refusal: u8,
        mtu_bytes: i64,
        packets: i64,
        payload_bytes: i64,
        first_frame: u64,
        last_frame: u64,
    }
}

/// Returns columns about packets that ICMP error messages quote. `refusal` is an index into [`Refusal::NAMES`].
#[must_use]
pub fn refusals(rows: &[RefusedPackets]) -> Columns {
    let counts = rows.iter().map(|row| RefusedCounts {
        refusal: row.refusal as u8,
        mtu_bytes: if row.mtu == 0 { NULL } else { row.mtu.into() },
        packets: row.packets,
        payload_bytes: row.payload_bytes,
        first_frame: row.first_frame,
        last_frame: row.last_frame,
    });
    let mut columns = vec![
        ("reporter", Texts::of(rows.iter().map(|row| row.reporter))),
        ("sender", Texts::of(rows.iter().map(|row| row.sender))),
        ("receiver", Texts::of(rows.iter().map(|row| row.receiver))),
    ];
    columns.extend(transposed::<RefusedCounts, _>(counts, |_| true, 0));
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
