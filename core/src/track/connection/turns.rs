//! # Turns
//! Turns: runs of payload in one direction until the other side sends some. Requests and responses are such turns.

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
        /// Time of the first new payload at the tap, in ns since the epoch.
        pub start_ns: i64,
        /// Time of the last new payload at the tap, in ns since the epoch.
        pub end_ns: i64,
        /// Time of the last retransmitted payload at the tap, in ns since the epoch; [`NULL`] where there was none.
        pub retransmitted_ns: i64,
        /// Time within the turn in which the sender had no data ready, in ns. These are the pauses that no
        /// acknowledgment ended, although nothing was in flight and the window had room. Ready data would have been
        /// sent at that acknowledgment, so the pause began with the last data before it.
        pub pause_ns: i64,
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

/// The turns of a connection: the current turn, and the state that finds its pauses.
#[derive(Debug, Default)]
pub struct Turns {
    turn: Option<Turn>,
    /// When everything that the turn's sender sent was acknowledged, in ns; `None` while something is outstanding.
    acknowledged_ns: Option<i64>,
    /// Acknowledged bytes of the connection that the capture lacks.
    unseen_bytes: i64,
}

impl Turns {
    /// Data that follow an acknowledgment within this time were waiting for it. Away from the sender, the time when it
    /// received the acknowledgment is not known more exactly.
    const ACK_RESPONSE_NS: i64 = 3_000_000;

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
    /// sender [has the turn alone](Self::is_turn_of). `sender_rtt_ns` returns the round trip from the tap to the
    /// sender.
    #[inline]
    pub fn sent(
        &mut self,
        who: (u32, u8),
        bytes: i64,
        all_acknowledged: bool,
        sender_rtt_ns: impl FnOnce() -> i64,
        at: At,
    ) -> Option<Turn> {
        let acknowledged_ns = self.acknowledged_ns.take();
        if (!all_acknowledged || self.is_turn_of(who.1))
            && let Some(turn) = &mut self.turn
        {
            turn.overlapping |= u8::from(turn.direction != who.1);
            if acknowledged_ns
                .is_some_and(|ns| at.time_ns - ns > sender_rtt_ns() + Self::ACK_RESPONSE_NS)
            {
                let pause_ns = (at.time_ns - turn.end_ns.max(turn.retransmitted_ns)).max(0);
                turn.pause_ns = turn.pause_ns.saturating_add(pause_ns);
                turn.rtt_ns = NULL; // queues have emptied in the pause
            }
            turn.end_ns = turn.end_ns.max(at.time_ns);
            turn.bytes += bytes;
            turn.last_frame = at.frame;
            return None;
        }
        self.begin(who, bytes, at)
    }

    /// Begins another turn; returns the previous one.
    #[cold]
    fn begin(&mut self, (stream, direction): (u32, u8), bytes: i64, at: At) -> Option<Turn> {
        let before = self.turn.take();
        let time_ns = before
            .as_ref()
            .map_or(at.time_ns, |turn| turn.end_ns.max(turn.retransmitted_ns))
            .max(at.time_ns);
        self.turn = Some(Turn {
            stream,
            direction,
            overlapping: 0,
            unseen: 0,
            start_ns: time_ns,
            end_ns: time_ns,
            retransmitted_ns: NULL,
            pause_ns: 0,
            rtt_ns: NULL,
            bytes,
            first_frame: at.frame,
            last_frame: at.frame,
        });
        before
    }

    /// Notes retransmitted payload of `direction`.
    pub fn retransmitted(&mut self, direction: u8, at: At) {
        if let Some(turn) = &mut self.turn
            && turn.direction == direction
        {
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

    fn at(time_ns: i64) -> At {
        At {
            time_ns,
            frame: time_ns as u64,
        }
    }

    #[test]
    fn payload_of_the_other_side_ends_a_turn() {
        let mut turns = Turns::default();
        assert!(turns.sent(CLIENT, 10, true, || 0, at(1)).is_none());
        assert!(turns.sent(CLIENT, 10, false, || 0, at(3)).is_none());
        let request = turns.sent(SERVER, 5, true, || 0, at(9)).expect("it ended");
        assert_eq!((request.start_ns, request.end_ns), (1, 3));
        assert_eq!((request.bytes, request.overlapping), (20, 0));
        assert_eq!(turns.finish().map(|turn| turn.bytes), Some(5));
    }

    #[test]
    fn overlapping_payload_shares_a_turn_until_nothing_is_outstanding() {
        let mut turns = Turns::default();
        turns.sent(CLIENT, 10, true, || 0, at(1));
        assert!(turns.sent(SERVER, 5, false, || 0, at(2)).is_none());
        assert!(turns.sent(CLIENT, 10, false, || 0, at(3)).is_none());
        let both = turns.sent(CLIENT, 1, true, || 0, at(4)).expect("it ended");
        assert_eq!((both.overlapping, both.bytes), (1, 25));
        assert_eq!(turns.finish().map(|turn| turn.overlapping), Some(0));
    }

    #[test]
    fn silence_not_ended_by_an_acknowledgment_is_a_pause() {
        const MS: i64 = 1_000_000;
        let mut turns = Turns::default();
        turns.sent(SERVER, 10, true, || 4 * MS, at(10 * MS));
        turns.all_acknowledged(1, at(50 * MS)); // a delayed acknowledgment
        turns.sent(SERVER, 10, true, || 4 * MS, at(55 * MS)); // released by that acknowledgment
        turns.all_acknowledged(1, at(60 * MS));
        turns.all_acknowledged(1, at(95 * MS));
        turns.sent(SERVER, 10, true, || 4 * MS, at(99 * MS));
        turns.sent(SERVER, 10, true, || 4 * MS, at(900 * MS)); // unacknowledged before: TCP may have held it back
        assert_eq!(turns.finish().map(|turn| turn.pause_ns), Some(44 * MS));
    }

    #[test]
    fn unseen_bytes_mark_the_current_turn() {
        let mut turns = Turns::default();
        turns.sent(CLIENT, 10, true, || 0, at(1));
        turns.set_unseen_bytes(100);
        let request = turns.sent(SERVER, 10, true, || 0, at(2));
        assert_eq!(request.map(|turn| turn.unseen), Some(1));
        turns.set_unseen_bytes(100);
        assert_eq!(turns.finish().map(|turn| turn.unseen), Some(0));
    }

    #[test]
    fn times_never_decrease() {
        let mut turns = Turns::default();
        turns.sent(CLIENT, 10, true, || 0, at(5));
        turns.retransmitted(0, at(7));
        turns.retransmitted(1, at(9)); // the other side's, so not of this turn
        turns.sent(SERVER, 10, true, || 0, at(3));
        assert_eq!(turns.finish().map(|turn| turn.start_ns), Some(7));
    }
}
