//! # Decode
//! A frame to a TCP segment: link layer, tags and tunnels, IP, TCP.

mod segment;

pub use segment::{Endpoint, Flags, Layer, Options, Path, Segment};
