//! # bdpcap-core
//! Counting: a capture in, TCP connections, rounds and events out, in one streaming pass.
//!
//! From the ground up, each room imports only what stands below it:
//! [`budget`] how much a run may take · [`threads`] work that is shared out · [`filter`] a compiled capture filter, executed ·
//! [`capture`] bytes to frames · [`decode`] a frame to a TCP segment or a UDP datagram ·
//! [`track`] segments to connections · [`source`] where frames come from ·
//! [`intake`] captures, one after the other, through these · [`workers`] threads that fill tables of connections ·
//! [`pipeline`] all of it · [`pieces`] the frames of a file shared out by host pair ·
//! [`excerpt`] frames written out again · [`annotate`] captures with comments · [`columns`], [`cells`], [`mod@csv`],
//! [`mod@parquet`] and `python` hand the results over; [`paths`] and [`spans`] serve those who judge them.
//! Input is hostile: nothing here panics on it, and errors are data with an offset and a reason.

pub mod annotate;
pub mod budget;
pub mod capture;
pub mod cells;
pub mod columns;
pub mod csv;
pub mod decode;
pub mod excerpt;
pub mod filter;
pub mod intake;
#[cfg(not(fuzzing))]
pub mod parquet;
pub mod paths;
pub mod pieces;
pub mod pipeline;
pub mod source;
pub mod spans;
pub mod threads;
pub mod track;
pub mod workers;

#[cfg(feature = "python")]
mod python;

/// Of a short connection, half the time went to the memory that it took and gave back.
#[cfg(not(fuzzing))]
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;
