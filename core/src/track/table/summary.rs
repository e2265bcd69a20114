//! # Summary
//! Results of one direction of a connection: the numbers of its row in the flows table.

use crate::track::connection::handshake::ScaleSource;
use crate::track::connection::{Connection, Question};
use crate::track::null::NULL;
use crate::track::row::packed::packed_row;

packed_row! {
    /// Results of one direction of a connection, from its sender to its receiver. Absent values are [`NULL`].
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub struct Summary {
        /// 1 where the direction carried payload, else 0.
        pub carried: u8,
        /// Captured SYNs, a sum: 1 for the client's, 2 for the server's.
        pub handshake: u8,
        /// 1 where the tap is at the sender or its place is unknown, else 0.
        pub tap_at_sender: u8,
        /// 1 where the data echo timestamps, else 0.
        pub has_timestamps: u8,
        /// 1 where the connection is a subflow of a multipath connection, else 0.
        pub multipath: u8,
        /// 1 where most of the first packets have partial checksums, left to the network adapter; else 0.
        pub partial_checksum: u8,
        /// Smallest window scale that is consistent with the data sent; see
        /// [`crate::track::sender::scale::Scale::min_shift`].
        pub scale_min: u8,
        /// Largest window scale under which the receiver never took window back; see
        /// [`crate::track::sender::scale::Scale::max_shift`].
        pub scale_max: u8,
        /// 1 where the sender often filled the window under the smallest scale, else 0; see
        /// [`crate::track::sender::scale::Scale::is_reached`].
        pub scale_reached: u8,
        /// Source of the window scale, as an index into [`ScaleSource::NAMES`].
        pub window_scale_source: u8,
        /// Time of the connection's first packet, in ns since the epoch.
        pub start_ns: i64,
        /// Time of the connection's last packet, in ns since the epoch.
        pub end_ns: i64,
        /// Frame number of the connection's first packet.
        pub first_frame: u64,
        /// Frame number of the connection's last packet.
        pub last_frame: u64,
        /// Sequence number on the wire of the relative number 0: that of the sender's SYN, or one before its first captured
        /// or acknowledged byte; [`NULL`] where neither is known.
        pub origin: i64,
        /// Number of segments of the sender, with or without payload; copies are left out.
        pub packets: i64,
        /// Payload in bytes, each byte counted once.
        pub payload_bytes: i64,
        /// Retransmitted payload in bytes.
        pub retransmitted_bytes: i64,
        /// Number of retransmitted packets.
        pub retransmits: i64,
        /// Number of packets sent by fast retransmit or recovery.
        pub fast_retransmits: i64,
        /// Number of packets retransmitted by a timeout or in the recovery after it.
        pub timeout_retransmits: i64,
        /// Number of packets sent as tail loss probes.
        pub tail_loss_probes: i64,
        /// Number of retransmission timeouts.
        pub timeouts: i64,
        /// Time spent waiting for retransmission timeouts and tail loss probes, in ns.
        pub timeout_wait_ns: i64,
        /// Number of retransmitted packets whose first copy had arrived.
        pub spurious_retransmits: i64,
        /// Number of retransmitted packets whose first copy was lost before the tap.
        pub lost_before_tap: i64,
        /// Time from the third duplicate acknowledgment of a recovery to its first retransmission at the tap, in ns: the
        /// median of the last recoveries. [`NULL`] without one.
        pub repair_ns: i64,
        /// Number of segments with payload that later segments overtook on the path.
        pub reordered: i64,
        /// Number of packets that are copies of a packet captured before.
        pub copies: i64,
        /// Those of `copies` with payload.
        pub payload_copies: i64,
        /// Number of packets that the receiver reported as received twice; they are not in `copies`.
        pub delivered_twice: i64,
        /// Number of those copies with another time to live: they were captured on the other side of a router.
        pub routed_copies: i64,
        /// Time in which both ends' timestamp clocks stood still, in ns; see [`crate::track::connection::standstill`].
        pub standstill_ns: i64,
        /// Longest time with data in flight and no acknowledgment of new data, in ns; [`NULL`] where no acknowledgment was
        /// captured.
        pub longest_stall_ns: i64,
        /// When it began, in ns since the epoch; [`NULL`] without one.
        pub longest_stall_start_ns: i64,
        /// Time with payload in flight, in ns.
        pub data_ns: i64,
        /// Time between the first payload and the acknowledgment of the last in which none was in flight, in ns.
        pub pauses_ns: i64,
        /// Highest rate at which data were acknowledged twice, in bytes per second; see
        /// [`crate::track::flow::Flow::sustained_rate`]. [`NULL`] where that never happened twice.
        pub sustained_rate: i64,
        /// Captured bytes by which acknowledgment numbers advanced.
        pub acked_bytes: i64,
        /// Number of acknowledgments.
        pub acks: i64,
        /// Number of segments that the receiver answered by a reset, as it knew no such connection.
        pub disowned: i64,
        /// Acknowledged bytes that the capture lacks.
        pub unseen_bytes: i64,
        /// Those of them that lie beyond all captured data; see [`crate::track::tap::Tap::unsent_bytes`].
        pub unsent_bytes: i64,
        /// Largest payload of a captured segment, in bytes; with segmentation offload it exceeds the MSS.
        pub largest_bytes: i64,
        /// Largest payload of a packet on the path, in bytes.
        pub mss_bytes: i64,
        /// Largest payload of a packet that the receiver's SYN allows, in bytes; [`NULL`] without a SYN.
        pub announced_mss_bytes: i64,
        /// Scale (shift) of the windows that limit this direction; [`NULL`] where windows are not scaled or the scale
        /// is unknown.
        pub window_scale: i64,
        /// Number of segments with new data that were compared with the window; see
        /// [`crate::track::sender::scale::Scale::checked_segments`].
        pub scale_checked: i64,
        /// Number of compared segments that lie far beyond the window under the handshake's scale; see
        /// [`crate::track::sender::scale::Scale::far_overruns`].
        pub scale_exceeded: i64,
        /// Largest time to live (or hop limit) of the sender's first packets; [`NULL`] where there are none.
        pub ttl: i64,
        /// Time to live (or hop limit) of a reset among the sender's first packets; [`NULL`] without one. A device on the
        /// way may have made it.
        pub reset_ttl: i64,
        /// Layout of the options in the sender's SYN, the word of [`crate::decode::Marks`]; [`NULL`] where the SYN was not
        /// captured.
        pub syn_layout: i64,
        /// MSS option in the sender's SYN, in bytes; [`NULL`] without one.
        pub syn_mss_bytes: i64,
        /// Window scale option in the sender's SYN, in force or not; [`NULL`] without one.
        pub syn_scale: i64,
        /// Window in the receiver's SYN, in bytes, unscaled; [`NULL`] where the SYN was not captured.
        pub syn_window_bytes: i64,
        /// Largest window that the receiver advertised, in bytes; [`NULL`] where unknown.
        pub window_max_bytes: i64,
        /// Window that the receiver advertised last, in bytes, that of a reset left out; [`NULL`] where unknown.
        pub window_last_bytes: i64,
        /// Largest number of bytes in flight.
        pub in_flight_max_bytes: i64,
        /// How often two ranges were merged because a set was full; see [`crate::track::tap::ranges::Ranges::merged`].
        pub merged_ranges: i64,
        /// Number of rounds that were not kept because there were too many; see
        /// [`crate::track::rounds::packed_rounds::PackedRounds::left_out`].
        pub rounds_left_out: i64,
        /// Minimum RTT of the whole path, in ns; [`NULL`] where none was measured.
        pub rtt_min_ns: i64,
        /// RTT of the handshake, in ns; [`NULL`] where it was not measured.
        pub initial_rtt_ns: i64,
        /// Minimum round trip from the tap to the sender, in ns; [`NULL`] where unknown.
        pub sender_side_ns: i64,
        /// Minimum round trip from the tap to the receiver, in ns; [`NULL`] where unknown.
        pub receiver_side_ns: i64,
    }
}

