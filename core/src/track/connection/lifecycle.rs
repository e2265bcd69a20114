//! # Lifecycle
//! Opening and closing of a connection (RFC 9293 sections 3.5 and 3.6), with or without payload.

use crate::decode::{Flags, Segment};

/// Progress of the handshake. The names are the `handshake` values of the connections table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Opening {
    /// Both SYNs were captured, and an end sent more than SYN or RST.
    Complete,
    /// No answer to the client's SYN was captured.
    NeverAnswered,
    /// A reset answered the SYN.
    Refused,
    /// Only segments of an older connection answered the SYN: challenge ACKs, as a rule (RFC 5961 section 4).
    Challenged,
    /// The server answered, but the client sent nothing more than SYNs and resets.
    NeverCompleted,
    /// The capture lacks a SYN of a connection that went on.
    NotCaptured,
}

impl Opening {
    /// Names of the variants, indexed by discriminant.
    pub const NAMES: [&'static str; 6] = [
        "complete",
        "never answered",
        "refused",
        "challenged",
        "never completed",
        "not captured",
    ];
}

/// End of the connection in the capture. The names are the `ended` values of the connections table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Ending {
    /// Neither a FIN nor an acceptable reset was captured.
    Open,
    /// Only one end sent a FIN.
    HalfClosed,
    /// Both ends sent a FIN.
    Fin,
    /// A reset ended the connection before both FINs were sent.
    Rst,
}

impl Ending {
    /// Names of the variants, indexed by discriminant.
    pub const NAMES: [&'static str; 4] = ["open", "half-closed", "fin", "rst"];
}

/// Whether the receiver of a segment would accept it.
#[derive(Debug, Clone, Copy)]
pub struct Acceptability {
    /// Is the sequence number within the receiver's window (RFC 9293 section 3.10.7.4)?
    pub in_window: bool,
    /// Is the sequence number one that its sender cannot have sent, as the receiver's window does not reach there?
    pub is_unsent: bool,
    /// Does the segment acknowledge the other end's SYN?
    pub answers_syn: bool,
    /// Does the segment acknowledge numbers of an older connection, which the other end has not sent in this one?
    pub is_foreign_ack: bool,
    /// Has the receiver acknowledged the sequence number? Such a number is that of an earlier acknowledgment.
    pub is_acknowledged: bool,
}

/// Control bits captured so far; index 0 is the client, 1 the server.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lifecycle {
    syns: [u32; 2],
    last_syn_ns: i64,
    /// Time between the last two SYNs of the client, in ns; `None` before the second.
    syn_gap_ns: Option<i64>,
    /// Has the end sent a segment that is neither SYN nor RST?
    sent_non_syn: [bool; 2],
    /// Did the server's first such segment, before its SYN, acknowledge numbers of an older connection?
    challenged: bool,
    /// Time of the server's first SYN, in ns; `None` before it.
    answered_ns: Option<i64>,
    /// Time of the first such segment after both SYNs, in ns: an end has the other's SYN.
    opened_ns: Option<i64>,
    fins: [bool; 2],
    /// Number of FINs of either end since the last answer of the other.
    unanswered_fins: [u32; 2],
    /// Sequence number after the last of these FINs.
    fin_ends: [u32; 2],
    /// Number of resets, with those that their receiver must ignore.
    resets: u32,
    refused: bool,
    /// The end that sent the first FIN, before any reset.
    closed_by: Option<u8>,
    /// Number of segments of either end that the other answered by a reset, as it knew no such connection.
    disowned: [u32; 2],
    /// The end that sent the first reset that its receiver accepts.
    reset_by: Option<u8>,
    /// Payload of either end that was not acknowledged at the end of the connection, in bytes.
    pub unacknowledged_bytes: [i64; 2],
    /// Time that the sender waited before its last SYN or retransmission, in ns; `None` where that was answered.
    pub retry_wait_ns: Option<i64>,
}

impl Lifecycle {
    /// Bit of [`Self::completeness`]: the client's SYN was captured.
    pub const SYN: u8 = 1;
    const SYN_ACK: u8 = 2;
    const ACK: u8 = 4;
    const DATA: u8 = 8;
    const FIN: u8 = 16;
    const RST: u8 = 32;

    /// May [`Self::observe`] change anything with this segment of the end `from`? Most segments change nothing.
    #[inline]
    #[must_use]
    pub fn may_change(&self, from: usize, segment: &Segment) -> bool {
        self.unanswered_fins[1 - from] > 0
            || !self.sent_non_syn[from]
            || segment.flags.0 & (Flags::SYN | Flags::FIN | Flags::RST) != 0
    }

