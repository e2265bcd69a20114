//! # Table
//! All connections of a capture, numbered as Wireshark numbers `tcp.stream`.

use super::connection::{Connection, Rows};
use super::flow::At;
use crate::decode::{Endpoint, Path, Segment};
use foldhash::fast::RandomState;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

/// Which connections' events are wanted.
#[derive(Debug, Clone, Default)]
pub enum Wanted {
    /// No events.
    #[default]
    None,
    /// Every stream's.
    All,
    /// These streams'.
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

/// Window scales that an earlier pass inferred, by stream and by the direction of the data that they limit.
pub type Scales = HashMap<(u32, u8), u8>;

/// All connections of a capture.
#[derive(Debug, Default)]
pub struct Table {
    by_ends: HashMap<(Endpoint, Endpoint), usize, RandomState>,
    connections: Vec<Connection>,
    wanted: Wanted,
    scales: Scales,
    /// Rows made so far and not yet taken.
    pub rows: Rows,
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

    /// Takes the next segment of the capture, and the headers around it.
    pub fn segment(&mut self, segment: &Segment, path: &Path, at: At) {
        // Either order would do; ports nearly always decide, and are quickly compared.
        let (one, other) = (segment.source, segment.destination);
        let ends = match one.port.cmp(&other.port) {
            Ordering::Less => (one, other),
            Ordering::Equal if one.address <= other.address => (one, other),
            _ => (other, one),
        };
        let known = self.by_ends.get(&ends).copied();
        let index = match known.filter(|&i| !self.connections[i].is_reopened_by(segment)) {
            Some(index) => index,
            None => {
                if let Some(before) = known {
                    self.connections[before].finish(&mut self.rows);
                }
                let index = self.connections.len();
                let number = u32::try_from(index).unwrap_or(u32::MAX);
                let wanted = self.wanted.wants(number);
                let inferred = [0, 1].map(|flow| self.scales.get(&(number, flow)).copied());
                self.connections
                    .push(Connection::new(number, segment, path, at, wanted, inferred));
                self.by_ends.insert(ends, index);
                index
            }
        };
        self.connections[index].segment(segment, at, &mut self.rows);
    }

    /// The capture ended.
    pub fn finish(&mut self) {
        for connection in &mut self.connections {
            connection.finish(&mut self.rows);
        }
    }

    /// The connections, by stream number.
    #[must_use]
    pub fn connections(&self) -> &[Connection] {
        &self.connections
    }
}
