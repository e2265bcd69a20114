//! # Ended
//! A connection that has ended: its results, without the state that only further packets would need.

use super::summary::{Life, Summary};
use crate::decode::{Endpoint, Flags, Path, Segment};
use crate::track::at::At;
use crate::track::connection::Connection;
use crate::track::event::{Cause, Event, Kind};
use crate::track::flow::Flow;
use crate::track::null::NULL;
use crate::track::row::packed::packed_row;
use std::sync::{Arc, OnceLock};

/// The results of the first connection of a table that ended. Connections of one capture are often alike, so those of
/// others are packed as differences from them.
#[derive(Debug, Default)]
pub struct Typical {
    life: Life,
    summaries: [Summary; 2],
}

packed_row! {
    /// Head of a packed connection that has ended.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    struct Head {
        /// Length of the client's packed rounds, in bytes.
        client_rounds: u64,
        /// Length of the server's packed rounds, in bytes.
        server_rounds: u64,
        /// Initial sequence number of the client; [`NULL`] where it is unknown.
        client_origin: i64,
        /// Initial sequence number of the server; [`NULL`] where it is unknown.
        server_origin: i64,
    }
}

/// The results of a connection that has ended; packed, as there may be millions of connections.
#[derive(Debug)]
pub struct EndedConnection {
    ends: [Endpoint; 2],
    path: Arc<Path>,
    /// Position of the first packet.
    start: At,
    /// The [`Head`], the rounds of the client and of the server, the [`Life`] and both summaries. They share one
    /// allocation, since each allocation costs memory.
    bytes: Box<[u8]>,
}

impl EndedConnection {
    /// Usual upper bound of the packed [`Head`], [`Life`] and summaries, in bytes.
    const RESULTS_BYTES: usize = 192;

    /// Returns the results of a connection that was finished; they become the `typical` ones if it is the first.
    #[must_use]
    pub fn new(connection: &Connection, typical: &OnceLock<Typical>) -> Self {
        let flows = connection.halves.each_ref().map(|half| &half.flow);
        let [client, server] = [0, 1].map(|end| connection.packed_rounds(end));
        let origin = |flow: &Flow| flow.tap.space.origin().map_or(NULL, i64::from);
        let head = Head {
            client_rounds: client.len() as u64,
            server_rounds: server.len() as u64,
            client_origin: origin(flows[0]),
            server_origin: origin(flows[1]),
        };
        let mut bytes = Vec::with_capacity(client.len() + server.len() + Self::RESULTS_BYTES);
        head.pack(&Head::default(), &mut bytes);
        bytes.extend_from_slice(client);
        bytes.extend_from_slice(server);
        let life = Life::of(connection);
        let summaries = [Summary::of(connection, 0), Summary::of(connection, 1)];
        let typical = typical.get_or_init(|| Typical { life, summaries });
        life.pack(&typical.life, &mut bytes);
        pack(&summaries, connection.start, typical, &mut bytes);
        Self {
            ends: connection.ends,
            path: Arc::clone(&connection.path),
            start: connection.start,
            bytes: bytes[..].into(), // a copy: the vector itself would keep its room
        }
    }

    /// Returns client and server.
    #[must_use]
    pub fn ends(&self) -> &[Endpoint; 2] {
        &self.ends
    }

    /// Returns the headers around the first packet.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the position of the first packet.
    #[must_use]
    pub fn start(&self) -> At {
        self.start
    }

    /// Returns the head, and the bytes after it.
    fn head(&self) -> (Head, &[u8]) {
        let mut bytes = &self.bytes[..];
        let head = Head::unpack(&Head::default(), &mut bytes);
        (head, bytes)
    }

    /// Returns the packed rounds of the client and of the server, and the bytes after them.
    fn parts(&self) -> ([&[u8]; 2], &[u8]) {
        let (head, bytes) = self.head();
        let (client, bytes) = bytes.split_at(head.client_rounds as usize);
        let (server, bytes) = bytes.split_at(head.server_rounds as usize);
        ([client, server], bytes)
    }

    /// Returns how the connection began and ended, and the packed summaries.
    fn life_and_summaries(&self, typical: &Typical) -> (Life, &[u8]) {
        let (_, mut bytes) = self.parts();
        let life = Life::unpack(&typical.life, &mut bytes);
        (life, bytes)
    }

