//! # Event
//! What one segment meant to one flow: the rows of the events table.

use super::row::row;

/// What a segment was to the flow. The names are the `kind` values of the events table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// SYN without ACK.
    Syn,
    /// SYN with ACK.
    SynAck,
    /// Payload in sequence, or beyond a hole that the tap has not seen filled.
    Data,
    /// FIN without payload.
    Fin,
    /// Reset.
    Rst,
    /// Bytes sent again, or bytes whose first copy was lost before the tap.
    Retransmission,
    /// Bytes overtaken on the way.
    Reordered,
    /// The capture holds the same packet twice.
    Duplicate,
    /// RFC 9293 section 3.8.4: nothing new, at most one byte, just below SND.NXT.
    KeepAlive,
    /// RFC 9293 section 3.8.6.1: up to one byte into a closed window.
    ZeroWindowProbe,
    /// An acknowledgment.
    Ack,
    /// RFC 5681 section 2: nothing acknowledged, no payload, same window, data outstanding.
    DuplicateAck,
    /// Nothing acknowledged, another window.
    WindowUpdate,
    /// The answer to a keep-alive.
    KeepAliveAck,
    /// An acknowledgment that advertises no window.
    ZeroWindow,
}

impl Kind {
    /// Names by discriminant.
    pub const NAMES: [&'static str; 15] = [
        "syn",
        "syn-ack",
        "data",
        "fin",
        "rst",
        "retransmission",
        "reordered",
        "duplicate",
        "keep-alive",
        "zero-window probe",
        "ack",
        "duplicate ack",
        "window update",
        "keep-alive ack",
        "zero window",
    ];
}

/// Why a segment was sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Cause {
    /// It was not.
    None,
    /// Acknowledgments reported what was sent after it.
    Fast,
    /// The retransmission timer ran out.
    Timeout,
    /// It was among what a timeout took for lost.
    AfterTimeout,
    /// The last segment again, to make the receiver say what is missing.
    TailLossProbe,
    /// Nothing in the capture asked for it.
    Unexplained,
}

impl Cause {
    /// Names by discriminant; none is empty.
    pub const NAMES: [&'static str; 6] = [
        "",
        "fast retransmit",
        "timeout",
        "after timeout",
        "tail loss probe",
        "unexplained",
    ];
}

row! {
    /// One row: a segment as it concerned one flow. Absent values are [`super::NULL`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Event {
        /// Stream number, as `tcp.stream`.
        pub stream: u32,
        /// Which direction of the stream the flow is: 0 client to server, 1 back.
        pub direction: u8,
        /// Time of capture.
        pub time_ns: i64,
        /// Frame number.
        pub frame: u64,
        /// See [`Kind`].
        pub kind: Kind as u8,
        /// Flags of the segment's header, see [`crate::decode::Flags`].
        pub tcp_flags: u8,
        /// Why it was sent again.
        pub cause: Cause as u8,
        /// First sequence number, sent rows only.
        pub sequence: i64,
        /// Payload, sent rows only.
        pub length: i64,
        /// Highest byte acknowledged: the segment's own number on ack rows, the sender's SND.UNA on sent rows.
        pub acknowledged: i64,
        /// Window advertised (ack rows) or in force (sent rows), scaled.
        pub window_bytes: i64,
        /// SND.NXT - SND.UNA as the sender saw it.
        pub in_flight_bytes: i64,
        /// In flight less what was SACKed or presumed lost, plus what was sent again.
        pub pipe_bytes: i64,
        /// The RTT that this acknowledgment measured.
        pub rtt_ns: i64,
        /// First byte of the acknowledgment's first SACK block, the one that brought news (RFC 2018 section 4); D-SACK
        /// blocks are left out.
        pub sack_start: i64,
        /// The byte after that block.
        pub sack_end: i64,
        /// Scaled window in the segment's own header, whichever flow it serves.
        pub advertised_bytes: i64,
        /// Acknowledgment number in the segment's own header, relative.
        pub own_acknowledgment: i64,
        /// SND.NXT - SND.UNA as the tap saw it.
        pub tap_in_flight_bytes: i64,
    }
}