/// Returns the window scale that is in force; [`NULL`] where none is, which differs from a scale of 0.
pub(super) fn scale_or_null(scale: Option<u8>, source: ScaleSource) -> i64 {
    match source {
        ScaleSource::Declined | ScaleSource::Unknown => NULL,
        ScaleSource::Negotiated | ScaleSource::OneSided | ScaleSource::Inferred => {
            scale.map_or(NULL, i64::from)
        }
    }
}

impl Summary {
    /// Returns the number of retransmitted packets without a visible cause.
    #[must_use]
    pub fn unexplained_retransmits(&self) -> i64 {
        self.retransmits - self.fast_retransmits - self.timeout_retransmits - self.tail_loss_probes
    }

    /// Returns the present results of the data that the end `from` sent.
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
            tap_at_sender: u8::from(flow.tap_to_sender.tap_at_sender()),
            has_timestamps: u8::from(flow.has_timestamps()),
            multipath: u8::from(connection.handshake.is_multipath()),
            partial_checksum: u8::from(half.first_packets.has_partial_checksums()),
            scale_min: flow.scale.min_shift(),
            scale_max: flow.scale.max_shift(),
            scale_reached: u8::from(flow.scale.is_reached()),
            window_scale_source: source as u8,
            start_ns: connection.start.time_ns,
            end_ns: connection.last.time_ns,
            first_frame: connection.start.frame,
            last_frame: connection.last.frame,
            origin: or_null(flow.tap.space.origin().map(i64::from)),
            packets: totals.packets,
            payload_bytes: totals.payload_bytes,
            retransmitted_bytes: totals.retransmitted_bytes,
            retransmits: retransmissions.packets,
            fast_retransmits: retransmissions.fast,
            timeout_retransmits: retransmissions.timeout,
            tail_loss_probes: retransmissions.probes,
            timeouts: retransmissions.timeouts,
            timeout_wait_ns: retransmissions.wait_ns,
            spurious_retransmits: retransmissions.spurious,
            lost_before_tap: retransmissions.lost_before_tap,
            repair_ns: or_null(flow.retransmissions.repair_ns()),
            reordered: totals.reordered,
            copies: totals.copies,
            payload_copies: totals.payload_copies,
            delivered_twice: totals.delivered_twice,
            routed_copies: flow.tap.copies.routed().into(),
            data_ns: flow.data_time().total_ns(),
            pauses_ns: flow.data_time().pauses_ns(),
            standstill_ns: connection.standstill.total_ns(),
            longest_stall_ns: or_null(flow.longest_stall_ns()),
            longest_stall_start_ns: or_null(flow.longest_stall_start_ns()),
            sustained_rate: or_null(flow.sustained_rate()),
            acked_bytes: totals.acked_bytes,
            acks: flow.acks(),
            disowned: connection.lifecycle.disowned(from).into(),
            unseen_bytes: totals.unseen_bytes,
            unsent_bytes: flow.tap.unsent_bytes(),
            largest_bytes: totals.largest_bytes,
            mss_bytes: flow.mss(),
            announced_mss_bytes: or_null(half.announced_mss()),
            window_scale: scale_or_null(scale, source),
            scale_checked: i64::from(flow.scale.checked_segments()),
            scale_exceeded: i64::from(flow.scale.far_overruns()),
            ttl: or_null(half.first_packets.ttl().map(i64::from)),
            reset_ttl: or_null(half.first_packets.reset_ttl().map(i64::from)),
            syn_layout: or_null(
                connection
                    .handshake
                    .layout(from)
                    .map(|marks| marks.0 as i64),
            ),
            syn_mss_bytes: or_null(connection.handshake.mss(from).map(i64::from)),
            syn_scale: or_null(connection.handshake.own_scale(from).map(i64::from)),
            syn_window_bytes: or_null(connection.handshake.window(1 - from).map(i64::from)),
            window_max_bytes: or_null(totals.window_max_bytes),
            window_last_bytes: flow.window_last_bytes(),
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
    /// How a connection began and ended. Absent values are [`NULL`].
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub struct Life {
        /// Progress of the handshake; the number of an [`crate::track::connection::lifecycle::Opening`].
        pub handshake: u8,
        /// End of the connection; the number of an [`crate::track::connection::lifecycle::Ending`].
        pub ended: u8,
        /// Bits of Wireshark's `tcp.completeness`; see
        /// [`crate::track::connection::lifecycle::Lifecycle::completeness`].
        pub completeness: u8,
        /// 1 where the client's first payload is a cookie of iperf3, else 0.
        pub iperf3_cookie: u8,
        /// 1 where the client sent a proxy a request of HTTP/1 in clear text, else 0.
        pub asks_proxy: u8,
        /// The end that sent the first FIN or the reset: 0 the client, 1 the server; [`NULL`] where the connection is
        /// open.
        pub ended_by: i64,
        /// The end that sent the first FIN, before any reset: 0 the client, 1 the server; [`NULL`] where there is none.
        pub closed_by: i64,
        /// Description of the first fatal TLS alert in clear text; [`NULL`] where there is none.
        pub tls_alert: i64,
        /// The end that sent it: 0 the client, 1 the server; [`NULL`] where there is none.
        pub tls_alert_by: i64,
        /// Time from a TLS hello until an end closed, with no data of the server before, in ns; [`NULL`] elsewhere.
        pub tls_unanswered_ns: i64,
        /// Time from a request of HTTP/1 in clear text until an end closed, with no data of the server after the request, in
        /// ns; [`NULL`] elsewhere.
        pub http_unanswered_ns: i64,
        /// Number of responses of HTTP/1 in clear text; see [`crate::track::connection::responses::Responses`].
        pub http_responses: i64,
        /// Number of those, and of replies of FTP, that are errors.
        pub error_responses: i64,
        /// Status or code of the last of them, one of the server first; [`NULL`] where there is none.
        pub error_status: i64,
        /// Number of SYNs of the client.
        pub syns: i64,
        /// Number of SYNs of the server.
        pub syn_acks: i64,
        /// Time from the first packet to the server's first SYN, in ns; [`NULL`] where there is none.
        pub answered_ns: i64,
        /// Time from the first packet to the first segment after both SYNs, in ns; [`NULL`] where there is none.
        pub opening_ns: i64,
        /// Payload of the client in bytes, each byte counted once.
        pub client_bytes: i64,
        /// Payload of the server in bytes, each byte counted once.
        pub server_bytes: i64,
        /// Number of FINs of one end since the last answer of the other.
        pub unanswered_fins: i64,
        /// The end that sent them: 0 the client, 1 the server; [`NULL`] where there are none.
        pub unanswered_fins_by: i64,
        /// Bytes of both ends that were sent and never acknowledged.
        pub unacknowledged_bytes: i64,
        /// Those of them that the client sent.
        pub client_unacknowledged_bytes: i64,
        /// Number of packets of both ends that were captured again with a longer payload; see
        /// [`crate::track::tap::copies::Copies::lengthened`].
        pub lengthened: i64,
        /// Wait before the last SYN or retransmission that nothing answered, in ns; [`NULL`] where there is none.
        pub retry_wait_ns: i64,
    }
}

