//! # Turns
//! Turns: runs of payload in one direction until the other side sends some. Requests and responses are such turns.
//! Data that a server sends long after its answer are news that nobody asked for: they begin another turn.

use crate::track::at::At;
use crate::track::null::NULL;
use crate::track::row::row;

row! {
    /// A run of payload in one direction until the other side sends some. Times never decrease from turn to turn.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Turn {
        /// Stream number, as Wireshark's `tcp.stream`.
        pub stream: u32,
        /// The side that sends: 0 the client, 1 the server.
        pub direction: u8,
        /// 1 where both sides sent at the same time. The turn then holds the payload of both directions until nothing
        /// is outstanding in either; else 0.
        pub overlapping: u8,
        /// 1 where the capture lacks bytes of the turn, or of whole turns within it; else 0.
        pub unseen: u8,
        /// 1 where payload came again whose first copy was lost before the tap; else 0.
        pub repaired: u8,
        /// Content type of the TLS record of a handshake that the turn begins with; 0 where there is none.
        pub tls_record: u8,
        /// Time of the first new payload at the tap, in ns since the epoch.
        pub start_ns: i64,
        /// Time of the last new payload at the tap, in ns since the epoch.
        pub end_ns: i64,
        /// Time of the last retransmitted payload at the tap, in ns since the epoch; [`NULL`] where there was none.
        pub retransmitted_ns: i64,
        /// Time within the turn in which the sender had no data ready, in ns. These are the pauses that no
        /// acknowledgment ended, although nothing was in flight and the window had room. Ready data would have been
        /// sent at that acknowledgment, so the pause began with the last data before it. Of a turn that fits in a
        /// segment, the time between data without an acknowledgment counts, too. No congestion window is smaller (RFC
        /// 5681 section 3.1), and Nagle's algorithm would wait for an acknowledgment.
        pub pause_ns: i64,
        /// Number of these pauses in which the other side could have answered: longer than a round trip of the path.
        pub pauses: i64,
        /// Number of waits within the turn for a delayed acknowledgment that released less than a segment at once.
        pub holds: i64,
        /// Time of these waits, from the last data before the acknowledgment to the data that it released, in ns.
        pub held_ns: i64,
        /// Last round trip between tap and receiver that payload of the turn measured, in ns, without those that a
        /// delayed acknowledgment may have lengthened; [`NULL`] where there is none.
        pub rtt_ns: i64,
        /// Payload in bytes, each byte counted once.
        pub bytes: i64,
        /// Frame number of the first new payload.
        pub first_frame: u64,
        /// Frame number of the last new payload.
        pub last_frame: u64,
    }
}

impl Turn {
    /// Adds a pause; `rtt_ns` is a round trip of the path.
    fn paused(&mut self, waited_ns: i64, rtt_ns: i64) {
        self.pause_ns = self.pause_ns.saturating_add(waited_ns);
        self.pauses += i64::from(waited_ns > rtt_ns);
    }
}

/// The turns of a connection: the current turn, and the state that finds its pauses.
#[derive(Debug, Default)]
pub struct Turns {
    turn: Option<Turn>,
    /// When everything that the turn's sender sent was acknowledged, in ns; `None` while something is outstanding.
    acknowledged_ns: Option<i64>,
    /// The turn's last payload that is no multiple of the MSS.
    short: Option<Short>,
    /// When the turn's sender last sent a copy of acknowledged data, in ns; `None` where it sent none.
    copied_ns: Option<i64>,
    /// Acknowledged bytes of the connection that the capture lacks.
    unseen_bytes: i64,
    /// Time between the turn and that of the other side before it, in ns; 0 where there is none.
    waited_ns: i64,
}

/// Payload that ends in less than a segment. Nagle's algorithm holds the next such segment until it is acknowledged:
/// all of it in RFC 9293 section 3.7.4, and in Linux this segment alone (`tcp_minshall_check`).
#[derive(Debug, Default)]
struct Short {
    /// Bytes that its sender sent after it.
    followed_by: i64,
    /// When it was acknowledged, in ns; `None` before.
    acknowledged_ns: Option<i64>,
}

