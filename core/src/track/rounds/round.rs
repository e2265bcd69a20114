//! # Round
//! One round trip of a flow, and the evidence about the limits of its sender. [`super::Rounds`] counts it, and
//! `bdpcap.limits` classifies it.

use crate::track::null::NULL;
use crate::track::row::packed::packed_row;

packed_row! {
    /// A finished round, as `bdpcap.limits` classifies it.
    ///
    /// Start and end are on the sender's clock, as far as the tap shows it. Absent values are [`NULL`]. A burst is the
    /// data sent after a pause of half the burst gap.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub struct Round {
        /// Stream number, as `tcp.stream`.
        pub stream: u32,
        /// 0 for data of the client, 1 for data of the server.
        pub direction: u8,
        /// Number of the round, counted from 0 within the flow.
        pub round: u32,
        /// Start, ns since the epoch by the sender's clock: the end of the round before.
        pub start_ns: i64,
        /// End, ns since the epoch by the sender's clock.
        pub end_ns: i64,
        /// Length by the tap's clock, which all durations below use, ns.
        pub length_ns: i64,
        /// 1 if the sender had sent its FIN before the round, else 0.
        pub after_fin: u8,
        /// Of a round with nothing in flight: [`Round::PEERS_TURN`], [`Round::ANSWERING`] or 0.
        pub turn: u8,
        /// Number of the first frame of the round.
        pub first_frame: u64,
        /// Number of the last frame of the round.
        pub last_frame: u64,
        /// Payload bytes sent for the first time.
        pub sent_bytes: i64,
        /// Packets of at most one MSS that carried new payload.
        pub sent_segments: i64,
        /// Payload bytes retransmitted.
        pub retransmitted_bytes: i64,
        /// Packets of at most one MSS that carried retransmitted payload.
        pub retransmitted_segments: i64,
        /// Captured bytes by which SND.UNA advanced.
        pub acked_bytes: i64,
        /// Captured bytes acknowledged or SACKed for the first time.
        pub delivered_bytes: i64,
        /// Acknowledgments that acknowledged or SACKed new bytes.
        pub acks: i64,
        /// Number of `acks` that data followed within a millisecond.
        pub answered_acks: i64,
        /// TSvals of acknowledgments of new bytes that differ from the one before: ticks of the receiver's timestamp
        /// clock (RFC 7323).
        pub ack_tsvals: i64,
        /// TSecrs of data that differ from the one before: ticks whose acknowledgments the sender answered.
        pub answered_tsvals: i64,
        /// Acknowledgments that carried payload of the peer.
        pub acks_with_payload: i64,
        /// Sends of new data with nothing in flight, except the first of the flow.
        pub empty_starts: i64,
        /// Largest number of bytes in flight.
        pub in_flight_max_bytes: i64,
        /// Bytes in flight, averaged over time.
        pub in_flight_mean_bytes: i64,
        /// Smallest window in force, bytes; NULL while unknown.
        pub window_min_bytes: i64,
        /// Largest window in force, bytes; NULL while unknown.
        pub window_max_bytes: i64,
        /// Smallest usable window after a send, bytes; NULL without a send or a known window.
        pub usable_window_min_bytes: i64,
        /// Time with nothing in flight, ns.
        pub empty_ns: i64,
        /// Time with a usable window below one MSS, or below half of the window if that is less, ns. It counts while
        /// data is in flight or the window is closed.
        pub window_blocked_ns: i64,
        /// Time with a usable window below an eighth of the window, ns; includes `window_blocked_ns`.
        pub window_full_ns: i64,
        /// Time with a window of zero, or too small to be used (RFC 9293 section 3.8.6.2.1), ns.
        pub zero_window_ns: i64,
        /// Number of RTT samples of segments sent in the round; large numbers are thinned out.
        pub rtt_samples: i64,
        /// Minimum RTT of the samples, ns; NULL without samples.
        pub rtt_min_ns: i64,
        /// Median RTT of the samples, ns; NULL without samples.
        pub rtt_ns: i64,
        /// Maximum RTT of the samples, ns; NULL without samples.
        pub rtt_max_ns: i64,
        /// Minimum RTT of the flow up to now, ns; NULL while unknown.
        pub flow_rtt_min_ns: i64,
        /// 20th percentile of the samples, less the minimum RTT of the flow, ns; NULL without samples.
        pub queueing_delay_p20_ns: i64,
        /// Time in which a queue stood on the path, ns.
        pub queueing_ns: i64,
        /// Median delivery rate over runs of 16 packets, bytes per second; NULL without a run.
        pub delivery_rate: i64,
        /// Rate at which half of the bytes were acknowledged, or faster, bytes per second; NULL with fewer than four
        /// acknowledgments.
        pub ack_spacing_rate: i64,
        /// Rate over stretches of acknowledgments that last 2.5 ms or longer without a long gap, bytes per second; NULL
        /// without such a stretch, and at the sender. Clumps of arrivals of up to 1 ms hardly change it.
        pub ack_steady_rate: i64,
        /// Time in pauses between acknowledgments, in excess of the time that `ack_spacing_rate` explains, ns; NULL without
        /// that rate. A pause is a gap more than three times as long as explained.
        pub ack_pauses_ns: i64,
        /// 20th percentile of the excess delay from the sender to the tap, ns, to a tick of the sender's clock; NULL
        /// without a measurement.
        pub forward_delay_p20_ns: i64,
        /// 20th percentile of the excess delay from the receiver to the tap, ns, to a tick of the receiver's clock;
        /// NULL without a measurement.
        pub reverse_delay_p20_ns: i64,
        /// Segments sent whose payload is no multiple of the MSS.
        pub short_segments: i64,
        /// Time after a segment whose payload is no multiple of the MSS with no further send, and with room in the
        /// window, ns.
        pub after_short_ns: i64,
        /// New payload bytes in bursts that began more than a burst gap after the latest acknowledgment, reply or
        /// window update.
        pub own_time_bytes: i64,
        /// Bursts that began with data in flight.
        pub bursts: i64,
        /// Bursts, with or without data in flight, before which the last segment sent was smaller than the MSS.
        pub short_ends: i64,
        /// Bytes acknowledged in the pauses before bursts, with or without data in flight.
        pub burst_freed_bytes: i64,
        /// Mean time from the newest acknowledgment to the start of a burst, ns, weighted by the bytes acknowledged in
        /// the pause before it.
        pub burst_wait_ns: i64,
        /// Bursts whose newest acknowledgment carried payload.
        pub bursts_after_payload: i64,
        /// Shortest time from the start of one burst to the start of the next, ns; NULL without a second burst.
        pub burst_period_min_ns: i64,
        /// Longest time from the start of one burst to the start of the next, ns; NULL without a second burst.
        pub burst_period_max_ns: i64,
        /// Longest time without a send, ns.
        pub silence_ns: i64,
        /// Time in which the writer was blocked, ns. It is blocked between two sends if the first acknowledgment
        /// between them stays unanswered for 1 ms (3 ms away from the sender).
        pub writer_blocked_ns: i64,
        /// Longest time for which the writer was blocked, of those that ended in the round, ns.
        pub writer_blocked_max_ns: i64,
        /// Duplicate acknowledgments.
        pub duplicate_acks: i64,
        /// Segments that later ones overtook on the path.
        pub reordered: i64,
        /// Retransmissions at least 200 ms after both the send before and the latest acknowledgment.
        pub timeouts: i64,
        /// Acknowledgments that report congestion by the ECE flag (RFC 3168).
        pub congestion_echoes: i64,
        /// Acknowledged bytes that the capture lacks.
        pub unseen_bytes: i64,
        /// Frames of the flow with a time before that of the frame before.
        pub time_reversals: i64,
    }
}

