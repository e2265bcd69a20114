//! # Track
//! Segments to connections: sequence space, scoreboard, window, RTT, rounds. Takes decoded segments and does not care
//! who decoded them. UDP beside them is only counted.

mod at;
mod connection;
mod event;
mod flow;
mod null;
mod rounds;
pub(crate) mod row;
mod sender;
mod table;
mod tap;
mod udp;

pub use at::At;
pub use connection::handshake::ScaleSource;
pub use connection::lifecycle::{Ending, Opening};
pub use connection::turns::Turn;
pub use connection::{Connection, Rows};
pub use event::{Cause, Event, Kind};
pub use flow::Totals;
pub use null::NULL;
pub use rounds::round::Round;
pub use row::{Fields, Row};
pub use table::batch::Batch;
pub use table::line::Seen;
pub use table::shards::{Hashes, Register, Shards, shard};
pub use table::summary::{Life, Summary};
pub use table::{News, Orders, Scales, Table, Wanted};
pub use udp::iperf::{Report, Tool};
pub use udp::{DatagramFlow, Datagrams};
