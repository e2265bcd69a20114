//! # Table
//! All connections of a capture, numbered as Wireshark numbers `tcp.stream`.

use super::connection::{Connection, Rows};
use super::flow::At;
use super::kept;
use super::over::Over;
use super::passed::Passed;
use super::round::Round;
use super::summary::{Life, Summary};
use crate::decode::{Endpoint, Path, Segment};
use foldhash::fast::RandomState;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

/// Which connections' events are wanted.
#[derive(Debug, Clone, Default)]
pub enum Wanted {
    /// No events.
    #[default]
    None,
    /// Every stream's.
    All,
    /// These streams', and nothing else is told of the others than their ends. Their numbers are those of the table:
    /// this needs a table that has all.
    Streams(HashSet<u32>),
}

impl Wanted {
    fn wants(&self, stream: u32) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Streams(streams) => streams.contains(&stream),
        }
    }
}

/// Window scales that an earlier pass inferred, by the first frame of the stream and the direction of the data that
/// they limit.
pub type Scales = HashMap<(u64, u8), u8>;

/// Both ends of a connection, whichever sent; as numbers, which are quickly hashed and compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Ends {
    addresses: (u128, u128),
    version_and_ports: u64,
}

impl Ends {
    fn of(segment: &Segment) -> Self {
        let end = |end: &Endpoint| match end.address {
            IpAddr::V4(address) => (4, u64::from(end.port), address.to_bits().into()),
            IpAddr::V6(address) => (6, u64::from(end.port), address.to_bits()),
        };
        let (version, port, address): (u64, u64, u128) = end(&segment.source);
        let (_, other_port, other_address) = end(&segment.destination);
        // Either order would do, if it is always the same.
        let (ports, addresses) = if (port, address) <= (other_port, other_address) {
            (port << 16 | other_port, (address, other_address))
        } else {
            (other_port << 16 | port, (other_address, address))
        };
        Self {
            addresses,
            version_and_ports: version << 32 | ports,
        }
    }
}

/// Where a segment stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// In a packet of its own.
    Captured,
    /// In an ICMP message about it.
    Quoted,
}

/// A connection, as much of it as may still be needed.
#[derive(Debug)]
enum Entry {
    Open(Box<Connection>),
    Over(Box<Over>),
    Passed(Box<Passed>),
    /// None of its own segments was captured, as far as that is known.
    Quoted(Box<Passed>),
}

impl Entry {
    fn is_reopened_by(&self, segment: &Segment) -> bool {
        match self {
            Self::Open(connection) => connection.is_reopened_by(segment),
            Self::Over(over) => over.is_reopened_by(segment),
            Self::Passed(passed) | Self::Quoted(passed) => passed.is_reopened_by(segment),
        }
    }

    fn finish(&mut self, rows: &mut Rows) {
        if let Self::Open(connection) = self {
            connection.finish(rows);
            *self = Self::Over(Box::new(Over::new(connection)));
        }
    }
}

/// A connection that ended, and its last frame up to then.
#[derive(Debug, Clone, Copy)]
pub struct Ended {
    index: usize,
    /// Its last frame.
    pub frame: u64,
}

/// What happened in a table since it was last told.
#[derive(Debug, Default)]
pub struct News {
    /// First frames of the connections that began.
    pub opened: Vec<u64>,
    /// Connections that ended.
    pub ended: Vec<Ended>,
    /// Rows, their streams numbered as in the table.
    pub rows: Rows,
}

/// Connections of a capture, numbered by their first frames.
#[derive(Debug, Default)]
pub struct Table {
    by_ends: HashMap<Ends, usize, RandomState>,
    connections: Vec<Entry>,
    wanted: Wanted,
    scales: Scales,
    /// Of the newest connection; most share it.
    path: Arc<Path>,
    news: News,
}

impl Table {
    /// A table that makes the events wanted, with window scales that an earlier pass inferred.
    #[must_use]
    pub fn new(wanted: Wanted, scales: Scales) -> Self {
        Self {
            wanted,
            scales,
            ..Self::default()
        }
    }

    /// Takes what follows in the capture.
    #[inline]
    pub fn take(&mut self, seen: Seen, segment: &Segment, path: &Path, at: At) {
        match seen {
            Seen::Captured => self.segment(segment, path, at),
            Seen::Quoted => self.quote(segment, path, at),
        }
    }

    /// An ICMP message quotes a segment. It tells nothing of a connection; but one that is new gets a number, as in
    /// Wireshark.
    #[cold]
    fn quote(&mut self, segment: &Segment, path: &Path, at: At) {
        let ends = Ends::of(segment);
        let known = self.by_ends.get(&ends).copied();
        let index = match known.filter(|&i| !self.connections[i].is_reopened_by(segment)) {
            Some(index) => index,
            None => {
                if let Some(before) = known {
                    self.connections[before].finish(&mut self.news.rows);
                }
                let index = self.connections.len();
                let quoted = Passed::new(segment, Arc::new(*path));
                self.connections.push(Entry::Quoted(Box::new(quoted)));
                self.by_ends.insert(ends, index);
                self.news.opened.push(at.frame);
                index
            }
        };
        if let Entry::Passed(passed) | Entry::Quoted(passed) = &mut self.connections[index] {
            passed.segment(segment);
        }
    }