impl Turns {
    /// Data that follow an acknowledgment within this time were waiting for it. Far from the sender, the time when it
    /// received the acknowledgment is not known more exactly.
    const ACK_RESPONSE_NS: i64 = 3_000_000;

    /// One of so many parts of the way to the sender is jitter on a long way; a choice: TCP's first guess is a half (RFC
    /// 6298 section 2.2), but a pause is to be seen.
    const SCATTER: i64 = 8;

    /// Such a time at the sender. TCP sends waiting data as soon as the acknowledgment arrives; a busy host may take a
    /// tick of its clock.
    const ACK_RESPONSE_AT_SENDER_NS: i64 = 1_000_000;

    /// Time beyond a round trip from which an acknowledgment was delayed. Linux delays by 40 ms or more
    /// (`TCP_DELACK_MIN`), less a tick; RFC 9293 section 3.8.6.3 allows 500 ms.
    const DELAYED_ACK_NS: i64 = 30_000_000;

    /// Shortest pause before news, in ns: a person who waits for an answer notices a second (Nielsen, Usability
    /// Engineering, 1993).
    const NEWS_NS: i64 = 1_000_000_000;

    /// How many times as long as the wait for the answer a pause before news is, at least. A server that works on
    /// a long answer seldom has its beginning so soon.
    const NEWS_WAITS: i64 = 10;

    /// Sets the number of acknowledged bytes of the connection that the capture lacks so far.
    pub fn set_unseen_bytes(&mut self, bytes: i64) {
        if bytes > self.unseen_bytes {
            self.unseen_bytes = bytes;
            if let Some(turn) = &mut self.turn {
                turn.unseen = 1;
            }
        }
    }

    /// Is the current turn that of `direction`, with data still unacknowledged?
    #[must_use]
    pub fn awaits_ack(&self, direction: u8) -> bool {
        self.acknowledged_ns.is_none() && self.has_turn(direction)
    }

    /// Notes that everything that `direction` sent is acknowledged and that its window has room.
    pub fn all_acknowledged(&mut self, direction: u8, at: At) {
        if self.awaits_ack(direction) {
            self.acknowledged_ns = Some(at.time_ns);
        }
    }

    /// Notes that an acknowledgment left so many bytes of `direction` outstanding.
    pub fn outstanding(&mut self, direction: u8, bytes: i64, at: At) {
        if let Some(short) = &mut self.short
            && short.acknowledged_ns.is_none()
            && bytes <= short.followed_by
            && (self.turn.as_ref()).is_some_and(|turn| turn.direction == direction)
        {
            short.acknowledged_ns = Some(at.time_ns);
        }
    }

    /// Notes that `direction` sent a copy of data that were acknowledged: it had not received that acknowledgment. The
    /// receiver acknowledges the copy at once (RFC 5681 section 4.2), so the sender has its data ready only then.
    #[cold]
    pub fn copied(&mut self, direction: u8, at: At) {
        if self.has_turn(direction) {
            self.acknowledged_ns = None;
            self.short = None;
            self.copied_ns = Some(at.time_ns);
        }
    }

    /// Sets the round trip between tap and receiver for data of `direction`, by an acknowledgment that was not delayed.
    pub fn set_rtt(&mut self, direction: u8, rtt_ns: i64) {
        if let Some(turn) = &mut self.turn
            && turn.direction == direction
        {
            turn.rtt_ns = rtt_ns;
        }
    }

    /// Is the current turn that of `direction` alone, without overlap?
    #[must_use]
    pub fn is_turn_of(&self, direction: u8) -> bool {
        (self.turn.as_ref())
            .is_some_and(|turn| turn.direction == direction && turn.overlapping == 0)
    }

    /// Is the current turn that of `direction`, with or without overlap?
    fn has_turn(&self, direction: u8) -> bool {
        self.turn
            .as_ref()
            .is_some_and(|turn| turn.direction == direction)
    }

