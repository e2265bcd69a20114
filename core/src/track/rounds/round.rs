//! # Round
//! One round trip of a flow, and the evidence of what held its sender in it: what [`super::Rounds`] counts and
//! `bdpcap.limits` judges.

use crate::track::null::NULL;
use crate::track::row::packed::packed_row;

packed_row! {
    /// A finished round: the row that `bdpcap.limits` judges. Times are on the sender's clock as far as the tap can tell;
    /// absent values are [`NULL`].
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub struct Round {
        /// Stream number.
        pub stream: u32,
        /// 0 client to server, 1 back.
        pub direction: u8,
        /// Counted from 0 within the flow.
        pub round: u32,
        /// Where the round before ended.
        pub start_ns: i64,
        /// Where the next begins.
        pub end_ns: i64,
        /// Length by the tap's clock, to which all times below belong.
        pub length_ns: i64,
        /// 1 where the sender had sent its FIN before.
        pub after_fin: u8,
        /// First frame that belongs to the round.
        pub first_frame: u64,
        /// Last frame that belongs to the round.
        pub last_frame: u64,
        /// New payload sent.
        pub sent_bytes: i64,
        /// Packets that stands for, after segmentation.
        pub sent_segments: i64,
        /// Payload sent again.
        pub resent_bytes: i64,
        /// Packets sent again.
        pub resent_segments: i64,
        /// How far SND.UNA moved.
        pub acked_bytes: i64,
        /// Acknowledged or SACKed anew.
        pub delivered_bytes: i64,
        /// Acknowledgments that moved SND.UNA or SACKed anew.
        pub acks: i64,
        /// Of these, how many were followed by data within a millisecond.
        pub answered_acks: i64,
        /// TSvals (RFC 7323) of the receiver that differ from the one before: ticks of its clock with acknowledgments.
        pub ack_ticks: i64,
        /// Of these, how many the sender's data echoed: ticks whose acknowledgments it answered at once.
        pub echoed_ticks: i64,
        /// Acknowledgments that carried payload the other way.
        pub replies: i64,
        /// Sends with nothing in flight before.
        pub fresh_starts: i64,
        /// Most in flight.
        pub flight_max_bytes: i64,
        /// In flight, averaged over time.
        pub flight_mean_bytes: i64,
        /// Smallest window advertised.
        pub window_min_bytes: i64,
        /// Largest window advertised.
        pub window_max_bytes: i64,
        /// Least usable window.
        pub usable_min_bytes: i64,
        /// Time with nothing in flight.
        pub empty_ns: i64,
        /// Time with data outstanding or unsendable and less than one MSS usable.
        pub stalled_ns: i64,
        /// The same with less than a tenth of the window, or one MSS.
        pub tight_ns: i64,
        /// Time with a window of zero, or too small to be used.
        pub zero_window_ns: i64,
        /// RTT measurements of segments sent in the round.
        pub rtt_samples: i64,
        /// Least of them.
        pub rtt_min_ns: i64,
        /// Median.
        pub rtt_ns: i64,
        /// Largest.
        pub rtt_max_ns: i64,
        /// Least RTT of the flow up to now.
        pub rtt_floor_ns: i64,
        /// 20th percentile of the RTT above the floor.
        pub queue_low_ns: i64,
        /// Time for which a queue stood somewhere on the path.
        pub busy_ns: i64,
        /// Median delivery rate over runs of 16 packets, bytes per second.
        pub run_rate: i64,
        /// Rate at which half of the bytes were acknowledged, or faster, bytes per second.
        pub spacing_rate: i64,
        /// Time in pauses between acknowledgments longer than thrice what that rate explains.
        pub pauses_ns: i64,
        /// 20th percentile of what the sender's packets took longer than at best to the tap, to a tick of its clock.
        pub forth_ns: i64,
        /// The same from the receiver to the tap.
        pub back_ns: i64,
        /// Data segments smaller than the MSS.
        pub small_segments: i64,
        /// Time after a segment smaller than the MSS with nothing following and room in the window.
        pub after_small_ns: i64,
        /// Bytes in bursts that began well after any acknowledgment.
        pub unprompted_bytes: i64,
        /// Sends after a pause, with data still in flight.
        pub bursts: i64,
        /// Of these, and of the sends with nothing in flight before, how many came after a segment smaller than the MSS.
        pub short_ends: i64,
        /// Acknowledged in the pauses before bursts and before the sends with nothing in flight.
        pub burst_freed_bytes: i64,
        /// From the newest acknowledgment to their begin: a mean, each weighed by what was acknowledged in the pause before it.
        pub burst_wait_ns: i64,
        /// How many of them came after an acknowledgment with payload.
        pub replied_bursts: i64,
        /// Least time from the begin of one burst to that of the next.
        pub burst_period_min_ns: i64,
        /// Most.
        pub burst_period_max_ns: i64,
        /// Longest time without a send.
        pub silence_ns: i64,
        /// Time between sends of which the first acknowledgment was not answered within a millisecond (three from afar).
        pub asleep_ns: i64,
        /// The longest sleep that ended in it.
        pub sleep_max_ns: i64,
        /// Duplicate acknowledgments.
        pub duplicate_acks: i64,
        /// Segments overtaken on the way.
        pub reordered: i64,
        /// Retransmissions after a silence of a retransmission timeout.
        pub timeouts: i64,
        /// Acknowledgments with ECN echo.
        pub congestion_echoes: i64,
        /// Bytes acknowledged that the capture does not hold.
        pub missed_bytes: i64,
        /// Frames of the flow with a time before that of the frame before.
        pub backwards: i64,
    }
}

impl Round {
    /// The writer slept from `since_ns` to `until_ns`. Of a clock that jumps to and fro the sum has no bound.
    pub(super) fn slept(&mut self, since_ns: i64, until_ns: i64) {
        self.asleep_ns = (self.asleep_ns).saturating_add((until_ns - since_ns).max(0));
    }

    /// Nothing counted yet.
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
            usable_min_bytes: NULL,
            burst_period_min_ns: NULL,
            burst_period_max_ns: NULL,
            ..Self::default()
        }
    }

    /// What passed the tap, without when the sender could send, and what it did then.
    #[must_use]
    pub fn counts(&self) -> Self {
        Self {
            after_fin: self.after_fin,
            last_frame: self.last_frame,
            sent_bytes: self.sent_bytes,
            sent_segments: self.sent_segments,
            resent_bytes: self.resent_bytes,
            resent_segments: self.resent_segments,
            acked_bytes: self.acked_bytes,
            delivered_bytes: self.delivered_bytes,
            acks: self.acks,
            ack_ticks: self.ack_ticks,
            replies: self.replies,
            window_min_bytes: self.window_min_bytes,
            window_max_bytes: self.window_max_bytes,
            small_segments: self.small_segments,
            duplicate_acks: self.duplicate_acks,
            reordered: self.reordered,
            congestion_echoes: self.congestion_echoes,
            missed_bytes: self.missed_bytes,
            backwards: self.backwards,
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