impl Round {
    /// Nothing was in flight, and the round ended with payload of the peer, with the FIN or with the flow.
    pub const PEERS_TURN: u8 = 1;
    /// Nothing was in flight, and the latest payload before the round's end was the peer's.
    pub const ANSWERING: u8 = 2;

    /// Adds the time from `since_ns` to `until_ns`, in which the writer was blocked. The sum saturates, as a clock that
    /// jumps back and forth sets no bound.
    pub(super) fn add_blocked(&mut self, since_ns: i64, until_ns: i64) {
        self.writer_blocked_ns =
            (self.writer_blocked_ns).saturating_add((until_ns - since_ns).max(0));
    }

    /// Replaces each field that mostly follows from others by `with` of itself and of the value that they suggest. The others
    /// stay, so the inverse of `with` restores the round.
    pub(super) fn relate(&mut self, with: impl Fn(i64, i64) -> i64) {
        let end_ns = self.start_ns.wrapping_add(self.length_ns);
        // A FIN is acknowledged as one byte.
        let (acked_bytes, idle_ns) = match self.acked_bytes {
            0 | 1 => (0, self.length_ns),
            many => (many, 0),
        };
        let after_short_ns = if self.sent_segments == 0 && self.round > 0 {
            self.length_ns
        } else {
            0
        };
        self.end_ns = with(self.end_ns, end_ns);
        self.empty_ns = with(self.empty_ns, idle_ns);
        self.after_short_ns = with(self.after_short_ns, after_short_ns);
        self.silence_ns = with(self.silence_ns, self.length_ns);
        self.sent_bytes = with(self.sent_bytes, acked_bytes);
        self.delivered_bytes = with(self.delivered_bytes, self.acked_bytes);
        self.in_flight_max_bytes = with(self.in_flight_max_bytes, acked_bytes);
        self.in_flight_mean_bytes = with(self.in_flight_mean_bytes, acked_bytes);
        self.window_max_bytes = with(self.window_max_bytes, self.window_min_bytes);
        if self.usable_window_min_bytes != NULL {
            let usable_bytes = self.window_min_bytes.wrapping_sub(acked_bytes);
            self.usable_window_min_bytes = with(self.usable_window_min_bytes, usable_bytes);
        }
        self.rtt_samples = with(self.rtt_samples, self.acks);
        self.rtt_min_ns = with(self.rtt_min_ns, self.rtt_ns);
        self.rtt_max_ns = with(self.rtt_max_ns, self.rtt_ns);
        self.burst_period_max_ns = with(self.burst_period_max_ns, self.burst_period_min_ns);
    }