    /// Adds new payload of `who`, a stream number and a direction; returns the turn that it ends, if any.
    ///
    /// `all_acknowledged` is whether nothing was outstanding in either direction before. It is not used while the
    /// sender [has the turn alone](Self::is_turn_of). `rtts_ns` returns the round trips from the tap to the sender, `None`
    /// where it is unknown, and to the receiver.
    #[inline(always)] // for every segment with payload
    pub fn sent(
        &mut self,
        who: (u32, u8),
        (bytes, mss): (i64, i64),
        all_acknowledged: bool,
        rtts_ns: impl FnOnce() -> (Option<i64>, i64),
        at: At,
    ) -> Option<Turn> {
        let acknowledged_ns = self.acknowledged_ns.take();
        let copied_ns = self.copied_ns.take().unwrap_or(NULL);
        let released_ns = (self.short.as_ref())
            .filter(|_| bytes < mss)
            .and_then(|short| short.acknowledged_ns);
        let ends_short = bytes % mss.max(1) != 0;
        if (!all_acknowledged || self.is_turn_of(who.1))
            && let Some(turn) = &mut self.turn
        {
            turn.overlapping |= u8::from(turn.direction != who.1);
            if acknowledged_ns.is_some() || released_ns.is_some() {
                let (way_ns, receiver_rtt_ns) = rtts_ns();
                let sender_rtt_ns = way_ns.unwrap_or_default();
                // Jitter on the way to the sender counts as long as the way, within these bounds.
                let scatter_ns = way_ns.unwrap_or(Self::ACK_RESPONSE_NS);
                let most_ns = Self::ACK_RESPONSE_NS.max(sender_rtt_ns / Self::SCATTER);
                let response_ns =
                    sender_rtt_ns + scatter_ns.clamp(Self::ACK_RESPONSE_AT_SENDER_NS, most_ns);
                let is_response = |ack_ns: i64| at.time_ns - ack_ns <= response_ns;
                let last_ns = turn.end_ns.max(turn.retransmitted_ns).max(copied_ns);
                let waited_ns = (at.time_ns - last_ns).max(0);
                if !acknowledged_ns.is_none_or(is_response) {
                    let answer = turn.direction == 1 && turn.overlapping == 0;
                    let usual_ns = self.waited_ns.saturating_mul(Self::NEWS_WAITS);
                    if answer && waited_ns >= usual_ns.max(Self::NEWS_NS) {
                        return self.begin(who, (bytes, ends_short), at);
                    }
                    turn.paused(waited_ns, sender_rtt_ns.saturating_add(receiver_rtt_ns));
                    turn.rtt_ns = NULL; // queues have emptied in the pause
                } else if let Some(ack_ns) = released_ns
                    && is_response(ack_ns)
                    && ack_ns - last_ns >= receiver_rtt_ns.saturating_add(Self::DELAYED_ACK_NS)
                {
                    turn.holds += 1;
                    turn.held_ns = turn.held_ns.saturating_add(waited_ns);
                }
            } else if turn.bytes + bytes <= mss && turn.overlapping == 0 {
                let (sender_rtt_ns, receiver_rtt_ns) = rtts_ns();
                let sender_rtt_ns = sender_rtt_ns.unwrap_or_default();
                let last_ns = turn.end_ns.max(turn.retransmitted_ns).max(copied_ns);
                let waited_ns = (at.time_ns - last_ns).max(0);
                turn.paused(waited_ns, sender_rtt_ns.saturating_add(receiver_rtt_ns));
            }
            if turn.direction == who.1 {
                if ends_short {
                    self.short = Some(Short::default());
                } else if let Some(short) = &mut self.short {
                    short.followed_by += bytes;
                }
            }
            turn.end_ns = turn.end_ns.max(at.time_ns);
            turn.bytes += bytes;
            turn.last_frame = at.frame;
            return None;
        }
        self.begin(who, (bytes, ends_short), at)
    }

