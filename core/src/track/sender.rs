//! # Sender
//! The state of the sending TCP as it knew it itself: what is in flight, and what the window still allows.

pub(super) mod delay_to_sender;
pub(super) mod first_packets;
pub(super) mod one_way_delay;
pub(super) mod retransmissions;
mod rewritten_scale;
pub(super) mod scale;

use super::null::{NULL, known};
use super::tap::ranges::Ranges;

/// Packets that `bytes` of payload take; one mostly, which needs no division.
pub fn packets(bytes: i64, mss: i64) -> i64 {
    if bytes <= mss {
        1
    } else {
        (bytes + mss - 1) / mss
    }
}

/// An acknowledgment as the sender receives it.
#[derive(Debug, Clone, Copy)]
pub struct Ack {
    /// Cumulative, relative.
    pub ack: i64,
    /// Window advertised, scaled; `None` where the scale is unknown.
    pub window: Option<i64>,
    /// Window as written in the header.
    pub window_field: u16,
    /// Is it to be scaled? A SYN's is not.
    pub scaled: bool,
    /// SACK blocks without D-SACK, as distances from `ack`; empty where there are fewer.
    pub blocks: [(u32, u32); 4],
    /// ECN echo set.
    pub ece: bool,
    /// Did it carry payload?
    pub reply: bool,
}

impl Ack {
    /// The SACK blocks, relative.
    pub fn blocks(&self) -> impl Iterator<Item = (i64, i64)> + use<> {
        let ack = self.ack;
        self.blocks
            .into_iter()
            .take_while(|(start, end)| start < end)
            .map(move |(start, end)| (ack + i64::from(start), ack + i64::from(end)))
    }
}

/// What an acknowledgment brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// How far SND.UNA moved.
    pub advanced: i64,
    /// Bytes that are now known to have arrived and were not before, by SND.UNA or by SACK.
    pub delivered: i64,
    /// How far the window's right edge moved.
    pub edge_advanced: i64,
    /// Did it come with payload?
    pub reply: bool,
}

/// SND.NXT, SND.UNA, the window's right edge and the scoreboard (RFC 9293 section 3.3.1, RFC 6675).
///
/// What is unknown is [`NULL`], which is less than any number. Once SND.UNA is known, SND.NXT is, and never less.
#[derive(Debug)]
pub struct Sender {
    snd_nxt: i64,
    snd_una: i64,
    edge: i64,
    window: i64,
    most_window: i64,
    sacked: Ranges,
    resent: Ranges,
}

impl Default for Sender {
    fn default() -> Self {
        Self {
            snd_nxt: NULL,
            snd_una: NULL,
            edge: NULL,
            window: NULL,
            most_window: 0,
            sacked: Ranges::default(),
            resent: Ranges::default(),
        }
    }
}

impl Sender {
    /// As [`Ranges::set_max`], of both sets.
    pub fn set_max_ranges(&mut self, most: usize) {
        self.sacked.set_max(most);
        self.resent.set_max(most);
    }

    /// As [`Ranges::merged`], of both sets.
    #[must_use]
    pub fn merged_ranges(&self) -> u32 {
        self.sacked.merged().saturating_add(self.resent.merged())
    }

    /// SND.NXT.
    #[must_use]
    pub fn snd_nxt(&self) -> Option<i64> {
        known(self.snd_nxt)
    }

    /// SND.UNA.
    #[must_use]
    pub fn snd_una(&self) -> Option<i64> {
        known(self.snd_una)
    }

    /// The window last advertised.
    #[must_use]
    pub fn window(&self) -> Option<i64> {
        known(self.window)
    }

    /// Is the window closed, or left unused: less than a segment, and than half of the largest ever (RFC 9293 section
    /// 3.8.6.2.1)?
    #[must_use]
    pub fn is_window_unusable(&self, mss: i64) -> bool {
        let least = mss.min(self.most_window / 2).max(1);
        self.window < least && self.window != NULL
    }

    /// End of what SACK reported, if it reported anything.
    #[must_use]
    pub fn sacked_end(&self) -> Option<i64> {
        self.sacked.end()
    }

    /// Does the sender know that all of `start..end` arrived?
    #[must_use]
    pub fn is_delivered(&self, start: i64, end: i64) -> bool {
        let start = self.snd_una.max(start);
        start >= end || self.sacked.covered(start, end) == end - start
    }

    /// SND.NXT - SND.UNA: what flow control sees.
    #[must_use]
    pub fn in_flight(&self) -> i64 {
        if self.snd_una == NULL {
            0
        } else {
            self.snd_nxt - self.snd_una
        }
    }

