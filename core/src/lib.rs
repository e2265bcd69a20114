//! # bdpcap-core
//! Reads a capture in one streaming pass and counts its TCP connections, rounds and events.
//!
//! A module imports only modules listed before it:
//!
//! - [`budget`]: upper bounds on memory and work
//! - [`threads`]: runs a function in one thread per item
//! - [`filter`]: executes a compiled capture filter
//! - [`cells`], [`mod@csv`], [`mod@parquet`]: tables written as CSV and Parquet
//! - [`capture`]: reads frames from captures
//! - [`decode`]: decodes a frame to a TCP segment or a UDP datagram
//! - [`track`]: assigns segments to connections and measures them
//! - [`source`]: opens the files and streams of a capture in order
//! - [`intake`]: reads sources one after the other, and filters and decodes their frames
//! - [`workers`]: threads that fill tables of connections
//! - [`pipeline`]: connects the intake to the tables
//! - [`pieces`]: splits the frames of a file into buckets by host pair
//! - [`excerpt`]: writes selected frames to a new capture
//! - [`annotate`]: writes captures again with comments
//! - [`columns`]: converts results to named columns
//! - [`paths`], [`spans`]: computations on results for the Python side
//! - `python`: the extension module
//!
//! Input is hostile: no input causes a panic, and every error has an offset and a reason.

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

/// With the system allocator, half the time of a short connection was spent on allocating and freeing memory.
#[cfg(not(fuzzing))]
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;
