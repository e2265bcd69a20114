//! # Table
//! The table of connections, numbered as Wireshark numbers `tcp.stream`.

pub(super) mod batch;
mod ended;
mod half_open;
mod ignored;
pub(super) mod line;
pub(super) mod shards;
mod short_lived;
pub(super) mod summary;

use super::at::At;
use super::connection::{Connection, Rows};
use super::rounds::packed_rounds;
use super::rounds::round::Round;
use crate::budget::Budget;
use crate::decode::{Endpoint, Flags, Path, Segment, Tcp};
use ended::{EndedConnection, Typical};
use half_open::{HalfOpen, SynKinds};
use hashbrown::HashTable;
use ignored::IgnoredConnection;
use line::Provenance;
use short_lived::ShortLived;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};
use summary::{Life, Summary};

/// The connections whose events are wanted.
#[derive(Debug, Clone, Default)]
pub enum WantedEvents {
    /// No events are created; rounds are.
    #[default]
    None,
    /// Events of every stream, and its rounds.
    All,
    /// Events of every stream, but no rounds.
    Events,
    /// Events of these streams, without rounds. Of other streams, only the endpoints and outer headers are kept. The
    /// numbers are indices in the table, so one table must hold all streams.
    Streams(HashSet<u32>),
}

impl WantedEvents {
    /// Are the events of this stream wanted?
    fn includes(&self, stream: u32) -> bool {
        match self {
            Self::None => false,
            Self::All | Self::Events => true,
            Self::Streams(streams) => streams.contains(&stream),
        }
    }

    /// Are rounds kept?
    fn keeps_rounds(&self) -> bool {
        matches!(self, Self::None | Self::All)
    }
}

/// Window scales that an earlier pass inferred. The key is the first frame of the stream, and the direction of the data
/// that the window limits.
pub type InferredScales = HashMap<(u64, u8), u8>;

/// A connection, with as much state as may still be needed.
#[derive(Debug)]
enum Entry {
    /// Every segment is processed at once.
    Open(Box<Connection>),
    /// The connection ended; only its results are kept.
    Ended(Box<EndedConnection>),
    /// Neither events nor rounds of the connection are wanted.
    Ignored(Box<IgnoredConnection>),
    /// Only the first SYN was captured so far.
    HalfOpen(Box<HalfOpen>),
    /// Few segments were captured so far; they are kept and not processed yet.
    ShortLived(Box<ShortLived>),
    /// So far, only ICMP messages quoted segments of the connection.
    Quoted(Box<IgnoredConnection>),
}

impl Entry {
    fn is_reopened_by(&self, segment: &Segment) -> bool {
        match self {
            Self::Open(connection) => connection.is_reopened_by(segment),
            Self::Ended(ended) => ended.is_reopened_by(segment),
            Self::Ignored(ignored) | Self::Quoted(ignored) => ignored.is_reopened_by(segment),
            Self::HalfOpen(half_open) => half_open.is_reopened_by(segment),
            // `find_continued` replays such a connection before it calls this function.
            Self::ShortLived(_) => false,
        }
    }

    fn ends(&self) -> &[Endpoint; 2] {
        match self {
            Self::Open(open) => &open.ends,
            Self::Ended(ended) => ended.ends(),
            Self::Ignored(ignored) | Self::Quoted(ignored) => &ignored.ends,
            Self::HalfOpen(half_open) => &half_open.ends,
            Self::ShortLived(short_lived) => &short_lived.ends,
        }
    }

    fn finish(&mut self, rows: &mut Rows, typical: &OnceLock<Typical>) {
        if let Self::Open(connection) = self {
            connection.finish(rows);
            *self = Self::Ended(Box::new(EndedConnection::new(connection, typical)));
        }
    }
}

/// Notice that a connection has ended.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionEnd {
    /// Index of the connection in its table.
    index: usize,
    /// Number of its last frame so far.
    pub frame: u64,
}

/// Changes in a table since its last report.
#[derive(Debug, Default)]
pub struct TableReport {
    /// First frames of the new connections, in their order.
    pub opened: Vec<u64>,
    /// Connections that have ended.
    pub ended: Vec<ConnectionEnd>,
    /// Finished rows; their stream numbers are indices in the table.
    pub rows: Rows,
    /// Number of segments that were left out because the table was full.
    pub segments_left_out: u64,
}