    /// Takes the next segment of the capture, and the headers around it.
    pub fn segment(&mut self, segment: &Segment, path: &Path, at: At) {
        let ends = Ends::of(segment);
        let known = self.by_ends.get(&ends).copied();
        let index = match known.filter(|&i| !self.connections[i].is_reopened_by(segment)) {
            Some(index) => index,
            None => {
                if let Some(before) = known {
                    self.connections[before].finish(&mut self.news.rows);
                }
                let index = self.connections.len();
                self.by_ends.insert(ends, index);
                self.news.opened.push(at.frame);
                let entry = self.opened(index, segment, path, at);
                self.connections.push(entry);
                index
            }
        };
        if let Entry::Quoted(_) = self.connections[index] {
            self.connections[index] = self.opened(index, segment, path, at);
        }
        let connection = match &mut self.connections[index] {
            Entry::Open(connection) => connection,
            Entry::Over(over) => {
                let stream = number(index);
                let event = over.straggler(stream, segment, at);
                if self.wanted.wants(stream) {
                    self.news.rows.events.push(event);
                }
                return;
            }
            Entry::Passed(passed) | Entry::Quoted(passed) => {
                passed.segment(segment);
                return;
            }
        };
        let was_over = connection.is_over();
        connection.segment(segment, at, &mut self.news.rows);
        if !was_over && connection.is_over() {
            self.news.ended.push(Ended {
                index,
                frame: at.frame,
            });
        }
    }

    /// A connection that begins with this segment.
    #[inline(never)]
    fn opened(&mut self, index: usize, segment: &Segment, path: &Path, at: At) -> Entry {
        let number = number(index);
        let wanted = self.wanted.wants(number);
        if *self.path != *path {
            self.path = Arc::new(*path);
        }
        let path = Arc::clone(&self.path);
        if !wanted && matches!(self.wanted, Wanted::Streams(_)) {
            return Entry::Passed(Box::new(Passed::new(segment, path)));
        }
        let inferred = [0, 1].map(|flow| self.scales.get(&(at.frame, flow)).copied());
        let connection = Connection::new(number, segment, path, at, wanted, inferred);
        Entry::Open(Box::new(connection))
    }

    /// Finishes connections that ended, unless packets came since.
    pub fn let_go(&mut self, ended: impl Iterator<Item = Ended>) {
        for Ended { index, frame } in ended {
            match &self.connections[index] {
                Entry::Open(connection) if connection.last.frame != frame => {
                    let frame = connection.last.frame;
                    self.news.ended.push(Ended { index, frame });
                }
                _ => self.connections[index].finish(&mut self.news.rows),
            }
        }
    }

    /// What happened since it was last told.
    pub fn news(&mut self) -> News {
        std::mem::take(&mut self.news)
    }

    /// The capture ended.
    pub fn finish(&mut self) {
        for connection in &mut self.connections {
            connection.finish(&mut self.news.rows);
        }
    }

    /// How many connections there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.connections.len()
    }

    /// Connections of which there is nothing but what ICMP messages quote.
    #[must_use]
    pub fn quoted(&self) -> usize {
        let is_quoted = |entry: &&Entry| matches!(entry, Entry::Quoted(_));
        self.connections.iter().filter(is_quoted).count()
    }

    /// Are there none?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// Client and server of a stream.
    #[must_use]
    pub fn ends(&self, stream: usize) -> &[Endpoint; 2] {
        match &self.connections[stream] {
            Entry::Open(open) => &open.ends,
            Entry::Over(over) => over.ends(),
            Entry::Passed(passed) | Entry::Quoted(passed) => &passed.ends,
        }
    }

    /// Client and server of a stream, the headers around its first packet, and what is told of either direction.
    #[must_use]
    pub fn summaries(&self, stream: usize) -> (&[Endpoint; 2], &Path, [Summary; 2]) {
        match &self.connections[stream] {
            Entry::Open(open) => {
                let summaries = [0, 1].map(|from| Summary::of(open, from));
                (&open.ends, &open.path, summaries)
            }
            Entry::Over(over) => (over.ends(), over.path(), over.summaries()),
            Entry::Passed(passed) | Entry::Quoted(passed) => {
                (&passed.ends, &passed.path, Default::default())
            }
        }
    }

    /// How a stream began and ended.
    #[must_use]
    pub fn life(&self, stream: usize) -> Life {
        match &self.connections[stream] {
            Entry::Open(open) => Life::of(open),
            Entry::Over(over) => over.life(),
            Entry::Passed(_) | Entry::Quoted(_) => Life::default(),
        }
    }

    /// The finished rounds of what one end of a stream sent, in their order.
    pub fn rounds(&self, stream: usize, from: usize) -> impl Iterator<Item = Round> {
        let bytes = match &self.connections[stream] {
            Entry::Open(open) => open.halves[from].flow.kept(),
            Entry::Over(over) => over.kept(from),
            Entry::Passed(_) | Entry::Quoted(_) => &[],
        };
        kept::unpacked(number(stream), from as u8, bytes)
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