    /// Processes a segment of the end `from` that is no copy. `acceptability` is only called for a reset, and for the
    /// server's first segment that is none and no SYN.
    pub fn observe(
        &mut self,
        from: usize,
        segment: &Segment,
        time_ns: i64,
        acceptability: impl FnOnce() -> Acceptability,
    ) {
        if self.unanswered_fins[1 - from] > 0 && self.answers_fin(from, segment) {
            self.unanswered_fins[1 - from] = 0;
        }
        if segment.flags.0 & (Flags::SYN | Flags::FIN | Flags::RST) == 0 {
            if !self.sent_non_syn[from] {
                self.note_non_syn(from, time_ns, acceptability);
            }
        } else {
            self.observe_control(from, segment, time_ns, acceptability);
        }
    }

    /// Does a segment of `from` answer the other end's FIN? An acknowledgment of less shows that the FIN is missing.
    #[cold]
    fn answers_fin(&self, from: usize, segment: &Segment) -> bool {
        let beyond = self.fin_ends[1 - from].wrapping_sub(segment.acknowledgment);
        let is_bare = segment.payload_bytes == 0 && segment.flags.0 & !Flags::ECE == Flags::ACK;
        !is_bare || !(1..1 << 31).contains(&beyond)
    }

    #[cold]
    fn observe_control(
        &mut self,
        from: usize,
        segment: &Segment,
        time_ns: i64,
        acceptability: impl FnOnce() -> Acceptability,
    ) {
        let flags = segment.flags;
        let by = u8::from(from == 1);
        if flags.has(Flags::RST) {
            self.resets += 1;
            let acceptability = acceptability();
            // The answer to a segment of an unknown connection has that segment's acknowledgment as its number, and
            // acknowledges nothing (RFC 9293 section 3.10.7.1).
            if !flags.has(Flags::ACK) && acceptability.is_acknowledged {
                self.disowned[1 - from] = self.disowned[1 - from].saturating_add(1);
            }
            let opening = !self.sent_non_syn[0] && self.syns[1] == 0;
            let counts = if opening && from == 1 {
                // In SYN-SENT, a reset is accepted if it acknowledges the SYN (RFC 9293 section 3.10.7.3).
                self.refused |= acceptability.answers_syn;
                acceptability.answers_syn
            } else {
                acceptability.in_window && !self.is_forced(from, flags, acceptability)
            };
            if counts && !(self.fins[0] && self.fins[1]) {
                self.reset_by.get_or_insert(by);
            }
            return;
        }
        if flags.has(Flags::SYN) {
            if from == 0 {
                if self.syns[0] > 0 {
                    self.syn_gap_ns = Some(time_ns - self.last_syn_ns);
                }
                self.last_syn_ns = time_ns;
            } else {
                self.answered_ns.get_or_insert(time_ns);
            }
            self.syns[from] = self.syns[from].saturating_add(1);
            // Earlier segments of the server, and so its reset, belong to an older connection. A refusal belongs to
            // this one: a client that tries again was refused, unless the server accepts then.
            let is_forgotten = if self.refused { from == 1 } else { from == 0 };
            if is_forgotten && !self.sent_non_syn[0] {
                (self.reset_by, self.refused) = (None, false);
            }
        } else {
            self.note_non_syn(from, time_ns, acceptability);
        }
        if flags.has(Flags::FIN) {
            self.fins[from] = true;
            self.fin_ends[from] = (segment.sequence)
                .wrapping_add(segment.payload_bytes)
                .wrapping_add(1);
            self.unanswered_fins[from] = self.unanswered_fins[from].saturating_add(1);
            if self.reset_by.is_none() {
                self.closed_by.get_or_insert(by);
            }
        }
    }

    /// Notes that `from` sent a segment that is neither SYN nor RST.
    #[cold]
    fn note_non_syn(
        &mut self,
        from: usize,
        time_ns: i64,
        acceptability: impl FnOnce() -> Acceptability,
    ) {
        if from == 1 && !self.sent_non_syn[1] && self.is_syn_sent() {
            self.challenged = acceptability().is_foreign_ack;
        }
        self.sent_non_syn[from] = true;
        if !self.syns.contains(&0) {
            self.opened_ns.get_or_insert(time_ns);
        }
    }

    /// Has the client sent its SYN, and neither end an answer to one?
    fn is_syn_sent(&self) -> bool {
        self.syns[0] > 0 && self.syns[1] == 0 && !self.sent_non_syn[0]
    }

