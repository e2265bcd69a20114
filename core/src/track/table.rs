//! # Table
//! All connections of a capture, numbered as Wireshark numbers `tcp.stream`.

use super::connection::{Connection, Rows};
use super::flow::At;
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

/// All connections of a capture.
#[derive(Debug, Default)]
pub struct Table {
    by_ends: HashMap<Ends, usize, RandomState>,
    connections: Vec<Connection>,
    wanted: Wanted,
    scales: Scales,
    /// Of the newest connection; most share it.
    path: Arc<Path>,
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
        let ends = Ends::of(segment);
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
                if *self.path != *path {
                    self.path = Arc::new(*path);
                }
                let path = Arc::clone(&self.path);
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