impl Life {
    /// Returns how the connection began and, so far, ended.
    #[must_use]
    pub fn of(connection: &Connection) -> Self {
        let lifecycle = &connection.lifecycle;
        let (ended, by) = lifecycle.ending();
        let [client, server] = [0, 1].map(|end| connection.halves[end].flow.totals.payload_bytes);
        let carried = connection.has_payload(0) || connection.has_payload(1);
        let (alert_by, alert) = connection.tls_alert.unzip();
        let unanswered_ns = |question| connection.unanswered_ns(question).unwrap_or(NULL);
        let since_start = |time_ns: Option<i64>| {
            time_ns.map_or(NULL, |time_ns| {
                time_ns.saturating_sub(connection.start.time_ns)
            })
        };
        Self {
            handshake: lifecycle.opening() as u8,
            ended: ended as u8,
            completeness: lifecycle.completeness(carried),
            iperf3_cookie: u8::from(connection.iperf3_cookie),
            asks_proxy: u8::from(connection.asks_proxy),
            ended_by: by.map_or(NULL, i64::from),
            closed_by: lifecycle.closed_by().map_or(NULL, i64::from),
            tls_alert: alert.map_or(NULL, i64::from),
            tls_alert_by: alert_by.map_or(NULL, i64::from),
            tls_unanswered_ns: unanswered_ns(Question::TlsHello),
            http_unanswered_ns: unanswered_ns(Question::HttpRequest),
            http_responses: connection.responses.http.into(),
            error_responses: connection.responses.errors().into(),
            error_status: connection.responses.error().map_or(NULL, i64::from),
            syns: lifecycle.syns()[0].into(),
            syn_acks: lifecycle.syns()[1].into(),
            answered_ns: since_start(lifecycle.answered_ns()),
            opening_ns: since_start(lifecycle.opened_ns()),
            client_bytes: client,
            server_bytes: server,
            unanswered_fins: lifecycle.unanswered_fins().into(),
            unanswered_fins_by: lifecycle.unanswered_fins_by().map_or(NULL, i64::from),
            unacknowledged_bytes: lifecycle.unacknowledged_bytes.iter().sum(),
            client_unacknowledged_bytes: lifecycle.unacknowledged_bytes[0],
            lengthened: (connection.halves.iter())
                .map(|half| i64::from(half.flow.tap.copies.lengthened()))
                .sum(),
            retry_wait_ns: lifecycle.retry_wait_ns.unwrap_or(NULL),
        }
    }
}
