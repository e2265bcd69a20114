//! # Turns
//! Who talks when: runs of payload of one direction, until the other side answers. Requests and responses are such turns.

use crate::track::at::At;
use crate::track::null::NULL;
use crate::track::row::row;

row! {
    /// Payload that one side sent until the other side sent some. Times never run back.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Turn {
        /// Stream number, as `tcp.stream`.
        pub stream: u32,
        /// Who talks: 0 client, 1 server.
        pub direction: u8,
        /// 1 where both sides sent at once: the turn holds what went either way until both had everything.
        pub overlapping: u8,
        /// 1 where the capture lacks bytes of the turn, or of turns that it hides.
        pub unseen: u8,
        /// First new payload passes the tap.
        pub start_ns: i64,
        /// Last new payload passes the tap.
        pub end_ns: i64,
        /// Payload sent again passes the tap for the last time; [`NULL`] where none was.
        pub resent_ns: i64,
        /// How long the talker had nothing to send within the turn: silences that no acknowledgment ended, though the last
        /// one left nothing in flight and room in the window. What was ready would have gone then, so nothing was ready
        /// since the talker last sent.
        pub pause_ns: i64,
        /// The last round trip from the tap to the listener that payload of the turn took, of those that no delayed
        /// acknowledgment lengthened; [`NULL`] where there was none.
        pub rtt_ns: i64,
        /// Payload, each byte once.
        pub bytes: i64,
        /// Frame of the first new payload.
        pub first_frame: u64,
        /// Frame of the last new payload.
        pub last_frame: u64,
    }
}

/// The turns of a connection: the one that lasts, and what tells its pauses.
#[derive(Debug, Default)]
pub struct Turns {
    turn: Option<Turn>,
    /// Since when everything of the turn is acknowledged.
    answered_ns: Option<i64>,
    missed_bytes: i64,
}

impl Turns {
    /// Data that follows an acknowledgment within this was waiting for it; away from the sender it is not known
    /// better when it had the acknowledgment.
    const PROMPT_NS: i64 = 3_000_000;

    /// The capture lacks so many bytes of the connection by now.
    pub fn missed(&mut self, bytes: i64) {
        if bytes > self.missed_bytes {
            self.missed_bytes = bytes;
            if let Some(turn) = &mut self.turn {
                turn.unseen = 1;
            }
        }
    }

    /// Does `direction` talk, and was not everything acknowledged yet?
    #[must_use]
    pub fn awaits_answer(&self, direction: u8) -> bool {
        self.answered_ns.is_none() && self.talks(direction)
    }

    /// Everything that `direction` sent is acknowledged, and its window has room.
    pub fn answered(&mut self, direction: u8, at: At) {
        if self.awaits_answer(direction) {
            self.answered_ns = Some(at.time_ns);
        }
    }

    /// What `direction` sent took so long to the other side and back, by an acknowledgment that had not to wait.
    pub fn measured(&mut self, direction: u8, rtt_ns: i64) {
        if let Some(turn) = &mut self.turn
            && turn.direction == direction
        {
            turn.rtt_ns = rtt_ns;
        }
    }

    /// Does `direction` alone talk?
    #[must_use]
    pub fn is_talk_of(&self, direction: u8) -> bool {
        (self.turn.as_ref())
            .is_some_and(|turn| turn.direction == direction && turn.overlapping == 0)
    }

    fn talks(&self, direction: u8) -> bool {
        self.turn
            .as_ref()
            .is_some_and(|turn| turn.direction == direction)
    }

    /// New payload of `direction` passes. `quiet`: its sender had received all that the other side sent, and all that
    /// it sent itself before was acknowledged; of no interest where it [talks alone](Self::is_talk_of). `way_ns`: the
    /// round trip from the tap to its sender. Gives the turn that this one ends.
    #[inline]
    pub fn sent(
        &mut self,
        who: (u32, u8),
        bytes: i64,
        quiet: bool,
        way_ns: impl FnOnce() -> i64,
        at: At,
    ) -> Option<Turn> {
        let answered_ns = self.answered_ns.take();
        if (!quiet || self.is_talk_of(who.1))
            && let Some(turn) = &mut self.turn
        {
            turn.overlapping |= u8::from(turn.direction != who.1);
            if answered_ns.is_some_and(|ns| at.time_ns - ns > way_ns() + Self::PROMPT_NS) {
                let pause_ns = (at.time_ns - turn.end_ns.max(turn.resent_ns)).max(0);
                turn.pause_ns = turn.pause_ns.saturating_add(pause_ns);
                turn.rtt_ns = NULL; // a queue that stood before is gone
            }
            turn.end_ns = turn.end_ns.max(at.time_ns);
            turn.bytes += bytes;
            turn.last_frame = at.frame;
            return None;
        }
        self.begin(who, bytes, at)
    }

