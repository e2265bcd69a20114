//! # Event
//! The effect of one segment on one flow: the rows of the events table.

use super::row::row;

/// Kind of a segment from the flow's point of view. The names are the `kind` values of the events table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A SYN without ACK.
    Syn,
    /// A SYN with ACK.
    SynAck,
    /// Payload in sequence, or after a hole of bytes that the tap has not seen.
    Data,
    /// A FIN without payload.
    Fin,
    /// A reset.
    Rst,
    /// Retransmitted bytes; their first copy passed the tap or was lost before it.
    Retransmission,
    /// Bytes that later ones overtook on the path.
    Reordered,
    /// A second copy of a packet that the capture already holds.
    Duplicate,
    /// A keep-alive (RFC 9293 section 3.8.4): nothing new, at most one byte, just below SND.NXT.
    KeepAlive,
    /// A zero-window probe (RFC 9293 section 3.8.6.1): at most one byte into a closed window.
    ZeroWindowProbe,
    /// An acknowledgment that is of no kind below.
    Ack,
    /// A duplicate acknowledgment (RFC 5681 section 2): nothing new acknowledged, no payload, the same window, while
    /// data are outstanding. With SACK blocks the window may differ.
    DuplicateAck,
    /// An acknowledgment of nothing new that advertises another window.
    WindowUpdate,
    /// The answer to a keep-alive or to a zero-window probe.
    KeepAliveAck,
    /// An acknowledgment that advertises a window of 0.
    ZeroWindow,
}

impl Kind {
    /// Names of the kinds, indexed by discriminant.
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

/// Cause of a retransmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Cause {
    /// The segment is not a retransmission.
    None,
    /// Fast retransmit or recovery: acknowledgments reported data that were sent after the lost segment.
    Fast,
    /// The retransmission timer expired.
    Timeout,
    /// Part of the data that the sender presumed lost after a timeout.
    AfterTimeout,
    /// Tail loss probe (RFC 8985 section 7): the last segment again, to elicit an acknowledgment.
    TailLossProbe,
    /// Nothing in the capture explains the retransmission.
    Unexplained,
}

impl Cause {
    /// Names of the causes, indexed by discriminant; the name of [`Self::None`] is empty.
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
    /// A row of the events table: a segment and its effect on one flow. Absent values are [`super::NULL`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Event {
        /// Stream number, as Wireshark's `tcp.stream`.
        pub stream: u32,
        /// Direction of the flow: 0 for client to server, 1 for server to client.
        pub direction: u8,
        /// Time of capture, in ns since the epoch.
        pub time_ns: i64,
        /// Frame number.
        pub frame: u64,
        /// Kind of the segment; the number of a [`Kind`].
        pub kind: Kind as u8,
        /// Flags in the segment's header; see [`crate::decode::Flags`].
        pub tcp_flags: u8,
        /// Cause of the retransmission; the number of a [`Cause`].
        pub cause: Cause as u8,
        /// First relative sequence number; NULL on rows of acknowledgments.
        pub sequence: i64,
        /// Payload in bytes; NULL on rows of acknowledgments.
        pub length: i64,
        /// Relative acknowledgment number: the segment's on rows of acknowledgments, the sender's SND.UNA on rows of
        /// sent segments. NULL where it is unknown.
        pub acknowledged: i64,
        /// Window in bytes, scaled: advertised by the segment on rows of acknowledgments, last received by the sender
        /// on rows of sent segments. NULL where it is unknown.
        pub window_bytes: i64,
        /// SND.NXT - SND.UNA at the sender, in bytes; NULL before both are known.
        pub in_flight_bytes: i64,
        /// Bytes in flight, less those SACKed or presumed lost, plus those retransmitted (RFC 6675 pipe); NULL before
        /// SND.NXT and SND.UNA are known.
        pub pipe_bytes: i64,
        /// RTT of the whole path that this acknowledgment measured, in ns; NULL where it measured none.
        pub rtt_ns: i64,
        /// First byte, relative, of the acknowledgment's first SACK block other than a D-SACK (RFC 2018 section 4);
        /// NULL where there is none.
        pub sack_start: i64,
        /// The relative sequence number after the block of `sack_start`; NULL where there is none.
        pub sack_end: i64,
        /// Window in the segment's own header, in bytes, scaled; NULL where it is unknown.
        pub advertised_bytes: i64,
        /// Relative acknowledgment number in the segment's own header; NULL without the ACK flag.
        pub own_acknowledgment: i64,
        /// SND.NXT - SND.UNA at the tap, in bytes; NULL where it is unknown.
        pub tap_in_flight_bytes: i64,
    }
}