    /// Returns a round in which nothing is counted yet.
    #[must_use]
    pub fn blank(stream: u32, direction: u8, round: u32, start_ns: i64, frame: u64) -> Self {
        Self {
            stream,
            direction,
            round,
            start_ns,
            first_frame: frame,
            last_frame: frame,
            window_min_bytes: NULL,
            window_max_bytes: NULL,
            usable_window_min_bytes: NULL,
            burst_period_min_ns: NULL,
            burst_period_max_ns: NULL,
            ..Self::default()
        }
    }

    /// Returns the counts of bytes and segments, without evidence of when the sender could send and how it responded.
    #[must_use]
    pub fn counts(&self) -> Self {
        Self {
            after_fin: self.after_fin,
            last_frame: self.last_frame,
            sent_bytes: self.sent_bytes,
            sent_segments: self.sent_segments,
            retransmitted_bytes: self.retransmitted_bytes,
            retransmitted_segments: self.retransmitted_segments,
            acked_bytes: self.acked_bytes,
            delivered_bytes: self.delivered_bytes,
            acks: self.acks,
            ack_tsvals: self.ack_tsvals,
            acks_with_payload: self.acks_with_payload,
            window_min_bytes: self.window_min_bytes,
            window_max_bytes: self.window_max_bytes,
            short_segments: self.short_segments,
            duplicate_acks: self.duplicate_acks,
            reordered: self.reordered,
            congestion_echoes: self.congestion_echoes,
            unseen_bytes: self.unseen_bytes,
            time_reversals: self.time_reversals,
            ..Self::blank(
                self.stream,
                self.direction,
                self.round,
                self.start_ns,
                self.first_frame,
            )
        }
    }
}