impl TableReport {
    /// Processes the next segment of a connection, and notes if the connection ends with it.
    #[inline(always)] // called for every segment, and hardly more than a call itself
    fn process(&mut self, index: usize, connection: &mut Connection, segment: &Segment, at: At) {
        let had_ended = connection.has_ended();
        connection.segment(segment, at, &mut self.rows);
        if !had_ended && connection.has_ended() {
            self.ended.push(ConnectionEnd {
                index,
                frame: at.frame,
            });
        }
    }
}

/// Commands that a table executes before its next segment.
#[derive(Debug, Clone, Default)]
pub struct Commands {
    /// Connections to replace by their results, unless packets have arrived since.
    pub ended: Vec<ConnectionEnd>,
    /// Whether new connections are to be left out.
    pub full: bool,
}

/// Connections of a capture, numbered in the order of their first frames.
#[derive(Debug, Default)]
pub struct Table {
    /// Part of the hash of two endpoints, and the index of the newest connection between them. The hash is kept so that
    /// a growing table need not read the connections.
    by_ends: HashTable<(u32, u32)>,
    /// Entry of `by_ends` that was found last; consecutive segments are often of one connection.
    last: Option<(u32, u32)>,
    connections: Vec<Entry>,
    wanted: WantedEvents,
    scales: InferredScales,
    budget: Budget,
    /// The connection limit is reached: new connections are left out.
    full: bool,
    /// Headers around the first packet of the newest connection; most connections share them.
    path: Arc<Path>,
    /// Kinds of the SYNs of half-open connections.
    syn_kinds: SynKinds,
    /// Results of the first connection that ended.
    typical: OnceLock<Typical>,
    report: TableReport,
}

impl Table {
    /// Returns an empty table that creates the wanted events; `scales` are window scales that an earlier pass inferred.
    #[must_use]
    pub fn new(wanted: WantedEvents, scales: InferredScales, budget: Budget) -> Self {
        Self {
            wanted,
            scales,
            budget,
            ..Self::default()
        }
    }

    /// Is the segment of a connection that is ignored, and changes nothing in it? Then [`Self::take`] need not get it, and
    /// most of its fields need not be read.
    #[inline]
    pub fn ignores(&mut self, hash: u32, tcp: &Tcp<'_>) -> bool {
        matches!(self.wanted, WantedEvents::Streams(_))
            && !tcp.flags().has(Flags::SYN)
            && (self.newest(hash, tcp.ends().each_ref())).is_some_and(|index| {
                matches!(&self.connections[index], Entry::Ignored(ignored) if ignored.is_settled())
            })
    }

    /// Processes the next segment of the capture. `hash` is a part of the hash of its connection, `path` the headers
    /// around the segment.
    #[inline(always)] // for every segment, and hardly more than a call itself
    pub fn take(
        &mut self,
        provenance: Provenance,
        hash: u32,
        segment: &Segment,
        path: &Path,
        at: At,
    ) {
        match provenance {
            Provenance::Captured => self.segment(hash, segment, path, at),
            Provenance::Quoted => self.quote(hash, segment, path, at),
        }
    }

    /// Processes a segment that an ICMP message quotes. As in Wireshark, a new connection gets a number; the quoted
    /// segment is not processed further.
    #[cold]
    fn quote(&mut self, hash: u32, segment: &Segment, path: &Path, at: At) {
        let known = self.newest(hash, segment.ends());
        let index = match self.find_continued(known, segment) {
            Some(index) => index,
            None => {
                if self.full {
                    return self.leave_out(hash, segment);
                }
                let index = self.connections.len();
                let quoted = IgnoredConnection::new(segment, Arc::new(*path));
                self.connections.push(Entry::Quoted(Box::new(quoted)));
                self.register(hash, segment, index);
                self.report.opened.push(at.frame);
                index
            }
        };
        if let Entry::Ignored(ignored) | Entry::Quoted(ignored) = &mut self.connections[index] {
            ignored.segment(segment);
        }
    }

