//! # Ended
//! A connection that has ended: its results, without the state that only further packets would need.

use super::summary::{Life, Summary};
use crate::decode::{Endpoint, Flags, Path, Segment};
use crate::track::at::At;
use crate::track::connection::Connection;
use crate::track::event::{Cause, Event, Kind};
use crate::track::null::NULL;
use std::sync::Arc;

/// The summaries of the first connection of a table that ended. Connections of one capture are often alike, so those of
/// others are packed as differences from them.
pub type Typical = Arc<[Summary; 2]>;

/// The results of a connection that has ended; packed, as there may be millions of connections.
#[derive(Debug)]
pub struct EndedConnection {
    ends: [Endpoint; 2],
    path: Arc<Path>,
    /// Position of the first packet.
    start: At,
    typical: Typical,
    /// Initial sequence numbers of both ends; `None` where unknown.
    origins: [Option<u32>; 2],
    /// Offsets in `bytes` of the server's rounds, and of the [`Life`] after them.
    offsets: [usize; 2],
    /// The rounds of the client and of the server, the [`Life`] and both summaries. They share one allocation, since
    /// each allocation costs memory.
    bytes: Box<[u8]>,
}

impl EndedConnection {
    /// Usual upper bound of the packed [`Life`] and summaries, in bytes.
    const SUMMARIES_BYTES: usize = 192;

    /// Returns the results of a connection that was finished; it becomes the `typical` one if it is the first.
    #[must_use]
    pub fn new(connection: &Connection, typical: &mut Option<Typical>) -> Self {
        let [client, server] = connection
            .halves
            .each_ref()
            .map(|half| half.flow.packed_rounds());
        let mut bytes = Vec::with_capacity(client.len() + server.len() + Self::SUMMARIES_BYTES);
        bytes.extend_from_slice(client);
        bytes.extend_from_slice(server);
        let offsets = [client.len(), bytes.len()];
        Life::of(connection).pack(&Life::default(), &mut bytes);
        let summaries = [Summary::of(connection, 0), Summary::of(connection, 1)];
        let typical = Arc::clone(typical.get_or_insert_with(|| Arc::new(summaries)));
        pack(&summaries, connection.start, &typical, &mut bytes);
        Self {
            ends: connection.ends,
            path: Arc::clone(&connection.path),
            start: connection.start,
            typical,
            origins: connection
                .halves
                .each_ref()
                .map(|half| half.flow.tap.space.origin()),
            offsets,
            bytes: bytes.into(),
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

    /// Returns how the connection began and ended, and the packed summaries.
    fn life_and_summaries(&self) -> (Life, &[u8]) {
        let mut bytes = &self.bytes[self.offsets[1]..];
        let life = Life::unpack(&Life::default(), &mut bytes);
        (life, bytes)
    }

    /// Returns the summaries of the client's and of the server's data.
    #[must_use]
    pub fn summaries(&self) -> [Summary; 2] {
        let (_, mut bytes) = self.life_and_summaries();
        let [typical_client, typical_server] = &*self.typical;
        let client = Summary::unpack(&expected_client(self.start, typical_client), &mut bytes);
        let server = Summary::unpack(&expected_server(&client, typical_server), &mut bytes);
        [client, server]
    }

    /// Returns how the connection began and ended.
    #[must_use]
    pub fn life(&self) -> Life {
        self.life_and_summaries().0
    }

    /// Returns the packed rounds of the data that one end sent.
    #[must_use]
    pub fn packed_rounds(&self, from: usize) -> &[u8] {
        let [server, end] = self.offsets;
        &self.bytes[[0..server, server..end][from].clone()]
    }

    /// Returns 0 where the client sent the segment, 1 where the server did.
    fn direction(&self, segment: &Segment) -> usize {
        usize::from(segment.source != self.ends[0])
    }

    /// Does this segment open another connection between the same ports? See [`Connection::is_reopened_by`].
    #[must_use]
    pub fn is_reopened_by(&self, segment: &Segment) -> bool {
        let origin = self.origins[self.direction(segment)];
        segment.opens() && origin.is_some_and(|origin| origin != segment.sequence)
    }

    /// Counts a segment that was captured after the end and returns its event. The segment does not affect the rounds.
    pub fn add_late_segment(&mut self, stream: u32, segment: &Segment, at: At) -> Event {
        let from = self.direction(segment);
        let mut summaries = self.summaries();
        summaries[from].packets += 1;
        for summary in &mut summaries {
            summary.end_ns = summary.end_ns.max(at.time_ns);
            summary.last_frame = at.frame;
        }
        let mut bytes = self.bytes[..self.bytes.len() - self.life_and_summaries().1.len()].to_vec();
        pack(&summaries, self.start, &self.typical, &mut bytes);
        self.bytes = bytes.into();
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
fn pack(
    [client, server]: &[Summary; 2],
    start: At,
    [typical_client, typical_server]: &[Summary; 2],
    bytes: &mut Vec<u8>,
) {
    client.pack(&expected_client(start, typical_client), bytes);
    server.pack(&expected_server(client, typical_server), bytes);
}
