//! # Table
//! All connections of a capture, numbered as Wireshark numbers `tcp.stream`.

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
use crate::decode::{Endpoint, Path, Segment};
use ended::EndedConnection;
use half_open::{HalfOpen, SynKinds};
use hashbrown::HashTable;
use ignored::IgnoredConnection;
use line::Provenance;
use short_lived::ShortLived;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use summary::{Life, Summary};

/// Which connections' events are wanted.
#[derive(Debug, Clone, Default)]
pub enum WantedEvents {
    /// No events.
    #[default]
    None,
    /// Every stream's.
    All,
    /// Every stream's, and no rounds.
    Events,
    /// These streams', without rounds, and nothing else is told of the others than their ends. Their numbers are those
    /// of the table: this needs a table that has all.
    Streams(HashSet<u32>),
}

impl WantedEvents {
    fn includes(&self, stream: u32) -> bool {
        match self {
            Self::None => false,
            Self::All | Self::Events => true,
            Self::Streams(streams) => streams.contains(&stream),
        }
    }

    fn keeps_rounds(&self) -> bool {
        matches!(self, Self::None | Self::All)
    }
}

/// Window scales that an earlier pass inferred, by the first frame of the stream and the direction of the data that
/// they limit.
pub type InferredScales = HashMap<(u64, u8), u8>;

/// A connection, as much of it as may still be needed.
#[derive(Debug)]
enum Entry {
    Open(Box<Connection>),
    Ended(Box<EndedConnection>),
    Ignored(Box<IgnoredConnection>),
    /// Nothing but its first SYN was captured.
    HalfOpen(Box<HalfOpen>),
    /// Few segments were captured so far.
    ShortLived(Box<ShortLived>),
    /// None of its own segments was captured, as far as that is known.
    Quoted(Box<IgnoredConnection>),
}

impl Entry {
    fn is_reopened_by(&self, segment: &Segment) -> bool {
        match self {
            Self::Open(connection) => connection.is_reopened_by(segment),
            Self::Ended(ended) => ended.is_reopened_by(segment),
            Self::Ignored(ignored) | Self::Quoted(ignored) => ignored.is_reopened_by(segment),
            Self::HalfOpen(half_open) => half_open.is_reopened_by(segment),
            // It is followed before a segment that opens a connection is compared with it.
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

    fn finish(&mut self, rows: &mut Rows) {
        if let Self::Open(connection) = self {
            connection.finish(rows);
            *self = Self::Ended(Box::new(EndedConnection::new(connection)));
        }
    }
}

/// A connection that ended, and its last frame up to then.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionEnd {
    index: usize,
    /// Its last frame.
    pub frame: u64,
}

/// What happened in a table since it was last told.
#[derive(Debug, Default)]
pub struct TableReport {
    /// First frames of the connections that began.
    pub opened: Vec<u64>,
    /// Connections that ended.
    pub ended: Vec<ConnectionEnd>,
    /// Rows, their streams numbered as in the table.
    pub rows: Rows,
    /// Segments of connections that were not to begin.
    pub segments_left_out: u64,
}

impl TableReport {
    /// A connection takes its next segment.
    #[inline(always)] // no more than a call of what it calls
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

/// What a table does before its next segment.
#[derive(Debug, Clone, Default)]
pub struct Commands {
    /// Connections to let go, unless packets came since.
    pub ended: Vec<ConnectionEnd>,
    /// Whether no more connections are to begin.
    pub full: bool,
}

/// Connections of a capture, numbered by their first frames.
#[derive(Debug, Default)]
pub struct Table {
    /// A part of the hash of the ends, and which connection is the newest between them: a table that grows looks at
    /// nothing else.
    by_ends: HashTable<(u32, u32)>,
    /// The one of these that was found last: segments of a connection come together.
    last: Option<(u32, u32)>,
    connections: Vec<Entry>,
    wanted: WantedEvents,
    scales: InferredScales,
    budget: Budget,
    /// No more connections are to begin.
    full: bool,
    /// Of the newest connection; most share it.
    path: Arc<Path>,
    /// The kinds of SYNs that nothing followed at first.
    syn_kinds: SynKinds,
    report: TableReport,
}

impl Table {
    /// A table that makes the events wanted, with window scales that an earlier pass inferred.
    #[must_use]
    pub fn new(wanted: WantedEvents, scales: InferredScales, budget: Budget) -> Self {
        Self {
            wanted,
            scales,
            budget,
            ..Self::default()
        }
    }

