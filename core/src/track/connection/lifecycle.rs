//! # Lifecycle
//! How a connection began and ended (RFC 9293 sections 3.5 and 3.6), with or without payload.

use crate::decode::{Flags, Segment};

/// How far the handshake came. The names are the `handshake` values of the connections table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Opening {
    /// Both SYNs were captured, and an end went on.
    Complete,
    /// Nothing but SYNs.
    NeverAnswered,
    /// A reset answered the SYN.
    Refused,
    /// The server answered, and the client never went on.
    NeverCompleted,
    /// The connection went on, and the capture lacks a SYN.
    NotCaptured,
}

impl Opening {
    /// Names by discriminant.
    pub const NAMES: [&'static str; 5] = [
        "complete",
        "never answered",
        "refused",
        "never completed",
        "not captured",
    ];
}

/// How the connection ended in the capture. The names are those of the connections table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Ending {
    /// Nothing ended it.
    Open,
    /// One end sent its FIN, the other did not.
    HalfClosed,
    /// Both ends sent a FIN.
    Fin,
    /// A reset before that.
    Rst,
}

impl Ending {
    /// Names by discriminant.
    pub const NAMES: [&'static str; 4] = ["open", "half-closed", "fin", "rst"];
}

/// What a segment's place in the sequence space says of it.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Is its sequence number one that the receiver would take: within the window (RFC 9293 section 3.10.7.4)?
    pub in_window: bool,
    /// Does it acknowledge the other end's SYN?
    pub answers_syn: bool,
}

/// What the control bits of a connection said so far, by who sent them: 0 the client, 1 the server.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lifecycle {
    syns: [u32; 2],
    last_syn_ns: i64,
    /// Between the last two SYNs of the client.
    syn_gap_ns: Option<i64>,
    /// Sent a segment that is neither SYN nor RST.
    spoke: [bool; 2],
    fins: [bool; 2],
    /// A reset that nobody believed counts as seen only.
    resets: u32,
    refused: bool,
    /// Who sent the first FIN.
    closed_by: Option<u8>,
    /// Who sent the first reset that ended it.
    reset_by: Option<u8>,
    /// Payload that was not acknowledged at the end.
    pub unacknowledged_bytes: [i64; 2],
    /// What the last SYN or retransmission waited for, if nothing answered it.
    pub retry_wait_ns: Option<i64>,
}

impl Lifecycle {
    /// A bit of [`Self::completeness`]: the client's SYN was captured.
    pub const SYN: u8 = 1;
    const SYN_ACK: u8 = 2;
    const ACK: u8 = 4;
    const DATA: u8 = 8;
    const FIN: u8 = 16;
    const RST: u8 = 32;

    /// Takes a segment of the end `from` that is no copy; most only show that both ends talk.
    #[inline]
    pub fn see(
        &mut self,
        from: usize,
        segment: &Segment,
        time_ns: i64,
        place: impl FnOnce() -> Place,
    ) {
        if segment.flags.0 & (Flags::SYN | Flags::FIN | Flags::RST) == 0 {
            self.spoke[from] = true;
        } else {
            self.control(from, segment, time_ns, place);
        }
    }

    #[cold]
    fn control(
        &mut self,
        from: usize,
        segment: &Segment,
        time_ns: i64,
        place: impl FnOnce() -> Place,
    ) {
        let flags = segment.flags;
        let by = u8::from(from == 1);
        if flags.has(Flags::RST) {
            self.resets += 1;
            let place = place();
            let opening = !self.spoke[0] && self.syns[1] == 0;
            let counts = if opening && from == 1 {
                // In SYN-SENT a reset counts if it acknowledges the SYN (RFC 9293 section 3.10.7.3).
                self.refused |= place.answers_syn;
                place.answers_syn
            } else {
                place.in_window
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
            }
            self.syns[from] = self.syns[from].saturating_add(1);
            // What came before was an answer to an older connection, and so was its reset.
            if from == 0 && !self.spoke[0] {
                (self.reset_by, self.refused) = (None, false);
            }
        } else {
            self.spoke[from] = true;
        }
        if flags.has(Flags::FIN) {
            self.fins[from] = true;
            self.closed_by.get_or_insert(by);
        }
    }

    /// How far the handshake came.
    #[must_use]
    pub fn opening(&self) -> Opening {
        match self.syns {
            [0, _] => Opening::NotCaptured,
            [_, 0] if self.spoke[0] => Opening::NotCaptured,
            [_, 0] if self.refused => Opening::Refused,
            [_, 0] if !self.spoke[1] => Opening::NeverAnswered,
            _ if self.syns[1] > 0 && self.spoke.contains(&true) => Opening::Complete,
            _ => Opening::NeverCompleted,
        }
    }

    /// How it ended, and which end began that.
    #[must_use]
    pub fn ending(&self) -> (Ending, Option<u8>) {
        match (self.reset_by, self.fins) {
            (Some(by), _) => (Ending::Rst, Some(by)),
            (None, [true, true]) => (Ending::Fin, self.closed_by),
            (None, [false, false]) => (Ending::Open, None),
            (None, _) => (Ending::HalfClosed, self.closed_by),
        }
    }

    /// SYNs that the client sent, and the server.
    #[must_use]
    pub fn syns(&self) -> [u32; 2] {
        self.syns
    }

    /// What was captured of the connection, as Wireshark's `tcp.completeness`.
    #[must_use]
    pub fn completeness(&self, carried: bool) -> u8 {
        let bits = [
            (self.syns[0] > 0, Self::SYN),
            (self.syns[1] > 0, Self::SYN_ACK),
            (self.spoke[0] || self.spoke[1], Self::ACK),
            (carried, Self::DATA),
            (self.fins[0] || self.fins[1], Self::FIN),
            (self.resets > 0, Self::RST),
        ];
        bits.iter()
            .filter(|(seen, _)| *seen)
            .map(|(_, bit)| bit)
            .sum()
    }

    /// The capture ended, or the ports were used again: what each end had unacknowledged, and what the last
    /// retransmission waited for in vain.
    pub fn finish(&mut self, outstanding: [i64; 2], retry_wait_ns: Option<i64>) {
        let fins = self.fins.map(i64::from);
        self.unacknowledged_bytes = [0, 1].map(|end| (outstanding[end] - fins[end]).max(0));
        self.retry_wait_ns = match self.opening() {
            Opening::NeverAnswered => self.syn_gap_ns,
            _ => retry_wait_ns,
        };
    }
}