    /// Processes a captured segment.
    #[inline(always)] // see `take`
    fn segment(&mut self, hash: u32, segment: &Segment, path: &Path, at: At) {
        let known = self.newest(hash, segment.ends());
        match known.map(|index| (index, &mut self.connections[index])) {
            Some((index, Entry::Open(connection))) if !segment.opens() => {
                self.report.process(index, connection, segment, at);
            }
            _ => self.segment_slow_path(known, hash, segment, path, at),
        }
    }

    /// Processes a captured segment that opens a connection, or is of one that is not open.
    #[inline(never)] // few segments take this path
    fn segment_slow_path(
        &mut self,
        known: Option<usize>,
        hash: u32,
        segment: &Segment,
        path: &Path,
        at: At,
    ) {
        let index = match self.find_continued(known, segment) {
            Some(index) => index,
            None => {
                if self.full {
                    return self.leave_out(hash, segment);
                }
                let index = self.connections.len();
                self.report.opened.push(at.frame);
                let entry = self.new_entry(index, segment, path, at);
                self.connections.push(entry);
                self.register(hash, segment, index);
                if let Entry::HalfOpen(_) = self.connections[index] {
                    return;
                }
                index
            }
        };
        match &self.connections[index] {
            Entry::Quoted(_) => self.connections[index] = self.new_entry(index, segment, path, at),
            Entry::HalfOpen(half_open) => {
                let syn = half_open.segment();
                let mut short_lived = ShortLived::new(&syn, Arc::clone(half_open.path()));
                short_lived.take(&syn, half_open.at);
                self.connections[index] = Entry::ShortLived(Box::new(short_lived));
            }
            _ => {}
        }
        if let Entry::ShortLived(short_lived) = &mut self.connections[index] {
            if short_lived.take(segment, at) {
                return;
            }
            self.replay(index);
        }
        match &mut self.connections[index] {
            Entry::Open(connection) => self.report.process(index, connection, segment, at),
            Entry::Ended(ended) => {
                let stream = stream_number(index);
                let event = ended.add_late_segment(
                    self.typical.get_or_init(Typical::default),
                    stream,
                    segment,
                    at,
                );
                if self.wanted.includes(stream) {
                    self.report.rows.events.push(event);
                }
            }
            Entry::Ignored(ignored) | Entry::Quoted(ignored) => ignored.segment(segment),
            Entry::HalfOpen(_) | Entry::ShortLived(_) => {}
        }
    }

    /// Returns the index of the connection that a segment continues, `known` being the newest between its ends. Returns
    /// `None` for a segment that opens another connection; the known one is finished then.
    fn find_continued(&mut self, known: Option<usize>, segment: &Segment) -> Option<usize> {
        let index = known?;
        if segment.opens() {
            self.replay(index);
        }
        if self.connections[index].is_reopened_by(segment) {
            self.connections[index].finish(&mut self.report.rows, &self.typical);
            return None;
        }
        Some(index)
    }

    /// Processes the kept segments of a short-lived connection, which becomes an open one.
    fn replay(&mut self, index: usize) {
        let Entry::ShortLived(short_lived) = &self.connections[index] else {
            return;
        };
        let mut rows = std::mem::take(&mut self.report.rows);
        let mut replayed = None;
        short_lived.replay(|segment, at| {
            let new = || self.new_connection(index, segment, Arc::clone(&short_lived.path), at);
            let connection = replayed.get_or_insert_with(new);
            connection.segment(segment, at, &mut rows);
        });
        self.report.rows = rows;
        if let Some(connection) = replayed {
            self.connections[index] = Entry::Open(connection);
        }
    }

    /// Processes the kept segments of every short-lived connection.
    pub fn replay_all(&mut self) {
        for index in 0..self.connections.len() {
            self.replay(index);
        }
    }

    /// Returns the index of the newest connection between the ends of a segment; `None` where there is none.
    #[inline(always)] // called for every segment
    fn newest(&mut self, hash: u32, ends: [&Endpoint; 2]) -> Option<usize> {
        if let Some((own, index)) = self.last
            && own == hash
            && is_between(self.connections[index as usize].ends(), ends)
        {
            return Some(index as usize);
        }
        self.find(hash, ends)
    }