    /// Takes what follows in the capture: a segment with a part of the hash of its connection, and the headers around it.
    #[inline]
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

    /// An ICMP message quotes a segment. It tells nothing of a connection; but one that is new gets a number, as in
    /// Wireshark.
    #[cold]
    fn quote(&mut self, hash: u32, segment: &Segment, path: &Path, at: At) {
        let known = self.newest(hash, segment);
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

    #[inline]
    fn segment(&mut self, hash: u32, segment: &Segment, path: &Path, at: At) {
        let known = self.newest(hash, segment);
        match known.map(|index| (index, &mut self.connections[index])) {
            Some((index, Entry::Open(connection))) if !segment.opens() => {
                self.report.process(index, connection, segment, at);
            }
            _ => self.segment_slow_path(known, hash, segment, path, at),
        }
    }

    /// A segment that opens a connection, or changes what is kept of one.
    #[inline(never)] // one of many
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
                let event = ended.add_late_segment(stream, segment, at);
                if self.wanted.includes(stream) {
                    self.report.rows.events.push(event);
                }
            }
            Entry::Ignored(ignored) | Entry::Quoted(ignored) => ignored.segment(segment),
            Entry::HalfOpen(_) | Entry::ShortLived(_) => {}
        }
    }

    /// The newest connection between the ends of a segment, unless the segment opens another; it is over then.
    fn find_continued(&mut self, known: Option<usize>, segment: &Segment) -> Option<usize> {
        let index = known?;
        if segment.opens() {
            self.replay(index);
        }
        if self.connections[index].is_reopened_by(segment) {
            self.connections[index].finish(&mut self.report.rows);
            return None;
        }
        Some(index)
    }

    /// What the segments of a connection mean that were only kept so far.
    fn replay(&mut self, index: usize) {
        let Entry::ShortLived(short_lived) = &self.connections[index] else {
            return;
        };
        let mut rows = std::mem::take(&mut self.report.rows);
        let mut replayed = None;
        short_lived.replay(|segment, at| {
            let new =
                || Box::new(self.new_connection(index, segment, Arc::clone(&short_lived.path), at));
            let connection = replayed.get_or_insert_with(new);
            connection.segment(segment, at, &mut rows);
        });
        self.report.rows = rows;
        if let Some(connection) = replayed {
            self.connections[index] = Entry::Open(connection);
        }
    }

    /// Of every connection that it only keeps segments of, finds out what they mean.
    pub fn replay_all(&mut self) {
        for index in 0..self.connections.len() {
            self.replay(index);
        }
    }

    /// The newest connection between the ends of a segment.
    #[inline(always)] // in the way of every segment
    fn newest(&mut self, hash: u32, segment: &Segment) -> Option<usize> {
        if let Some((own, index)) = self.last
            && own == hash
            && is_between(self.connections[index as usize].ends(), segment)
        {
            return Some(index as usize);
        }
        self.find(hash, segment)
    }

    /// The same, unless it is the one found last.
    #[inline(never)] // not of segments of a connection that come together
    fn find(&mut self, hash: u32, segment: &Segment) -> Option<usize> {
        let connections = &self.connections;
        let found = self.by_ends.find(spread_bits(hash), |&(own, index)| {
            own == hash && is_between(connections[index as usize].ends(), segment)
        });
        self.last = found.copied();
        self.last.map(|(_, index)| index as usize)
    }

