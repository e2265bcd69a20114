//! # Summary
//! What is told of one direction of a connection: the numbers behind its row of flows.

use crate::track::connection::Connection;
use crate::track::connection::handshake::ScaleSource;
use crate::track::null::NULL;
use crate::track::row::packed::packed_row;

packed_row! {
    /// One direction of a connection, in numbers; absent ones are [`NULL`].
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub struct Summary {
        /// Has it carried payload?
        pub carried: u8,
        /// Which SYNs were captured: 1 the client's, 2 the server's.
        pub handshake: u8,
        /// Is what passes the tap what the sender has?
        pub direct: u8,
        /// Did its data echo timestamps?
        pub has_timestamps: u8,
        /// Is the connection part of a multipath one?
        pub multipath: u8,
        /// Were its checksums unfinished?
        pub unfinished: u8,
        /// See [`crate::track::sender::scale::Scale::min_shift`].
        pub scale_least: u8,
        /// See [`crate::track::sender::scale::Scale::max_shift`].
        pub scale_most: u8,
        /// See [`crate::track::sender::scale::Scale::is_reached`].
        pub scale_reached: u8,
        /// Index into [`ScaleSource::NAMES`].
        pub window_scale_source: u8,
        /// First packet of the connection.
        pub start_ns: i64,
        /// Last packet of the connection.
        pub end_ns: i64,
        /// First packet of the connection.
        pub first_frame: u64,
        /// Last packet of the connection.
        pub last_frame: u64,
        /// See [`crate::track::flow::Totals`], as the next six.
        pub packets: i64,
        /// Payload, each byte once.
        pub payload_bytes: i64,
        /// Payload sent retransmissions.
        pub retransmitted_bytes: i64,
        /// See [`crate::track::sender::retransmissions::Counts`], as the next seven.
        pub retransmits: i64,
        /// Fast ones.
        pub fast_retransmits: i64,
        /// After a timeout.
        pub timeout_retransmits: i64,
        /// Tail loss probes.
        pub tail_loss_probes: i64,
        /// Without a cause that shows.
        pub unexplained_retransmits: i64,
        /// Timeouts.
        pub timeouts: i64,
        /// Waited for them.
        pub timeout_wait_ns: i64,
        /// Needless ones.
        pub spurious_retransmits: i64,
        /// Overtaken on the way.
        pub reordered: i64,
        /// Captured twice.
        pub copies: i64,
        /// Cumulative acknowledgment progress.
        pub acked_bytes: i64,
        /// Acknowledgments that ever came.
        pub acks: i64,
        /// Acknowledged but not captured.
        pub missed_bytes: i64,
        /// Largest payload of one captured segment.
        pub largest_bytes: i64,
        /// Largest payload of a packet.
        pub mss_bytes: i64,
        /// Shift of the windows that limit it.
        pub window_scale: i64,
        /// See [`crate::track::sender::scale::Scale::checked_segments`].
        pub scale_checked: i64,
        /// See [`crate::track::sender::scale::Scale::far_overruns`].
        pub scale_exceeded: i64,
        /// Largest time to live.
        pub ttl: i64,
        /// Window of the SYN of the other end.
        pub syn_window_bytes: i64,
        /// Largest window advertised.
        pub window_max_bytes: i64,
        /// Most in flight.
        pub in_flight_max_bytes: i64,
        /// See [`crate::track::tap::ranges::Ranges::merged`].
        pub merged_ranges: i64,
        /// See [`crate::track::rounds::packed_rounds::PackedRounds::left_out`].
        pub rounds_left_out: i64,
        /// Least RTT.
        pub rtt_min_ns: i64,
        /// RTT of the handshake.
        pub initial_rtt_ns: i64,
        /// Least round trip from the tap to the sender.
        pub sender_side_ns: i64,
        /// Least round trip from the tap to the receiver.
        pub receiver_side_ns: i64,
    }
}

/// The shift of windows, [`NULL`] where nothing is scaled: no scale is in force, which is not the same as a scale of 0.
pub(super) fn scale_or_null(scale: Option<u8>, source: ScaleSource) -> i64 {
    match source {
        ScaleSource::Declined | ScaleSource::Unknown => NULL,
        ScaleSource::Negotiated | ScaleSource::OneSided | ScaleSource::Inferred => {
            scale.map_or(NULL, i64::from)
        }
    }
}