    /// Begins another turn; returns the previous one.
    #[cold]
    fn begin(
        &mut self,
        (stream, direction): (u32, u8),
        (bytes, ends_short): (i64, bool),
        at: At,
    ) -> Option<Turn> {
        self.short = ends_short.then(Short::default);
        let before = self.turn.take();
        let time_ns = before
            .as_ref()
            .map_or(at.time_ns, |turn| turn.end_ns.max(turn.retransmitted_ns))
            .max(at.time_ns);
        self.waited_ns = (before.as_ref())
            .filter(|turn| turn.direction != direction)
            .map_or(0, |turn| time_ns - turn.end_ns.max(turn.retransmitted_ns));
        self.turn = Some(Turn {
            stream,
            direction,
            overlapping: 0,
            unseen: 0,
            repaired: 0,
            tls_record: 0,
            start_ns: time_ns,
            end_ns: time_ns,
            retransmitted_ns: NULL,
            pause_ns: 0,
            pauses: 0,
            holds: 0,
            held_ns: 0,
            rtt_ns: NULL,
            bytes,
            first_frame: at.frame,
            last_frame: at.frame,
        });
        before
    }

    /// Notes that the payload at this frame begins with a TLS record of a handshake, of this content type.
    #[cold]
    pub fn begins_with(&mut self, tls_record: u8, at: At) {
        if let Some(turn) = &mut self.turn
            && turn.first_frame == at.frame
        {
            turn.tls_record = tls_record;
        }
    }

    /// Notes retransmitted payload of `direction`; `lost` is whether its first copy was lost before the tap.
    pub fn retransmitted(&mut self, direction: u8, lost: bool, at: At) {
        if let Some(turn) = &mut self.turn
            && turn.direction == direction
        {
            turn.repaired |= u8::from(lost);
            turn.retransmitted_ns = turn.retransmitted_ns.max(turn.end_ns).max(at.time_ns);
        }
    }

