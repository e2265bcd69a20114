//! # Sender
//! The sending TCP's own state: the bytes in flight, and how many more the window allows.

pub(super) mod delay_to_sender;
pub(super) mod first_packets;
pub(super) mod full_segment;
pub(super) mod one_way_delay;
pub(super) mod retransmissions;
mod rewritten_scale;
pub(super) mod scale;

use super::null::{NULL, known};
use super::tap::ranges::Ranges;

/// Returns the number of packets that `bytes` of payload take. Mostly that is one, which needs no division.
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
    /// Cumulative acknowledgment number, relative.
    pub ack: i64,
    /// Window advertised, in bytes; `None` where the scale is unknown.
    pub window: Option<i64>,
    /// Window field of the header, not scaled.
    pub window_field: u16,
    /// Does the scale apply to the field? It does not on a SYN.
    pub scaled: bool,
    /// SACK blocks without D-SACK, as distances in bytes from `ack`; empty where there are fewer.
    pub blocks: [(u32, u32); 4],
    /// Does its ECE flag report congestion (RFC 3168)?
    pub ece: bool,
    /// Does it carry payload?
    pub reply: bool,
    /// Bytes that it acknowledges, as far as the capture holds them.
    pub captured: Captured,
}

/// Captured bytes that an acknowledgment reports for the first time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Captured {
    /// Those below SND.UNA.
    pub acked: i64,
    /// Those known to have arrived, by SND.UNA or by SACK.
    pub delivered: i64,
}

impl Ack {
    /// Returns the SACK blocks, as relative sequence numbers.
    pub fn blocks(&self) -> impl Iterator<Item = (i64, i64)> {
        let ack = self.ack;
        self.blocks
            .iter()
            .take_while(|(start, end)| start < end)
            .map(move |&(start, end)| (ack + i64::from(start), ack + i64::from(end)))
    }
}

/// The changes that an acknowledgment made to the sender's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes by which SND.UNA advanced.
    pub advanced: i64,
    /// Bytes newly known to have arrived, by SND.UNA or by SACK.
    pub delivered: i64,
    /// Those of them that the capture holds.
    pub captured: Captured,
    /// Bytes by which the window's right edge advanced.
    pub edge_advanced: i64,
    /// Did the acknowledgment carry payload?
    pub reply: bool,
}

/// SND.NXT, SND.UNA, the window's right edge and the scoreboard (RFC 9293 section 3.3.1, RFC 6675).
///
/// Unknown numbers are [`NULL`], which is less than any number. Once SND.UNA is known, SND.NXT is known, too, and never
/// less.
#[derive(Debug)]
pub struct Sender {
    snd_nxt: i64,
    snd_una: i64,
    right_edge: i64,
    window: i64,
    max_window: i64,
    sacked: Ranges,
    retransmitted: Ranges,
}

impl Default for Sender {
    fn default() -> Self {
        Self {
            snd_nxt: NULL,
            snd_una: NULL,
            right_edge: NULL,
            window: NULL,
            max_window: 0,
            sacked: Ranges::default(),
            retransmitted: Ranges::default(),
        }
    }
}

impl Sender {
    /// Sets the maximum number of ranges of both sets; see [`Ranges::set_max`].
    pub fn set_max_ranges(&mut self, max: usize) {
        self.sacked.set_max(max);
        self.retransmitted.set_max(max);
    }

    /// Returns the number of merged ranges in both sets; see [`Ranges::merged`].
    #[must_use]
    pub fn merged_ranges(&self) -> u32 {
        self.sacked
            .merged()
            .saturating_add(self.retransmitted.merged())
    }

    /// Returns SND.NXT; `None` while unknown.
    #[must_use]
    pub fn snd_nxt(&self) -> Option<i64> {
        known(self.snd_nxt)
    }

    /// Returns SND.UNA; `None` while unknown.
    #[must_use]
    pub fn snd_una(&self) -> Option<i64> {
        known(self.snd_una)
    }

    /// Returns the window last advertised, in bytes; `None` while unknown.
    #[must_use]
    pub fn window(&self) -> Option<i64> {
        known(self.window)
    }

    /// Is the window closed, or too small to be used? Too small is less than a segment, and less than half of the
    /// largest window so far (RFC 9293 section 3.8.6.2.1). A segment has at least one byte.
    #[must_use]
    pub fn is_window_unusable(&self, mss: i64) -> bool {
        if self.window >= mss {
            return false; // the usual case
        }
        let least = mss.min(self.max_window / 2).max(1);
        self.window < least && self.window != NULL
    }

    /// Returns the end of the highest range that SACK reported; `None` without one.
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

    /// Returns SND.NXT - SND.UNA in bytes, which flow control limits; 0 while SND.UNA is unknown.
    #[must_use]
    pub fn in_flight(&self) -> i64 {
        if self.snd_una == NULL {
            0
        } else {
            self.snd_nxt - self.snd_una
        }
    }