    /// From now on this connection is the newest between the ends of a segment.
    fn register(&mut self, hash: u32, segment: &Segment, index: usize) {
        let (connections, newest) = (&self.connections, (hash, stream_number(index)));
        self.last = Some(newest);
        let known = self.by_ends.find_mut(spread_bits(hash), |&(own, index)| {
            own == hash && is_between(connections[index as usize].ends(), segment)
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

    /// There is no room for a connection between the ends of a segment, nor is what follows one that was there before.
    #[cold]
    fn leave_out(&mut self, hash: u32, segment: &Segment) {
        self.report.segments_left_out += 1;
        self.last = None;
        let connections = &self.connections;
        let known = self.by_ends.find_entry(spread_bits(hash), |&(own, index)| {
            own == hash && is_between(connections[index as usize].ends(), segment)
        });
        if let Ok(known) = known {
            known.remove();
        }
    }

    fn new_connection(
        &self,
        index: usize,
        segment: &Segment,
        path: Arc<Path>,
        at: At,
    ) -> Connection {
        let number = stream_number(index);
        let inferred = [0, 1].map(|flow| self.scales.get(&(at.frame, flow)).copied());
        let wanted = self.wanted.includes(number);
        let mut connection = Connection::new(number, segment, path, at, wanted, inferred);
        let rounds = if self.wanted.keeps_rounds() {
            self.budget.rows
        } else {
            0
        };
        connection.set_limits((rounds, self.budget.ranges));
        connection
    }

    /// A connection that begins with this segment.
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
            // Of those of which events are wanted, the SYN is one.
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
        Entry::Open(Box::new(self.new_connection(index, segment, path, at)))
    }

    /// Does what is to be done before the next segment.
    pub fn execute(&mut self, commands: &Commands) {
        self.full = commands.full;
        for &ConnectionEnd { index, frame } in &commands.ended {
            match &self.connections[index] {
                Entry::Open(connection) if connection.last.frame != frame => {
                    let frame = connection.last.frame;
                    self.report.ended.push(ConnectionEnd { index, frame });
                }
                _ => self.connections[index].finish(&mut self.report.rows),
            }
        }
    }

    /// Are there events among what it tells?
    #[must_use]
    pub fn makes_events(&self) -> bool {
        !matches!(self.wanted, WantedEvents::None)
    }

    /// What happened since it was last told.
    pub fn take_report(&mut self) -> TableReport {
        std::mem::take(&mut self.report)
    }

    /// The capture ended.
    pub fn finish(&mut self) {
        for index in 0..self.connections.len() {
            self.replay(index);
            self.connections[index].finish(&mut self.report.rows);
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
        self.connections[stream].ends()
    }

    /// Client and server of a stream, the headers around its first packet, and what is told of either direction.
    #[must_use]
    pub fn summaries(&self, stream: usize) -> (&[Endpoint; 2], &Path, [Summary; 2]) {
        match &self.connections[stream] {
            Entry::Open(open) => {
                let summaries = [0, 1].map(|from| Summary::of(open, from));
                (&open.ends, &open.path, summaries)
            }
            Entry::Ended(ended) => (ended.ends(), ended.path(), ended.summaries()),
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

    /// Was more of a stream captured than a SYN?
    #[must_use]
    pub fn has_more_than_syn(&self, stream: usize) -> bool {
        matches!(self.connections[stream], Entry::Open(_) | Entry::Ended(_))
    }

    /// How a stream began and ended.
    #[must_use]
    pub fn life(&self, stream: usize) -> Life {
        match &self.connections[stream] {
            Entry::Open(open) => Life::of(open),
            Entry::Ended(ended) => ended.life(),
            Entry::Ignored(_) | Entry::Quoted(_) | Entry::ShortLived(_) => Life::default(),
            Entry::HalfOpen(half_open) => half_open.life(),
        }
    }

    /// The finished rounds of what one end of a stream sent, in their order.
    pub fn rounds(&self, stream: usize, from: usize) -> impl Iterator<Item = Round> {
        let bytes = match &self.connections[stream] {
            Entry::Open(open) => open.halves[from].flow.packed_rounds(),
            Entry::Ended(ended) => ended.packed_rounds(from),
            Entry::Ignored(_) | Entry::Quoted(_) | Entry::HalfOpen(_) | Entry::ShortLived(_) => &[],
        };
        packed_rounds::unpacked(stream_number(stream), from as u8, bytes)
    }
}

/// Is it the segment of a connection between these ends, whichever sent?
#[inline(always)]
fn is_between([client, server]: &[Endpoint; 2], segment: &Segment) -> bool {
    let (source, destination) = (&segment.source, &segment.destination);
    (client == source && server == destination) || (client == destination && server == source)
}

/// To all bits of a word, which the table looks at (multiplied by 2^64 over the golden ratio).
fn spread_bits(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn stream_number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