    /// Looks up the newest connection between the ends of a segment, and remembers it as the last one found.
    #[inline(never)] // not needed for consecutive segments of one connection
    fn find(&mut self, hash: u32, ends: [&Endpoint; 2]) -> Option<usize> {
        let connections = &self.connections;
        let found = self.by_ends.find(spread_bits(hash), |&(own, index)| {
            own == hash && is_between(connections[index as usize].ends(), ends)
        });
        self.last = found.copied();
        self.last.map(|(_, index)| index as usize)
    }

    /// Registers a connection as the newest one between the ends of a segment.
    fn register(&mut self, hash: u32, segment: &Segment, index: usize) {
        let (connections, newest) = (&self.connections, (hash, stream_number(index)));
        self.last = Some(newest);
        let known = self.by_ends.find_mut(spread_bits(hash), |&(own, index)| {
            own == hash && is_between(connections[index as usize].ends(), segment.ends())
        });
        match known {
            Some(known) => *known = newest,
            None => {
                let rehash = |&(own, _): &(u32, u32)| spread_bits(own);
                self.by_ends
                    .insert_unique(spread_bits(hash), newest, rehash);
            }
        }
    }

    /// Leaves out a segment that opens a connection beyond the limit. Later segments between the same ends are left
    /// out, too: they do not belong to an earlier connection between these ends.
    #[cold]
    fn leave_out(&mut self, hash: u32, segment: &Segment) {
        self.report.segments_left_out += 1;
        self.last = None;
        let connections = &self.connections;
        let known = self.by_ends.find_entry(spread_bits(hash), |&(own, index)| {
            own == hash && is_between(connections[index as usize].ends(), segment.ends())
        });
        if let Ok(known) = known {
            known.remove();
        }
    }

    /// Returns a new connection with the table's settings.
    fn new_connection(
        &self,
        index: usize,
        segment: &Segment,
        path: Arc<Path>,
        at: At,
    ) -> Box<Connection> {
        let number = stream_number(index);
        let inferred = [0, 1].map(|flow| self.scales.get(&(at.frame, flow)).copied());
        let wanted = self.wanted.includes(number);
        let mut connection = Box::new(Connection::new(number, segment, path, at, wanted, inferred));
        let rounds = if self.wanted.keeps_rounds() {
            self.budget.rows
        } else {
            0
        };
        connection.set_limits((rounds, self.budget.ranges));
        connection
    }

    /// Returns the entry of a connection that begins with this segment.
    #[inline(never)]
    fn new_entry(&mut self, index: usize, segment: &Segment, path: &Path, at: At) -> Entry {
        if *self.path != *path {
            self.path = Arc::new(*path);
        }
        let path = Arc::clone(&self.path);
        match self.wanted {
            WantedEvents::Streams(_) if !self.wanted.includes(stream_number(index)) => {
                return Entry::Ignored(Box::new(IgnoredConnection::new(segment, path)));
            }
            // Where events are wanted, every segment is processed at once, since even a lone SYN is an event.
            WantedEvents::None => {
                if let Some(half_open) = HalfOpen::new(segment, &path, at, &mut self.syn_kinds) {
                    return Entry::HalfOpen(Box::new(half_open));
                }
                if ShortLived::can_keep(segment) {
                    return Entry::ShortLived(Box::new(ShortLived::new(segment, path)));
                }
            }
            _ => {}
        }
        Entry::Open(self.new_connection(index, segment, path, at))
    }

    /// Executes commands; call it before the next segment.
    pub fn execute(&mut self, commands: &Commands) {
        self.full = commands.full;
        for &ConnectionEnd { index, frame } in &commands.ended {
            match &self.connections[index] {
                Entry::Open(connection) if connection.last.frame != frame => {
                    let frame = connection.last.frame;
                    self.report.ended.push(ConnectionEnd { index, frame });
                }
                _ => self.connections[index].finish(&mut self.report.rows, &self.typical),
            }
        }
    }

