//! # Track
//! Segments to connections: sequence space, scoreboard, window, RTT, rounds. Takes decoded segments and does not care
//! who decoded them. UDP beside them is only counted.

mod asked;
mod at;
mod batch;
mod brief;
mod connection;
mod event;
mod flow;
mod line;
mod null;
mod over;
mod passed;
mod rounds;
pub(crate) mod row;
mod sender;
mod shards;
mod summary;
mod table;
mod tap;
mod udp;

pub use at::At;
pub use batch::Batch;
pub use connection::handshake::ScaleSource;
pub use connection::lifecycle::{Ending, Opening};
pub use connection::turns::Turn;
pub use connection::{Connection, Rows};
pub use event::{Cause, Event, Kind};
pub use flow::Totals;
pub use line::Seen;
pub use null::NULL;
pub use rounds::round::Round;
pub use row::{Fields, Row};
pub use shards::{Hashes, Register, Shards, shard};
pub use summary::{Life, Summary};
pub use table::{News, Orders, Scales, Table, Wanted};
pub use udp::iperf::{Report, Tool};
pub use udp::{DatagramFlow, Datagrams};