    /// Another turn begins; gives the one before.
    #[cold]
    fn begin(&mut self, (stream, direction): (u32, u8), bytes: i64, at: At) -> Option<Turn> {
        let before = self.turn.take();
        let time_ns = before
            .as_ref()
            .map_or(at.time_ns, |turn| turn.end_ns.max(turn.resent_ns))
            .max(at.time_ns);
        self.turn = Some(Turn {
            stream,
            direction,
            overlapping: 0,
            unseen: 0,
            start_ns: time_ns,
            end_ns: time_ns,
            resent_ns: NULL,
            pause_ns: 0,
            rtt_ns: NULL,
            bytes,
            first_frame: at.frame,
            last_frame: at.frame,
        });
        before
    }

    /// Payload of `direction` passes that passed before.
    pub fn resent(&mut self, direction: u8, at: At) {
        if let Some(turn) = &mut self.turn
            && turn.direction == direction
        {
            turn.resent_ns = turn.resent_ns.max(turn.end_ns).max(at.time_ns);
        }
    }

    /// No packets follow: the turn that lasted.
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
    fn an_answer_ends_a_turn() {
        let mut turns = Turns::default();
        assert!(turns.sent(CLIENT, 10, true, || 0, at(1)).is_none());
        assert!(turns.sent(CLIENT, 10, false, || 0, at(3)).is_none());
        let request = turns.sent(SERVER, 5, true, || 0, at(9)).expect("it ended");
        assert_eq!((request.start_ns, request.end_ns), (1, 3));
        assert_eq!((request.bytes, request.overlapping), (20, 0));
        assert_eq!(turns.finish().map(|turn| turn.bytes), Some(5));
    }

    #[test]
    fn sides_that_send_at_once_share_a_turn_until_both_have_everything() {
        let mut turns = Turns::default();
        turns.sent(CLIENT, 10, true, || 0, at(1));
        assert!(turns.sent(SERVER, 5, false, || 0, at(2)).is_none());
        assert!(turns.sent(CLIENT, 10, false, || 0, at(3)).is_none());
        let both = turns.sent(CLIENT, 1, true, || 0, at(4)).expect("it ended");
        assert_eq!((both.overlapping, both.bytes), (1, 25));
        assert_eq!(turns.finish().map(|turn| turn.overlapping), Some(0));
    }

    #[test]
    fn a_silence_that_no_acknowledgment_ends_is_a_pause() {
        const MS: i64 = 1_000_000;
        let mut turns = Turns::default();
        turns.sent(SERVER, 10, true, || 4 * MS, at(10 * MS));
        turns.answered(1, at(50 * MS)); // a delayed acknowledgment
        turns.sent(SERVER, 10, true, || 4 * MS, at(55 * MS)); // what it released
        turns.answered(1, at(60 * MS));
        turns.answered(1, at(95 * MS));
        turns.sent(SERVER, 10, true, || 4 * MS, at(99 * MS));
        turns.sent(SERVER, 10, true, || 4 * MS, at(900 * MS)); // unacknowledged before: TCP may have held it back
        assert_eq!(turns.finish().map(|turn| turn.pause_ns), Some(44 * MS));
    }

    #[test]
    fn what_the_capture_lacks_marks_the_turn_that_lasted() {
        let mut turns = Turns::default();
        turns.sent(CLIENT, 10, true, || 0, at(1));
        turns.missed(100);
        let request = turns.sent(SERVER, 10, true, || 0, at(2));
        assert_eq!(request.map(|turn| turn.unseen), Some(1));
        turns.missed(100);
        assert_eq!(turns.finish().map(|turn| turn.unseen), Some(0));
    }

    #[test]
    fn times_never_run_back() {
        let mut turns = Turns::default();
        turns.sent(CLIENT, 10, true, || 0, at(5));
        turns.resent(0, at(7));
        turns.resent(1, at(9)); // the other side's: none of this turn
        turns.sent(SERVER, 10, true, || 0, at(3));
        assert_eq!(turns.finish().map(|turn| turn.start_ns), Some(7));
    }
}