    /// Do the reports contain events?
    #[must_use]
    pub fn makes_events(&self) -> bool {
        !matches!(self.wanted, WantedEvents::None)
    }

    /// Returns the report since the last call.
    pub fn take_report(&mut self) -> TableReport {
        std::mem::take(&mut self.report)
    }

    /// Ends the capture: processes kept segments and finishes all connections.
    pub fn finish(&mut self) {
        for index in 0..self.connections.len() {
            self.replay(index);
            self.connections[index].finish(&mut self.report.rows, &self.typical);
        }
    }

    /// Returns the number of connections.
    #[must_use]
    pub fn len(&self) -> usize {
        self.connections.len()
    }

    /// Returns the number of connections of which only segments quoted by ICMP messages were captured.
    #[must_use]
    pub fn quoted(&self) -> usize {
        let is_quoted = |entry: &&Entry| matches!(entry, Entry::Quoted(_));
        self.connections.iter().filter(is_quoted).count()
    }

    /// Are there no connections?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// Returns client and server of a stream.
    #[must_use]
    pub fn ends(&self, stream: usize) -> &[Endpoint; 2] {
        self.connections[stream].ends()
    }

    /// Returns client and server of a stream, the headers around its first packet, and the summaries of both
    /// directions, the client's first.
    #[must_use]
    pub fn summaries(&self, stream: usize) -> (&[Endpoint; 2], &Path, [Summary; 2]) {
        match &self.connections[stream] {
            Entry::Open(open) => {
                let summaries = [0, 1].map(|from| Summary::of(open, from));
                (&open.ends, &open.path, summaries)
            }
            Entry::Ended(ended) => (ended.ends(), ended.path(), ended.summaries(self.typical())),
            Entry::Ignored(ignored) | Entry::Quoted(ignored) => {
                (&ignored.ends, &ignored.path, Default::default())
            }
            Entry::HalfOpen(half_open) => {
                (&half_open.ends, half_open.path(), half_open.summaries())
            }
            Entry::ShortLived(short_lived) => {
                (&short_lived.ends, &short_lived.path, Default::default())
            }
        }
    }

    /// Returns the results from which those of ended connections are packed as differences.
    fn typical(&self) -> &Typical {
        self.typical.get_or_init(Typical::default)
    }

    /// Was more of the stream captured than a SYN? Valid after [`Self::replay_all`] or [`Self::finish`].
    #[must_use]
    pub fn has_more_than_syn(&self, stream: usize) -> bool {
        matches!(self.connections[stream], Entry::Open(_) | Entry::Ended(_))
    }

    /// Returns how a stream began and ended.
    #[must_use]
    pub fn life(&self, stream: usize) -> Life {
        match &self.connections[stream] {
            Entry::Open(open) => Life::of(open),
            Entry::Ended(ended) => ended.life(self.typical()),
            Entry::Ignored(_) | Entry::Quoted(_) | Entry::ShortLived(_) => Life::default(),
            Entry::HalfOpen(half_open) => half_open.life(),
        }
    }

    /// Yields the finished rounds of the data that one end of a stream sent, in order of time.
    pub fn rounds(&self, stream: usize, from: usize) -> impl Iterator<Item = Round> {
        let (start, bytes): (_, &[u8]) = match &self.connections[stream] {
            Entry::Open(open) => (open.start, open.packed_rounds(from)),
            Entry::Ended(ended) => (ended.start(), ended.packed_rounds(from)),
            Entry::Ignored(_) | Entry::Quoted(_) | Entry::HalfOpen(_) | Entry::ShortLived(_) => {
                Default::default()
            }
        };
        packed_rounds::unpacked(stream_number(stream), from as u8, start, bytes)
    }
}

/// Was a segment with these ends sent between client and server, in either direction?
#[inline(always)]
fn is_between([client, server]: &[Endpoint; 2], [source, destination]: [&Endpoint; 2]) -> bool {
    (client == source && server == destination) || (client == destination && server == source)
}

/// Spreads a hash over the 64 bits that the hash table uses (Fibonacci hashing: the factor is 2^64 over the golden
/// ratio).
fn spread_bits(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Returns the stream number of an index in the table; `u32::MAX` beyond its range.
fn stream_number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
