//! # Track
//! Segments to connections: sequence space, scoreboard, window, RTT, rounds. Takes decoded segments and does not care
//! who decoded them. UDP beside them is only counted.

mod asked;
mod batch;
mod brief;
mod bursts;
mod connection;
mod copies;
mod datagrams;
mod event;
mod flow;
mod handshake;
mod iperf;
mod kept;
mod late_rounds;
mod lifecycle;
mod line;
mod lowered;
mod measured;
mod one_way;
mod over;
mod packed;
mod passed;
mod passing;
mod ranges;
mod records;
mod retransmissions;
mod round;
mod rounds;
pub(crate) mod row;
mod scale;
mod sender;
mod sequence;
mod shards;
mod summary;
mod table;
mod tap;
mod turns;
mod vantage;
mod witness;

pub use batch::Batch;
pub use connection::{Connection, Rows};
pub use datagrams::{DatagramFlow, Datagrams};
pub use event::{Event, Kind, NULL};
pub use flow::{At, Totals};
pub use handshake::ScaleSource;
pub use iperf::{Report, Tool};
pub use lifecycle::{Ending, Opening};
pub use retransmissions::Cause;
pub use round::Round;
pub use row::{Fields, Row};
pub use shards::{Hashes, Register, Shards, shard};
pub use summary::{Life, Summary};
pub use table::{News, Orders, Scales, Seen, Table, Wanted};
pub use turns::Turn;