    /// Returns the summaries of the client's and of the server's data; `typical` is that of [`Self::new`].
    #[must_use]
    pub fn summaries(&self, typical: &Typical) -> [Summary; 2] {
        let (_, mut bytes) = self.life_and_summaries(typical);
        let [typical_client, typical_server] = &typical.summaries;
        let client = Summary::unpack(&expected_client(self.start, typical_client), &mut bytes);
        let server = Summary::unpack(&expected_server(&client, typical_server), &mut bytes);
        [client, server]
    }

    /// Returns how the connection began and ended; `typical` is that of [`Self::new`].
    #[must_use]
    pub fn life(&self, typical: &Typical) -> Life {
        self.life_and_summaries(typical).0
    }

    /// Returns the packed rounds of the data that one end sent.
    #[must_use]
    pub fn packed_rounds(&self, from: usize) -> &[u8] {
        self.parts().0[from]
    }

    /// Returns 0 where the client sent the segment, 1 where the server did.
    fn direction(&self, segment: &Segment) -> usize {
        usize::from(segment.source != self.ends[0])
    }

    /// Does this segment open another connection between the same ports? See [`Connection::is_reopened_by`].
    #[must_use]
    pub fn is_reopened_by(&self, segment: &Segment) -> bool {
        if !segment.opens() {
            return false;
        }
        let (head, _) = self.head();
        let origin = [head.client_origin, head.server_origin][self.direction(segment)];
        origin != NULL && origin != i64::from(segment.sequence)
    }

    /// Counts a segment that was captured after the end and returns its event. The segment does not affect the rounds.
    pub fn add_late_segment(
        &mut self,
        typical: &Typical,
        stream: u32,
        segment: &Segment,
        at: At,
    ) -> Event {
        let from = self.direction(segment);
        let mut summaries = self.summaries(typical);
        summaries[from].packets += 1;
        for summary in &mut summaries {
            summary.end_ns = summary.end_ns.max(at.time_ns);
            summary.last_frame = at.frame;
        }
        let (_, packed) = self.life_and_summaries(typical);
        let mut bytes = self.bytes[..self.bytes.len() - packed.len()].to_vec();
        pack(&summaries, self.start, typical, &mut bytes);
        self.bytes = bytes[..].into();
        let acknowledges = segment.payload_bytes == 0 && !segment.flags.has(Flags::RST);
        let (kind, direction) = match (segment.flags.has(Flags::RST), acknowledges) {
            (true, _) => (Kind::Rst, from),
            (false, true) => (Kind::Ack, 1 - from),
            (false, false) => (Kind::Data, from),
        };
        Event {
            stream,
            direction: direction as u8,
            time_ns: at.time_ns,
            frame: at.frame,
            kind,
            cause: Cause::None,
            tcp_flags: segment.flags.0,
            sequence: NULL,
            length: if acknowledges {
                NULL
            } else {
                segment.payload_bytes.into()
            },
            acknowledged: NULL,
            window_bytes: NULL,
            in_flight_bytes: NULL,
            pipe_bytes: NULL,
            rtt_ns: NULL,
            sack_start: NULL,
            sack_end: NULL,
            advertised_bytes: NULL,
            own_acknowledgment: NULL,
            tap_in_flight_bytes: NULL,
        }
    }
}

/// Returns the client's summary as it is expected in a connection that began at `start`.
fn expected_client(start: At, typical: &Summary) -> Summary {
    Summary {
        start_ns: start.time_ns,
        end_ns: start.time_ns,
        first_frame: start.frame,
        last_frame: start.frame,
        ..*typical
    }
}

/// Returns the server's summary as it is expected with this one of the client.
fn expected_server(client: &Summary, typical: &Summary) -> Summary {
    Summary {
        start_ns: client.start_ns,
        end_ns: client.end_ns,
        first_frame: client.first_frame,
        last_frame: client.last_frame,
        initial_rtt_ns: client.initial_rtt_ns,
        ..*typical
    }
}

/// Packs both summaries.
fn pack([client, server]: &[Summary; 2], start: At, typical: &Typical, bytes: &mut Vec<u8>) {
    let [typical_client, typical_server] = &typical.summaries;
    client.pack(&expected_client(start, typical_client), bytes);
    server.pack(&expected_server(client, typical_server), bytes);
}
