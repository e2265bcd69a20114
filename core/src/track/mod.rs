//! # Track
//! Segments to connections: sequence space, scoreboard, window, RTT, rounds. Takes decoded segments and does not care
//! who decoded them.

mod connection;
mod event;
mod flow;
mod one_way;
mod ranges;
mod round;
mod rounds;
mod scale;
mod sender;
mod sequence;
mod table;
mod tap;
mod vantage;
mod witness;

pub use connection::{Connection, Rows, ScaleSource};
pub use event::{Event, Kind, NULL};
pub use flow::{At, Totals};
pub use round::Round;
pub use table::{Scales, Table, Wanted};
