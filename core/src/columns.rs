//! # Columns
//! Rows to named columns, the form in which results leave the core.

use crate::decode::{Endpoint, Layer, Path};
use crate::track::row::row;
use crate::track::{
    Cause, DatagramFlow, Ending, Event, Fields, Kind, Life, NULL, Opening, Round, Row, ScaleSource,
    Shards, Summary, Turn,
};
use std::borrow::Borrow;
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

/// A column for each field, as far as it is wanted.
type Made = Vec<Option<(&'static str, Column)>>;

/// Begins the columns of the fields that are wanted.
struct Begun<W> {
    wanted: W,
    room: usize,
    columns: Made,
}

/// Adds rows to them.
struct Added<'a, B> {
    rows: &'a [B],
    columns: std::slice::IterMut<'a, Option<(&'static str, Column)>>,
}

macro_rules! each_kind {
    ($($kind:ident $column:ident)*) => {
        impl<R, W: Fn(&str) -> bool> Fields<R> for Begun<W> {
            $(fn $kind(&mut self, name: &'static str, _: impl Fn(&R) -> $kind) {
                let column = |room| (name, Column::$column(Vec::with_capacity(room)));
                self.columns.push((self.wanted)(name).then(|| column(self.room)));
            })*
        }

        impl<R, B: Borrow<R>> Fields<R> for Added<'_, B> {
            $(fn $kind(&mut self, _: &'static str, of: impl Fn(&R) -> $kind) {
                if let Some(Some((_, Column::$column(column)))) = self.columns.next() {
                    column.extend(self.rows.iter().map(|row| of(row.borrow())));
                }
            })*
        }
    };
}

each_kind! { u8 U8 u32 U32 u64 U64 i64 I64 }

/// A column for each field of some rows that is `wanted`, with room for so many.
fn transposed<R: Row, B: Borrow<R>>(
    rows: impl Iterator<Item = B>,
    wanted: impl Fn(&str) -> bool,
    room: usize,
) -> Columns {
    let mut begun = Begun {
        wanted,
        room,
        columns: Made::new(),
    };
    R::show(&mut begun);
    let mut columns = begun.columns;
    let mut add = |rows: &[B]| {
        let columns = columns.iter_mut();
        R::show(&mut Added { rows, columns });
    };
    let mut chunk = Vec::with_capacity(CHUNK);
    // An iterator that is driven from within takes fewer steps than one that is asked for each row.
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
    let columns = transposed::<Round, _>(counted, wanted, room);
    (columns, next)
}

/// Turns by stream, in order of time, a column per field of [`Turn`].
#[must_use]
pub fn turns(rows: &[Turn]) -> Columns {
    let mut rows: Vec<&Turn> = rows.iter().collect();
    rows.sort_by_key(|row| row.stream);
    transposed::<Turn, _>(rows.into_iter(), |_| true, 0)
}

/// Events, a column per field of [`Event`] that is `wanted`; `kind` indexes [`Kind::NAMES`], `cause` [`Cause::NAMES`].
#[must_use]
pub fn events(rows: &[Event], wanted: impl Fn(&str) -> bool) -> Columns {
    transposed::<Event, _>(rows.iter(), wanted, rows.len())
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
    columns.extend(transposed::<Summary, _>(rows(), wanted, 0));
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
    let lives = streams.map(|stream| table.life(stream));
    columns.extend(transposed::<Life, _>(lives, |_| true, 0));
    columns
}

row! {
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
    let rows = flows.iter().map(row);
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
    columns.extend(transposed::<Counted, _>(rows, |_| true, 0));
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
