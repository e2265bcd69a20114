//! # At
//! A position in the capture.

/// Time and frame number of a packet in the capture.
#[derive(Debug, Clone, Copy, Default)]
pub struct At {
    /// Time of capture, in ns since the epoch.
    pub time_ns: i64,
    /// Frame number, counted from 1 over all files.
    pub frame: u64,
}
