//! # Columns
//! Rows to named columns, the form in which results leave the core.

use crate::decode::{Endpoint, Layer};
use crate::track::{
    Cause, Connection, DatagramFlow, Ending, Event, Kind, NULL, Opening, Round, ScaleSource, Turn,
};

/// One column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Column {
    /// Signed integers, [`NULL`] where absent.
    I64(Vec<i64>),
    /// Frame numbers.
    U64(Vec<u64>),
    /// Stream and round numbers.
    U32(Vec<u32>),
    /// Small enumerations.
    U8(Vec<u8>),
    /// Names.
    Text(Vec<String>),
}

/// Columns of equal length, in order.
pub type Columns = Vec<(&'static str, Column)>;

macro_rules! transpose {
    ($rows:expr, $($variant:ident { $($field:ident),* $(,)? })*) => {
        {
            $($(let mut $field = Vec::with_capacity($rows.len());)*)*
            for row in $rows.iter() {
                $($($field.push(row.$field.clone());)*)*
            }
            vec![$($((stringify!($field), Column::$variant($field)),)*)*]
        }
    };
}

/// Rounds by stream, direction and number, a column per field of [`Round`].
#[must_use]
pub fn rounds(rows: &[Round]) -> Columns {
    let mut rows: Vec<&Round> = rows.iter().collect();
    rows.sort_unstable_by_key(|row| (row.stream, row.direction, row.round));
    transpose!(rows,
        U32 { stream, round }
        U8 { direction, after_fin }
        U64 { first_frame, last_frame }
        I64 {
            start_ns, end_ns, length_ns, sent_bytes, sent_segments, resent_bytes, resent_segments, acked_bytes,
            delivered_bytes, acks, answered_acks, ack_ticks, echoed_ticks, replies, fresh_starts, flight_max_bytes, flight_mean_bytes,
            window_min_bytes, window_max_bytes, usable_min_bytes, empty_ns,
            stalled_ns, tight_ns, zero_window_ns, rtt_samples, rtt_min_ns, rtt_ns, rtt_max_ns, rtt_floor_ns,
            queue_low_ns, busy_ns, run_rate, spacing_rate, pauses_ns, forth_ns, back_ns, small_segments, after_small_ns, unprompted_bytes,
            bursts, short_ends, burst_freed_bytes, burst_wait_ns, replied_bursts, burst_period_min_ns, burst_period_max_ns, silence_ns, asleep_ns, sleep_max_ns, duplicate_acks, reordered, timeouts, congestion_echoes,
            missed_bytes, backwards,
        }
    )
}

/// Turns by stream, in order of time, a column per field of [`Turn`].
#[must_use]
pub fn turns(rows: &[Turn]) -> Columns {
    let mut rows: Vec<&Turn> = rows.iter().collect();
    rows.sort_by_key(|row| row.stream);
    transpose!(rows,
        U32 { stream }
        U8 { direction, overlapping, unseen }
        U64 { first_frame, last_frame }
        I64 { start_ns, end_ns, resent_ns, pause_ns, rtt_ns, bytes }
    )
}

/// Events, a column per field of [`Event`]; `kind` indexes [`Kind::NAMES`], `cause` [`Cause::NAMES`].
#[must_use]
pub fn events(rows: &[Event]) -> Columns {
    let kinds = rows.iter().map(|row| row.kind as u8).collect();
    let causes = rows.iter().map(|row| row.cause as u8).collect();
    let mut columns = transpose!(rows,
        U32 { stream }
        U8 { direction, tcp_flags }
        U64 { frame }
        I64 {
            time_ns, sequence, length, acknowledged, window_bytes, in_flight_bytes, pipe_bytes, rtt_ns,
            sack_start, sack_end, advertised_bytes, own_acknowledgment, tap_in_flight_bytes,
        }
    );
    columns.push(("kind", Column::U8(kinds)));
    columns.push(("cause", Column::U8(causes)));
    columns
}

/// Names by what indexes them: `kind` and `cause` of events, `handshake` and `ended` of connections.
pub const NAMES: [(&str, &[&str]); 4] = [
    ("KINDS", &Kind::NAMES),
    ("CAUSES", &Cause::NAMES),
    ("HANDSHAKES", &Opening::NAMES),
    ("ENDINGS", &Ending::NAMES),
];

/// One direction of a connection.
#[derive(Debug, Clone)]
struct Direction {
    stream: u32,
    direction: u8,
    carried: u8,
    handshake: u8,
    direct: u8,
    has_timestamps: u8,
    multipath: u8,
    unfinished: u8,
    scale_least: u8,
    scale_most: u8,
    scale_reached: u8,
    sender: String,
    receiver: String,
    window_scale_source: String,
    path: String,
    start_ns: i64,
    end_ns: i64,
    first_frame: u64,
    last_frame: u64,
    packets: i64,
    payload_bytes: i64,
    retransmitted_bytes: i64,
    retransmits: i64,
    fast_retransmits: i64,
    timeout_retransmits: i64,
    tail_loss_probes: i64,
    unexplained_retransmits: i64,
    timeouts: i64,
    timeout_wait_ns: i64,
    spurious_retransmits: i64,
    reordered: i64,
    copies: i64,
    acked_bytes: i64,
    acks: i64,
    missed_bytes: i64,
    largest_bytes: i64,
    mss_bytes: i64,
    window_scale: i64,
    scale_checked: i64,
    scale_exceeded: i64,
    ttl: i64,
    syn_window_bytes: i64,
    window_max_bytes: i64,
    in_flight_max_bytes: i64,
    rtt_min_ns: i64,
    initial_rtt_ns: i64,
    sender_side_ns: i64,
    receiver_side_ns: i64,
}

/// Both directions of every connection.
#[must_use]
pub fn directions(connections: &[Connection]) -> Columns {
    let rows: Vec<Direction> = connections
        .iter()
        .flat_map(|c| [direction(c, 0), direction(c, 1)])
        .collect();
    transpose!(rows,
        U32 { stream }
        U8 {
            direction, carried, handshake, direct, has_timestamps, multipath, unfinished, scale_least, scale_most, scale_reached,
        }
        U64 { first_frame, last_frame }
        Text { sender, receiver, window_scale_source, path }
        I64 {
            start_ns, end_ns, packets, payload_bytes, retransmitted_bytes, retransmits, fast_retransmits,
            timeout_retransmits, tail_loss_probes, unexplained_retransmits, timeouts, timeout_wait_ns,
            spurious_retransmits, reordered, copies, acked_bytes, acks, missed_bytes,
            largest_bytes, mss_bytes, window_scale, scale_checked, scale_exceeded, ttl, syn_window_bytes, window_max_bytes, in_flight_max_bytes, rtt_min_ns,
            initial_rtt_ns, sender_side_ns, receiver_side_ns,
        }
    )
}

fn direction(connection: &Connection, from: usize) -> Direction {
    let flow = &connection.halves[from].flow;
    let to = 1 - from;
    let (scale, source) = connection.scale(to);
    let totals = &flow.totals;
    let again = flow.retransmissions.counts();
    let or_null = |value: Option<i64>| value.unwrap_or(NULL);
    let name = |end: usize| connection.ends[end].to_string();
    Direction {
        stream: connection.number,
        direction: from as u8,
        carried: u8::from(connection.is_flow(from)),
        handshake: u8::from(connection.handshake.has_syn(0))
            | u8::from(connection.handshake.has_syn(1)) << 1,
        direct: u8::from(flow.way.direct()),
        has_timestamps: u8::from(flow.has_timestamps()),
        multipath: u8::from(connection.handshake.is_multipath()),
        unfinished: u8::from(connection.halves[from].witness.is_unfinished()),
        scale_least: flow.scale.least(),
        scale_most: flow.scale.most(),
        scale_reached: u8::from(flow.scale.is_reached()),
        sender: name(from),
        receiver: name(to),
        window_scale_source: source.name().to_owned(),
        path: connection.path.to_string(),
        start_ns: connection.start.time_ns,
        end_ns: connection.last.time_ns,
        first_frame: connection.start.frame,
        last_frame: connection.last.frame,
        packets: totals.packets,
        payload_bytes: totals.payload_bytes,
        retransmitted_bytes: totals.retransmitted_bytes,
        retransmits: again.packets,
        fast_retransmits: again.fast,
        timeout_retransmits: again.timeout,
        tail_loss_probes: again.probes,
        unexplained_retransmits: again.unexplained,
        timeouts: again.timeouts,
        timeout_wait_ns: again.wait_ns,
        spurious_retransmits: again.spurious,
        reordered: totals.reordered,
        copies: totals.copies,
        acked_bytes: totals.acked_bytes,
        acks: totals.acks,
        missed_bytes: totals.missed_bytes,
        largest_bytes: totals.largest_bytes,
        mss_bytes: flow.mss(),
        window_scale: match source {
            // Nothing was scaled: no scale is in force, which is not the same as a scale of 0.
            ScaleSource::Declined | ScaleSource::Unknown => NULL,
            ScaleSource::Negotiated | ScaleSource::OneSided | ScaleSource::Inferred => {
                or_null(scale.map(i64::from))
            }
        },
        scale_checked: i64::from(flow.scale.checked()),
        scale_exceeded: i64::from(flow.scale.exceeded()),
        ttl: or_null(connection.halves[from].witness.ttl().map(i64::from)),
        syn_window_bytes: or_null(connection.handshake.window(to).map(i64::from)),
        window_max_bytes: or_null(totals.window_max_bytes),
        in_flight_max_bytes: totals.in_flight_max_bytes,
        rtt_min_ns: or_null(flow.rtt_min_ns()),
        initial_rtt_ns: or_null(connection.initial_rtt_ns),
        sender_side_ns: or_null(flow.way.least_ns()),
        receiver_side_ns: or_null(flow.way.receiver_ns()),
    }
}

/// One connection.
#[derive(Debug, Clone)]
struct Lived {
    stream: u32,
    handshake: u8,
    ended: u8,
    completeness: u8,
    ended_by: i64,
    syns: i64,
    syn_acks: i64,
    client_bytes: i64,
    server_bytes: i64,
    unacknowledged_bytes: i64,
    retry_wait_ns: i64,
}

/// Every connection, with or without payload; `handshake` and `ended` index [`NAMES`], `ended_by` is 0 for the client, 1
/// for the server.
#[must_use]
pub fn connections(connections: &[Connection]) -> Columns {
    let row = |connection: &Connection| {
        let lifecycle = &connection.lifecycle;
        let (ended, by) = lifecycle.ending();
        let [client, server] = [0, 1].map(|end| connection.halves[end].flow.totals.payload_bytes);
        let carried = connection.is_flow(0) || connection.is_flow(1);
        Lived {
            stream: connection.number,
            handshake: lifecycle.opening() as u8,
            ended: ended as u8,
            completeness: lifecycle.completeness(carried),
            ended_by: by.map_or(NULL, i64::from),
            syns: lifecycle.syns()[0].into(),
            syn_acks: lifecycle.syns()[1].into(),
            client_bytes: client,
            server_bytes: server,
            unacknowledged_bytes: lifecycle.unacknowledged_bytes.iter().sum(),
            retry_wait_ns: lifecycle.retry_wait_ns.unwrap_or(NULL),
        }
    };
    let rows: Vec<Lived> = connections.iter().map(row).collect();
    transpose!(rows,
        U32 { stream }
        U8 { handshake, ended, completeness }
        I64 { ended_by, syns, syn_acks, client_bytes, server_bytes, unacknowledged_bytes, retry_wait_ns }
    )
}

/// One UDP flow.
#[derive(Debug, Clone)]
struct Counted {
    sender: String,
    receiver: String,
    tool: String,
    packets: i64,
    payload_bytes: i64,
    start_ns: i64,
    end_ns: i64,
    lost: i64,
    reordered: i64,
    jitter_ns: i64,
}

/// UDP flows of a capture that began at `capture_ns`; `tool` is empty where none is known.
#[must_use]
pub fn datagrams(flows: &[DatagramFlow], capture_ns: i64) -> Columns {
    let row = |flow: &DatagramFlow| {
        let report = flow.report(capture_ns);
        Counted {
            sender: flow.sender.to_string(),
            receiver: flow.receiver.to_string(),
            tool: report.map_or("", |report| report.tool.name()).to_owned(),
            packets: flow.packets,
            payload_bytes: flow.payload_bytes,
            start_ns: flow.start_ns,
            end_ns: flow.end_ns,
            lost: report.map_or(NULL, |report| report.lost),
            reordered: report.map_or(NULL, |report| report.reordered),
            jitter_ns: report.map_or(NULL, |report| report.jitter_ns),
        }
    };
    let rows: Vec<Counted> = flows.iter().map(row).collect();
    transpose!(rows,
        Text { sender, receiver, tool }
        I64 { packets, payload_bytes, start_ns, end_ns, lost, reordered, jitter_ns }
    )
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::net::SocketAddr::new(self.address, self.port).fmt(f)
    }
}

impl std::fmt::Display for Layer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Vlan(id) => write!(f, "VLAN {id}"),
            Self::Mpls(label) => write!(f, "MPLS {label}"),
            Self::Pppoe(session) => write!(f, "PPPoE {session}"),
            Self::Ip(from, to) => write!(f, "IP {from} > {to}"),
            Self::Gre(None) => write!(f, "GRE"),
            Self::Gre(Some(key)) => write!(f, "GRE key {key}"),
            Self::Service(id) => write!(f, "802.1ah {id}"),
            Self::Vxlan(id) => write!(f, "VXLAN {id}"),
            Self::Geneve(id) => write!(f, "Geneve {id}"),
            Self::Gtp(endpoint) => write!(f, "GTP-U {endpoint}"),
            Self::L2tp(tunnel, session) => write!(f, "L2TP {tunnel}/{session}"),
            Self::Capwap => write!(f, "CAPWAP"),
        }
    }
}

impl std::fmt::Display for crate::decode::Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, layer) in self.layers().enumerate() {
            if i > 0 {
                write!(f, " / ")?;
            }
            write!(f, "{layer}")?;
        }
        Ok(())
    }
}