    /// Did TCP force this reset of `from`, whose connection stays? In SYN-SENT and SYN-RECEIVED, an unacceptable
    /// acknowledgment is answered by a reset of its number (RFC 9293 sections 3.10.7.3 and 3.10.7.4).
    fn is_forced(&self, from: usize, flags: Flags, acceptability: Acceptability) -> bool {
        let is_opening = self.syns[from] > 0 && !self.sent_non_syn[from];
        let answers = acceptability.is_unsent || self.challenged && self.is_syn_sent();
        !flags.has(Flags::ACK) && is_opening && answers
    }

    /// Returns the time of the server's first SYN, in ns; `None` where there is none.
    #[must_use]
    pub fn answered_ns(&self) -> Option<i64> {
        self.answered_ns
    }

    /// Returns the time of the first segment after both SYNs, in ns; `None` where there is none.
    #[must_use]
    pub fn opened_ns(&self) -> Option<i64> {
        self.opened_ns
    }

    /// Returns the progress of the handshake.
    #[must_use]
    pub fn opening(&self) -> Opening {
        match self.syns {
            [0, _] => Opening::NotCaptured,
            [_, 0] if self.sent_non_syn[0] => Opening::NotCaptured,
            [_, 0] if self.refused => Opening::Refused,
            [_, 0] if !self.sent_non_syn[1] => Opening::NeverAnswered,
            [_, 0] if self.challenged => Opening::Challenged,
            [_, 0] => Opening::NeverCompleted,
            // Segments of an older connection complete none.
            _ if self.sent_non_syn[0] || self.sent_non_syn[1] && !self.challenged => {
                Opening::Complete
            }
            _ => Opening::NeverCompleted,
        }
    }

    /// Returns how the connection ended, and the end that sent the first FIN or the reset; `None` for an open
    /// connection.
    #[must_use]
    pub fn ending(&self) -> (Ending, Option<u8>) {
        match (self.reset_by, self.fins) {
            (Some(by), _) => (Ending::Rst, Some(by)),
            (None, [true, true]) => (Ending::Fin, self.closed_by),
            (None, [false, false]) => (Ending::Open, None),
            (None, _) => (Ending::HalfClosed, self.closed_by),
        }
    }

    /// Returns the end that sent the first FIN; `None` where there is none, or a reset came before.
    #[must_use]
    pub fn closed_by(&self) -> Option<u8> {
        self.closed_by
    }

    /// Returns the number of FINs of the end that sent most of them since the last answer of the other.
    #[must_use]
    pub fn unanswered_fins(&self) -> u32 {
        self.unanswered_fins[0].max(self.unanswered_fins[1])
    }

    /// Returns the end that sent most FINs since the last answer of the other; `None` without such a FIN.
    #[must_use]
    pub fn unanswered_fins_by(&self) -> Option<u8> {
        let [client, server] = self.unanswered_fins;
        (client.max(server) > 0).then_some(u8::from(server > client))
    }

    /// Returns the number of segments of `end` that the other end answered by a reset, as it knew no such connection.
    #[must_use]
    pub fn disowned(&self, end: usize) -> u32 {
        self.disowned[end]
    }

    /// Returns the number of SYNs of the client and of the server.
    #[must_use]
    pub fn syns(&self) -> [u32; 2] {
        self.syns
    }

    /// Returns the bits of Wireshark's `tcp.completeness`; `carried` is whether any payload was captured.
    #[must_use]
    pub fn completeness(&self, carried: bool) -> u8 {
        let bits = [
            (self.syns[0] > 0, Self::SYN),
            (self.syns[1] > 0, Self::SYN_ACK),
            (self.sent_non_syn[0] || self.sent_non_syn[1], Self::ACK),
            (carried, Self::DATA),
            (self.fins[0] || self.fins[1], Self::FIN),
            (self.resets > 0, Self::RST),
        ];
        bits.iter()
            .filter(|(seen, _)| *seen)
            .map(|(_, bit)| bit)
            .sum()
    }

    /// Ends the connection, as the capture ends or the ports are reused. `outstanding` are the unacknowledged sequence
    /// numbers of each end. `retry_wait_ns` is the wait before the last retransmission that nothing answered.
    pub fn finish(&mut self, outstanding: [i64; 2], retry_wait_ns: Option<i64>) {
        let fins = self.fins.map(i64::from);
        self.unacknowledged_bytes = [0, 1].map(|end| (outstanding[end] - fins[end]).max(0));
        self.retry_wait_ns = match self.opening() {
            Opening::NeverAnswered | Opening::Challenged => self.syn_gap_ns,
            _ => retry_wait_ns,
        };
    }
}
