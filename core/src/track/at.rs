//! # At
//! A place in the capture.

/// When and where in the capture something happened.
#[derive(Debug, Clone, Copy)]
pub struct At {
    /// Time of capture.
    pub time_ns: i64,
    /// Frame number.
    pub frame: u64,
}