    /// What congestion control sees (RFC 6675 section 4, SetPipe): in flight, less SACKed, less presumed lost (three
    /// segments SACKed above it), plus sent again and not yet acknowledged.
    #[must_use]
    pub fn pipe(&self, mss: i64) -> i64 {
        let flight = self.in_flight();
        if self.sacked.is_empty() && self.resent.is_empty() {
            return flight;
        }
        let una = self.snd_una().unwrap_or_default();
        let lost_below = self
            .sacked
            .end()
            .map_or(una, |end| (end - 3 * mss).max(una));
        let lost = lost_below - una - self.sacked.covered(una, lost_below);
        (flight - self.sacked.bytes() - lost + self.resent.bytes()).max(0)
    }

    /// How much more the window allows; `None` where the window is unknown. The right edge never moves back here:
    /// a receiver should not shrink its window (RFC 9293 section 3.8.6).
    #[must_use]
    pub fn usable_window(&self) -> Option<i64> {
        (self.edge != NULL).then(|| (self.edge - self.snd_nxt).max(0))
    }

    /// May everything below `end` be sent, as far as the window is known?
    #[must_use]
    pub fn window_allows(&self, end: i64) -> bool {
        self.edge == NULL || end <= self.edge
    }

    /// Sends `start..end`; `resent` when it went out before.
    #[inline]
    pub fn send(&mut self, start: i64, end: i64, resent: bool) {
        self.snd_nxt = self.snd_nxt.max(end);
        if resent {
            self.resent.add(start.max(self.snd_una), end);
        }
    }

    /// Receives an acknowledgment.
    #[inline]
    pub fn receive(&mut self, ack: &Ack) -> Progress {
        let una = if self.snd_una == NULL {
            ack.ack
        } else {
            self.snd_una
        };
        let advanced = (ack.ack - una).max(0);
        self.snd_una = una + advanced;
        self.snd_nxt = self.snd_nxt.max(ack.ack);
        let old_edge = self.edge;
        if let Some(window) = ack.window {
            if ack.ack >= una {
                self.window = window;
                self.most_window = self.most_window.max(window);
            }
            self.edge = self.edge.max(ack.ack + window);
        }
        Progress {
            advanced,
            delivered: self.score(ack, advanced),
            edge_advanced: if old_edge == NULL {
                0
            } else {
                self.edge - old_edge
            },
            reply: ack.reply,
        }
    }

    /// Keeps the scoreboard; says how many bytes are known to have arrived and were not before.
    #[inline]
    fn score(&mut self, ack: &Ack, advanced: i64) -> i64 {
        if self.sacked.is_empty() && self.resent.is_empty() && ack.blocks[0] == (0, 0) {
            return advanced;
        }
        let before = self.sacked.bytes();
        if advanced > 0 {
            self.sacked.trim(ack.ack);
            self.resent.trim(ack.ack);
        }
        for (start, end) in ack.blocks() {
            self.sacked.add(start.max(ack.ack), end);
            self.resent.remove(start, end);
        }
        (advanced + self.sacked.bytes() - before).max(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(ack: i64, window: i64, blocks: &[(i64, i64)]) -> Ack {
        let mut kept = [(0, 0); 4];
        for (slot, &(start, end)) in kept.iter_mut().zip(blocks) {
            *slot = ((start - ack) as u32, (end - ack) as u32);
        }
        Ack {
            ack,
            window: Some(window),
            window_field: 0,
            scaled: true,
            blocks: kept,
            ece: false,
            reply: false,
        }
    }

    fn sent(segments: i64) -> Sender {
        let mut sender = Sender::default();
        sender.receive(&ack(0, 100_000, &[]));
        for i in 0..segments {
            sender.send(i * 1000, (i + 1) * 1000, false);
        }
        sender
    }

    #[test]
    fn the_window_binds_from_the_acknowledgment() {
        let mut sender = sent(10);
        sender.receive(&ack(4000, 6000, &[]));
        assert_eq!(sender.in_flight(), 6000);
        // Edge 100000 was promised before; a smaller window later must not take it back.
        assert_eq!(sender.usable_window(), Some(90_000));
        assert_eq!(sender.window(), Some(6000));
    }

    #[test]
    fn pipe_leaves_out_sacked_and_lost_but_not_sent_again() {
        let mut sender = sent(10);
        // The first of ten is lost: five above it are SACKed, so it is presumed lost, with nothing else below them.
        sender.receive(&ack(0, 100_000, &[(1000, 6000)]));
        assert_eq!(sender.in_flight(), 10_000);
        assert_eq!(sender.pipe(1000), 10_000 - 5000 - 1000);
        sender.send(0, 1000, true);
        assert_eq!(sender.pipe(1000), 10_000 - 5000);
    }

    #[test]
    fn two_segments_above_a_hole_do_not_make_it_lost() {
        let mut sender = sent(10);
        sender.receive(&ack(0, 100_000, &[(1000, 3000)]));
        assert_eq!(sender.pipe(1000), 10_000 - 2000);
    }
}