    /// Returns the bytes that congestion control counts as in flight (RFC 6675 section 4, SetPipe).
    ///
    /// These are the bytes in flight, less SACKed bytes and bytes presumed lost, plus retransmitted bytes not yet
    /// acknowledged. Bytes are presumed lost once three segments above them are SACKed.
    #[must_use]
    pub fn pipe(&self, mss: i64) -> i64 {
        let flight = self.in_flight();
        if self.sacked.is_empty() && self.retransmitted.is_empty() {
            return flight;
        }
        let una = self.snd_una().unwrap_or_default();
        let lost_below = self
            .sacked
            .end()
            .map_or(una, |end| (end - 3 * mss).max(una));
        let lost = lost_below - una - self.sacked.covered(una, lost_below);
        (flight - self.sacked.bytes() - lost + self.retransmitted.bytes()).max(0)
    }

    /// Is all acknowledged that was sent? False while SND.UNA is unknown.
    #[must_use]
    pub fn is_acknowledged(&self) -> bool {
        self.snd_una != NULL && self.snd_una >= self.snd_nxt
    }

    /// Returns how many more bytes the window allows; `None` while the window is unknown.
    ///
    /// The right edge never moves back here, because a receiver should not shrink its window (RFC 9293 section 3.8.6).
    #[must_use]
    pub fn usable_window(&self) -> Option<i64> {
        (self.right_edge != NULL).then(|| (self.right_edge - self.snd_nxt).max(0))
    }

    /// Returns how many bytes may be in flight: those between SND.UNA and the right edge. `None` while either is unknown.
    #[must_use]
    pub fn allowed_in_flight(&self) -> Option<i64> {
        let known = self.right_edge != NULL && self.snd_una != NULL;
        known.then(|| (self.right_edge - self.snd_una).max(0))
    }

    /// May everything below `end` be sent? True while the window is unknown.
    #[must_use]
    pub fn window_allows(&self, end: i64) -> bool {
        self.right_edge == NULL || end <= self.right_edge
    }

    /// Takes all bytes below `start` for acknowledged.
    #[cold]
    pub fn begin_at(&mut self, start: i64) {
        self.snd_una = start;
        self.snd_nxt = self.snd_nxt.max(start);
    }

    /// Sends data `start..end`, which is `retransmitted` if it was sent before.
    #[inline]
    pub fn send(&mut self, start: i64, end: i64, retransmitted: bool) {
        self.snd_nxt = self.snd_nxt.max(end);
        if retransmitted {
            self.retransmitted.add(start.max(self.snd_una), end);
        }
    }

    /// Receives an acknowledgment; returns the changes that it makes.
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
        let old_edge = self.right_edge;
        if let Some(window) = ack.window {
            if ack.ack >= una {
                self.window = window;
                self.max_window = self.max_window.max(window);
            }
            self.right_edge = self.right_edge.max(ack.ack + window);
        }
        Progress {
            advanced,
            delivered: self.update_scoreboard(ack, advanced),
            captured: ack.captured,
            edge_advanced: if old_edge == NULL {
                0
            } else {
                self.right_edge - old_edge
            },
            reply: ack.reply,
        }
    }

    /// Updates the scoreboard; returns the number of bytes newly known to have arrived.
    #[inline]
    fn update_scoreboard(&mut self, ack: &Ack, advanced: i64) -> i64 {
        if self.sacked.is_empty() && self.retransmitted.is_empty() && ack.blocks[0] == (0, 0) {
            return advanced;
        }
        let before = self.sacked.bytes();
        if advanced > 0 {
            self.sacked.trim(ack.ack);
            self.retransmitted.trim(ack.ack);
        }
        for (start, end) in ack.blocks() {
            self.sacked.add(start.max(ack.ack), end);
            self.retransmitted.remove(start, end);
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
            captured: Captured::default(),
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
    fn a_smaller_window_does_not_move_the_right_edge_back() {
        let mut sender = sent(10);
        sender.receive(&ack(4000, 6000, &[]));
        assert_eq!(sender.in_flight(), 6000);
        // An edge of 100,000 was granted before; the smaller window must not take it back.
        assert_eq!(sender.usable_window(), Some(90_000));
        assert_eq!(sender.window(), Some(6000));
    }

    #[test]
    fn pipe_excludes_sacked_and_lost_and_includes_retransmitted() {
        let mut sender = sent(10);
        // The first of ten segments is presumed lost, because five above it are SACKed.
        sender.receive(&ack(0, 100_000, &[(1000, 6000)]));
        assert_eq!(sender.in_flight(), 10_000);
        assert_eq!(sender.pipe(1000), 10_000 - 5000 - 1000);
        sender.send(0, 1000, true);
        assert_eq!(sender.pipe(1000), 10_000 - 5000);
    }

    #[test]
    fn two_sacked_segments_above_a_hole_do_not_make_it_lost() {
        let mut sender = sent(10);
        sender.receive(&ack(0, 100_000, &[(1000, 3000)]));
        assert_eq!(sender.pipe(1000), 10_000 - 2000);
    }
}