impl Summary {
    /// Of what one end of a connection sends, as it stands.
    #[must_use]
    pub fn of(connection: &Connection, from: usize) -> Self {
        let half = &connection.halves[from];
        let flow = &half.flow;
        let (scale, source) = connection.scale(1 - from);
        let totals = &flow.totals;
        let retransmissions = flow.retransmissions.counts();
        let or_null = |value: Option<i64>| value.unwrap_or(NULL);
        Self {
            carried: u8::from(connection.has_payload(from)),
            handshake: u8::from(connection.handshake.has_syn(0))
                | u8::from(connection.handshake.has_syn(1)) << 1,
            direct: u8::from(flow.tap_to_sender.tap_at_sender()),
            has_timestamps: u8::from(flow.has_timestamps()),
            multipath: u8::from(connection.handshake.is_multipath()),
            unfinished: u8::from(half.first_packets.has_partial_checksums()),
            scale_least: flow.scale.min_shift(),
            scale_most: flow.scale.max_shift(),
            scale_reached: u8::from(flow.scale.is_reached()),
            window_scale_source: source as u8,
            start_ns: connection.start.time_ns,
            end_ns: connection.last.time_ns,
            first_frame: connection.start.frame,
            last_frame: connection.last.frame,
            packets: totals.packets,
            payload_bytes: totals.payload_bytes,
            retransmitted_bytes: totals.retransmitted_bytes,
            retransmits: retransmissions.packets,
            fast_retransmits: retransmissions.fast,
            timeout_retransmits: retransmissions.timeout,
            tail_loss_probes: retransmissions.probes,
            unexplained_retransmits: retransmissions.unexplained,
            timeouts: retransmissions.timeouts,
            timeout_wait_ns: retransmissions.wait_ns,
            spurious_retransmits: retransmissions.spurious,
            reordered: totals.reordered,
            copies: totals.copies,
            acked_bytes: totals.acked_bytes,
            acks: flow.acks(),
            missed_bytes: totals.unseen_bytes,
            largest_bytes: totals.largest_bytes,
            mss_bytes: flow.mss(),
            window_scale: scale_or_null(scale, source),
            scale_checked: i64::from(flow.scale.checked_segments()),
            scale_exceeded: i64::from(flow.scale.far_overruns()),
            ttl: or_null(half.first_packets.ttl().map(i64::from)),
            syn_window_bytes: or_null(connection.handshake.window(1 - from).map(i64::from)),
            window_max_bytes: or_null(totals.window_max_bytes),
            in_flight_max_bytes: totals.in_flight_max_bytes,
            merged_ranges: flow.merged_ranges(),
            rounds_left_out: flow.rounds_left_out(),
            rtt_min_ns: or_null(flow.rtt_min_ns()),
            initial_rtt_ns: or_null(connection.initial_rtt_ns),
            sender_side_ns: or_null(flow.tap_to_sender.rtt_min_ns()),
            receiver_side_ns: or_null(flow.tap_to_sender.receiver_rtt_min_ns()),
        }
    }
}

packed_row! {
    /// How a connection began and ended, in numbers; absent ones are [`NULL`].
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub struct Life {
        /// See [`crate::track::connection::lifecycle::Opening`].
        pub handshake: u8,
        /// See [`crate::track::connection::lifecycle::Ending`].
        pub ended: u8,
        /// See [`crate::track::connection::lifecycle::Lifecycle::completeness`].
        pub completeness: u8,
        /// Who ended it: 0 the client, 1 the server.
        pub ended_by: i64,
        /// SYNs of the client.
        pub syns: i64,
        /// Those of the server.
        pub syn_acks: i64,
        /// Payload of the client.
        pub client_bytes: i64,
        /// Payload of the server.
        pub server_bytes: i64,
        /// Sent and never acknowledged.
        pub unacknowledged_bytes: i64,
        /// What the last retry waited for.
        pub retry_wait_ns: i64,
    }
}

impl Life {
    /// Of a connection as it stands.
    #[must_use]
    pub fn of(connection: &Connection) -> Self {
        let lifecycle = &connection.lifecycle;
        let (ended, by) = lifecycle.ending();
        let [client, server] = [0, 1].map(|end| connection.halves[end].flow.totals.payload_bytes);
        let carried = connection.has_payload(0) || connection.has_payload(1);
        Self {
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
    }
}
