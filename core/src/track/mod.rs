//! # Track
//! Follows TCP connections segment by segment: sequence space, scoreboard, window, RTT and rounds. UDP flows are only
//! counted. The input is decoded segments; the tracker knows nothing of frames and files.

mod at;
mod connection;
mod cooked_hosts;
mod event;
mod flow;
mod null;
mod rate;
mod refusals;
mod rounds;
pub(crate) mod row;
mod sender;
mod table;
mod tap;
mod udp;
mod unpadded_hosts;

pub use at::At;
pub use connection::handshake::ScaleSource;
pub use connection::lifecycle::{Ending, Opening};
pub use connection::turns::Turn;
pub use connection::{Connection, Rows};
pub use cooked_hosts::CookedHosts;
pub use event::{Cause, Event, Kind};
pub use flow::Totals;
pub use null::NULL;
pub use refusals::{Refusals, RefusedPackets};
pub use rounds::round::Round;
pub use row::{FieldVisitor, Row};
pub use table::batch::Batch;
pub use table::line::Provenance;
pub use table::shards::{ConnectionHasher, Register, Shards, shard};
pub use table::summary::{Life, Summary};
pub use table::{Commands, InferredScales, Table, TableReport, WantedEvents};
pub use udp::iperf::{IperfReport, Tool};
pub use udp::{DatagramFlow, Datagrams};
pub use unpadded_hosts::UnpaddedHosts;