    /// Ends the connection; returns the last turn.
    pub fn finish(&mut self) -> Option<Turn> {
        self.turn.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: (u32, u8) = (0, 0);
    const SERVER: (u32, u8) = (0, 1);
    const MSS: i64 = 1460;
    const MS: i64 = 1_000_000;

    fn at(time_ns: i64) -> At {
        At {
            time_ns,
            frame: time_ns as u64,
        }
    }

    #[test]
    fn payload_of_the_other_side_ends_a_turn() {
        let mut turns = Turns::default();
        assert!(
            turns
                .sent(CLIENT, (10, MSS), true, || (Some(0), 0), at(1))
                .is_none()
        );
        assert!(
            turns
                .sent(CLIENT, (10, MSS), false, || (Some(0), 0), at(3))
                .is_none()
        );
        let request = turns
            .sent(SERVER, (5, MSS), true, || (Some(0), 0), at(9))
            .expect("it ended");
        assert_eq!((request.start_ns, request.end_ns), (1, 3));
        assert_eq!((request.bytes, request.overlapping), (20, 0));
        assert_eq!(turns.finish().map(|turn| turn.bytes), Some(5));
    }

    #[test]
    fn overlapping_payload_shares_a_turn_until_nothing_is_outstanding() {
        let mut turns = Turns::default();
        turns.sent(CLIENT, (10, MSS), true, || (Some(0), 0), at(1));
        assert!(
            turns
                .sent(SERVER, (5, MSS), false, || (Some(0), 0), at(2))
                .is_none()
        );
        assert!(
            turns
                .sent(CLIENT, (10, MSS), false, || (Some(0), 0), at(3))
                .is_none()
        );
        let both = turns
            .sent(CLIENT, (1, MSS), true, || (Some(0), 0), at(4))
            .expect("it ended");
        assert_eq!((both.overlapping, both.bytes), (1, 25));
        assert_eq!(turns.finish().map(|turn| turn.overlapping), Some(0));
    }

    #[test]
    fn silence_not_ended_by_an_acknowledgment_is_a_pause() {
        let mut turns = Turns::default();
        turns.sent(SERVER, (10, MSS), true, || (Some(4 * MS), 0), at(10 * MS));
        turns.all_acknowledged(1, at(50 * MS)); // a delayed acknowledgment
        turns.sent(SERVER, (10, MSS), true, || (Some(4 * MS), 0), at(55 * MS)); // released by that acknowledgment
        turns.all_acknowledged(1, at(60 * MS));
        turns.all_acknowledged(1, at(95 * MS));
        turns.sent(SERVER, (10, MSS), true, || (Some(4 * MS), 0), at(99 * MS));
        turns.sent(SERVER, (10, MSS), true, || (Some(4 * MS), 0), at(109 * MS)); // no acknowledgment let it go
        turns.sent(SERVER, (MSS, MSS), true, || (Some(4 * MS), 0), at(900 * MS)); // more than a segment: TCP may have held it back
        let pauses = turns.finish().map(|turn| (turn.pauses, turn.pause_ns));
        assert_eq!(pauses, Some((2, 54 * MS)));
    }

    #[test]
    fn the_nearer_the_sender_the_sooner_its_silence_is_a_pause() {
        for (way_ns, silence_ns, pauses) in [
            (Some(MS / 10), MS, 0),
            (Some(MS / 10), 3 * MS / 2, 1), // at the sender, and longer than a round trip
            (Some(2 * MS), 7 * MS / 2, 0),
            (Some(2 * MS), 9 * MS / 2, 1), // the way, and as much again
            (Some(400 * MS), 445 * MS, 0), // a long way scatters more
            (Some(400 * MS), 455 * MS, 1),
            (None, 5 * MS / 2, 0),
            (None, 7 * MS / 2, 1),
        ] {
            let mut turns = Turns::default();
            turns.sent(SERVER, (MSS, MSS), true, || (way_ns, 0), at(0));
            turns.all_acknowledged(1, at(0));
            turns.sent(SERVER, (10, MSS), true, || (way_ns, 0), at(silence_ns));
            assert_eq!(turns.finish().map(|turn| turn.pauses), Some(pauses));
        }
    }

    #[test]
    fn less_than_a_segment_waits_for_a_delayed_acknowledgment_of_less_than_a_segment() {
        for (first, acknowledged_ms, then, holds) in [
            (100, 60, 200, 1),
            (1460, 60, 200, 0), // a whole segment
            (100, 60, 1460, 0), // Nagle's algorithm holds no whole segment
            (100, 20, 200, 0),  // a round trip of 20 ms
            (100, 49, 200, 0),  // the round trip, and a slow host
        ] {
            let mut turns = Turns::default();
            let rtts = || (Some(4 * MS), 20 * MS);
            turns.sent(CLIENT, (first, MSS), true, rtts, at(0));
            turns.outstanding(0, 0, at(acknowledged_ms * MS));
            turns.all_acknowledged(0, at(acknowledged_ms * MS));
            let released_ns = (acknowledged_ms + 5) * MS;
            turns.sent(CLIENT, (then, MSS), true, rtts, at(released_ns));
            let request = turns.finish().expect("a turn");
            assert_eq!(
                (request.holds, request.held_ns),
                (holds, holds * released_ns)
            );
        }
    }

    #[test]
    fn linux_waits_for_the_last_short_segment_only() {
        // An acknowledgment of the first 17 bytes, with so much of the full segment after them outstanding.
        for (outstanding, released_ms, holds) in [
            (1460, 201, 1),
            (1477, 201, 0), // nothing is acknowledged
            (1460, 250, 0), // sent much later: the program wrote then
        ] {
            let mut turns = Turns::default();
            let rtts = || (Some(0), 20 * MS);
            turns.sent(CLIENT, (17, MSS), true, rtts, at(0));
            turns.sent(CLIENT, (1460, MSS), false, rtts, at(MS));
            turns.outstanding(0, outstanding, at(200 * MS));
            turns.sent(CLIENT, (486, MSS), false, rtts, at(released_ms * MS));
            let held = turns.finish().map(|turn| (turn.holds, turn.held_ns));
            assert_eq!(held, Some((holds, holds * 200 * MS)));
        }
    }

    #[test]
    fn what_a_server_sends_long_after_its_answer_is_another_turn() {
        for (answered_ms, again_ms, server_turns) in [
            (90, 1_100, 2),
            (90, 1_080, 1),   // less than a second later
            (900, 3_000, 1),  // it works on the answer
            (900, 10_000, 2), // ten times as long as the answer took
        ] {
            let mut turns = Turns::default();
            let rtts = || (Some(4 * MS), 20 * MS);
            turns.sent(CLIENT, (10, MSS), true, rtts, at(0));
            turns.sent(SERVER, (10, MSS), true, rtts, at(answered_ms * MS));
            turns.all_acknowledged(1, at((answered_ms + 1) * MS));
            let answer = turns.sent(SERVER, (10, MSS), false, rtts, at(again_ms * MS));
            assert_eq!(1 + i32::from(answer.is_some()), server_turns);
            let last = turns.finish().expect("a turn");
            assert_eq!(last.bytes, if server_turns == 2 { 10 } else { 20 });
        }
        // A client's request may come in parts.
        let mut turns = Turns::default();
        turns.sent(CLIENT, (10, MSS), true, || (Some(0), 0), at(0));
        turns.all_acknowledged(0, at(MS));
        let part = turns.sent(CLIENT, (10, MSS), false, || (Some(0), 0), at(9_000 * MS));
        assert!(part.is_none());
    }

    #[test]
    fn a_copy_shows_that_its_sender_lacked_the_acknowledgment() {
        for (then_ms, pause_ms) in [(250, 0), (900, 670)] {
            let mut turns = Turns::default();
            let rtts = || (Some(28 * MS), 0);
            turns.sent(SERVER, (MSS, MSS), true, rtts, at(0));
            turns.all_acknowledged(1, at(MS));
            turns.copied(1, at(230 * MS));
            turns.all_acknowledged(1, at(230 * MS));
            turns.sent(SERVER, (MSS, MSS), false, rtts, at(then_ms * MS));
            let answer = turns.finish().expect("a turn");
            assert_eq!(
                (answer.end_ns, answer.pause_ns),
                (then_ms * MS, pause_ms * MS)
            );
            assert_eq!(answer.retransmitted_ns, NULL);
        }
    }

    #[test]
    fn a_turn_has_the_record_that_it_begins_with() {
        let mut turns = Turns::default();
        turns.sent(CLIENT, (10, MSS), true, || (Some(0), 0), at(1));
        turns.begins_with(22, at(1));
        turns.sent(CLIENT, (10, MSS), false, || (Some(0), 0), at(2));
        turns.begins_with(20, at(2)); // a record within the turn
        let request = turns.sent(SERVER, (10, MSS), true, || (Some(0), 0), at(3));
        assert_eq!(request.map(|turn| turn.tls_record), Some(22));
        assert_eq!(turns.finish().map(|turn| turn.tls_record), Some(0));
    }

    #[test]
    fn unseen_bytes_mark_the_current_turn() {
        let mut turns = Turns::default();
        turns.sent(CLIENT, (10, MSS), true, || (Some(0), 0), at(1));
        turns.set_unseen_bytes(100);
        let request = turns.sent(SERVER, (10, MSS), true, || (Some(0), 0), at(2));
        assert_eq!(request.map(|turn| turn.unseen), Some(1));
        turns.set_unseen_bytes(100);
        assert_eq!(turns.finish().map(|turn| turn.unseen), Some(0));
    }

    #[test]
    fn times_never_decrease() {
        let mut turns = Turns::default();
        turns.sent(CLIENT, (10, MSS), true, || (Some(0), 0), at(5));
        turns.retransmitted(0, false, at(7));
        turns.retransmitted(1, true, at(9)); // the other side's, so not of this turn
        turns.sent(SERVER, (10, MSS), true, || (Some(0), 0), at(3));
        assert_eq!(turns.finish().map(|turn| turn.start_ns), Some(7));
    }
}
