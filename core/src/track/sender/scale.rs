//! # Scale
//! Bounds on a flow's window scale from its own traffic, where the handshake was not captured or is contradicted.
//!
//! A sender never exceeds the window that it believes in force: a shift under which it went far beyond is too small. A
//! receiver should not shrink its window (RFC 9293 section 3.8.6): a shift under which the right edge moves back is too
//! large. A sender limited by the window stays just below its right edge.

use super::rewritten_scale::RewrittenScale;
use std::ops::{Index, IndexMut};

/// Number of shift counts: 0 to 14 (RFC 7323 section 2.3).
const SHIFTS: usize = 15;

/// The evidence about one shift.
#[derive(Debug, Clone, Copy)]
struct PerShift {
    /// Right edge of the window.
    edge: i64,
    /// Segments beyond the right edge by more than two MSS and a quarter of the window.
    far_overruns: u32,
    /// Segments beyond the right edge by more than two MSS and 1/32 of the window.
    overruns: u32,
    /// Times the right edge moved back.
    retreats: u32,
    /// Segments that ended less than one MSS below the right edge.
    reached: u32,
}

impl PerShift {
    /// The evidence before the sender knows a window.
    const NEW: Self = Self {
        edge: i64::MIN,
        far_overruns: 0,
        overruns: 0,
        retreats: 0,
        reached: 0,
    };

    /// Does the window allow data up to `end`? Counts the segment if it reaches the right edge.
    fn allows(&mut self, end: i64, una: i64, mss: i64) -> bool {
        let left = self.edge - end;
        if (0..mss).contains(&left) && self.edge - una >= 8 * mss {
            self.reached += 1;
        }
        left >= 0
    }
}

/// The evidence about every shift, allocated with the first window: many connections are only a SYN.
#[derive(Debug, Default)]
struct Shifts(Option<Box<[PerShift; SHIFTS]>>);

impl Shifts {
    fn allocated(&mut self) -> &mut [PerShift; SHIFTS] {
        self.0
            .get_or_insert_with(|| Box::new([PerShift::NEW; SHIFTS]))
    }
}

impl Index<usize> for Shifts {
    type Output = PerShift;

    fn index(&self, shift: usize) -> &PerShift {
        self.0.as_ref().map_or(&PerShift::NEW, |made| &made[shift])
    }
}

impl IndexMut<usize> for Shifts {
    fn index_mut(&mut self, shift: usize) -> &mut PerShift {
        &mut self.allocated()[shift]
    }
}

/// The bounds on the window scale, from a flow's traffic.
#[derive(Debug)]
pub struct Scale {
    /// Shift from the handshake; 0 without one.
    negotiated: usize,
    /// The lower bound: the sender exceeded the window under every smaller shift.
    min_shift: usize,
    /// Largest shift followed; larger ones were not needed so far.
    max_followed: usize,
    shifts: Shifts,
    /// Segments of new data that were compared with the window.
    checked_segments: u32,
    /// Acknowledgment number and window field of the last scaled window.
    last_advertised: Option<(i64, u16)>,
    /// Evidence that a middlebox reduced the scale.
    rewritten: RewrittenScale,
    /// True before the first acknowledgment, and from data that the capture lost until the next one. The capture may also
    /// have lost the acknowledgment that allowed later data.
    stale: bool,
}

impl Default for Scale {
    fn default() -> Self {
        Self {
            negotiated: 0,
            min_shift: 0,
            max_followed: 0,
            shifts: Shifts::default(),
            checked_segments: 0,
            last_advertised: None,
            rewritten: RewrittenScale::default(),
            stale: true,
        }
    }
}

impl Scale {
    /// Minimum number of contradictions. A lost acknowledgment makes a window look exceeded, and a reordered one makes
    /// it look smaller, but not so often.
    const MIN_CONTRADICTIONS: u32 = 3;
    /// Minimum number of segments that reach or slightly exceed the right edge; fewer may do so by chance.
    const MIN_REACHED: u32 = 10;

    /// Sets the shift from the handshake.
    pub fn set_negotiated(&mut self, shift: u8) {
        self.negotiated = usize::from(shift).min(SHIFTS - 1);
        self.follow_up_to(self.negotiated);
    }

    /// Follows shifts up to `shift` from now on. Under the true shift and all smaller ones the right edge never moves
    /// back, so the last window gives it.
    fn follow_up_to(&mut self, shift: usize) {
        while self.max_followed < shift {
            let edge = self.shifts[self.max_followed].edge;
            self.max_followed += 1;
            let last_edge = self.last_advertised.map_or(edge, |(ack, field)| {
                ack + (i64::from(field) << self.max_followed)
            });
            let edge = edge.max(last_edge);
            if edge > i64::MIN {
                self.shifts[self.max_followed].edge = edge;
            }
        }
    }

    /// Returns the smallest shift that is followed.
    fn lowest_followed(&self) -> usize {
        self.min_shift.min(self.negotiated)
    }

    /// Processes a window that reaches the sender: the field of the header, `scaled` unless it is from a SYN.
    pub fn advertised(&mut self, ack: i64, field: u16, scaled: bool) {
        let window = i64::from(field);
        let lowest = self.lowest_followed();
        let mut scaled_window = if scaled { window << lowest } else { window };
        for shift in &mut self.shifts.allocated()[lowest..=self.max_followed] {
            shift.edge = shift.edge.max(ack + scaled_window);
            scaled_window <<= u32::from(scaled);
        }
        self.stale = false;
        if !scaled || self.last_advertised.is_some_and(|(before, _)| ack < before) {
            return;
        }
        if let Some((before, was)) = self.last_advertised
            && ack > before
        {
            // A window that is rounded down to its scale may seem to shrink by one unit.
            let fallen = i64::from(was) - window - 1;
            for shift in (self.negotiated..SHIFTS).rev() {
                if fallen << shift <= ack - before {
                    break;
                }
                self.shifts[shift].retreats += 1;
            }
        }
        self.last_advertised = Some((ack, field));
        self.rewritten.advertised(field);
    }

    /// Does data up to `end` exceed the window under the smallest shift that is neither contradicted nor below the
    /// negotiated one?
    #[must_use]
    pub fn forbids(&self, end: i64) -> bool {
        !self.stale && end > self.shifts[self.min_shift.max(self.negotiated)].edge
    }

    /// Compares new data `start..end` with the window. `una` and `snd_nxt` are SND.UNA and SND.NXT before it.
    pub fn sent(&mut self, start: i64, end: i64, una: i64, snd_nxt: i64, mss: i64) {
        if start != snd_nxt {
            self.stale |= start > snd_nxt;
            return;
        }
        if self.stale {
            return;
        }
        self.checked_segments += 1;
        if self.negotiated > 0
            && let Some((_, field)) = self.last_advertised
        {
            self.rewritten.sent(end, una, mss, self.negotiated, field);
        }
        let lowest = self.lowest_followed();
        if !self.shifts.allocated()[lowest].allows(end, una, mss) {
            self.find_contradicted(end, una, mss);
        }
    }

    /// Finds the shifts that a segment contradicts. The segment lies beyond the window under the lowest shift.
    #[inline(never)] // rare once the shift is known
    fn find_contradicted(&mut self, end: i64, una: i64, mss: i64) {
        for shift in self.lowest_followed()..SHIFTS {
            if shift > self.max_followed {
                self.follow_up_to(shift);
            }
            let shift = &mut self.shifts[shift];
            if shift.allows(end, una, mss) {
                break;
            }
            let (window, beyond) = (shift.edge - una, end - shift.edge);
            // A smaller overrun may come from one or two acknowledgments that the capture lost.
            shift.far_overruns += u32::from(beyond > (2 * mss).max(window / 4));
            shift.overruns += u32::from(beyond > (2 * mss).max(window / 32));
        }
        while self.min_shift < SHIFTS - 1 && self.is_too_small(self.min_shift) {
            self.min_shift += 1;
        }
    }

    /// Did the sender exceed the window under this shift, either far or often?
    fn is_too_small(&self, shift: usize) -> bool {
        let PerShift {
            far_overruns,
            overruns,
            ..
        } = self.shifts[shift];
        if shift < self.negotiated {
            return far_overruns > self.tolerated_overruns();
        }
        far_overruns >= Self::MIN_CONTRADICTIONS
            || (overruns >= Self::MIN_REACHED && overruns >= self.checked_segments / 20)
    }

    /// Returns how many far overruns of a smaller window are tolerated. Away from the sender, a host that stalls seems to
    /// exceed its window.
    fn tolerated_overruns(&self) -> u32 {
        Self::MIN_CONTRADICTIONS.max(self.checked_segments / 200)
    }

    /// Returns the smallest shift under which the sender kept to the window.
    #[must_use]
    pub fn min_shift(&self) -> u8 {
        self.min_shift as u8
    }

    /// Returns the largest shift under which the receiver never shrank the window; at least [`Self::min_shift`].
    #[must_use]
    pub fn max_shift(&self) -> u8 {
        let shrinks = |&shift: &usize| self.shifts[shift].retreats >= Self::MIN_CONTRADICTIONS;
        let most = (self.negotiated..SHIFTS)
            .find(shrinks)
            .map_or(SHIFTS - 1, |shift| shift.saturating_sub(1));
        most.max(self.min_shift) as u8
    }

    /// Did the sender often stay just below the right edge of the window under the smallest shift?
    #[must_use]
    pub fn is_reached(&self) -> bool {
        if self.min_shift < self.negotiated {
            return self.rewritten.is_rewritten_to(self.min_shift);
        }
        let reached = self.shifts[self.min_shift].reached;
        reached >= Self::MIN_REACHED && reached >= self.checked_segments / Self::MIN_REACHED
    }

    /// Returns the number of segments of new data that were compared with the window.
    #[must_use]
    pub fn checked_segments(&self) -> u32 {
        self.checked_segments
    }

    /// Returns the number of segments far beyond the window under the shift of the handshake.
    #[must_use]
    pub fn far_overruns(&self) -> u32 {
        self.shifts[self.negotiated].far_overruns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: i64 = 1000;

    /// Returns the bounds for a sender that keeps `window` bytes in flight while the window field is constant.
    fn sender_at_window(field: u16, window: i64, negotiated: u8) -> Scale {
        let mut scale = Scale::default();
        scale.set_negotiated(negotiated);
        for ack in (0..100).map(|i| i * MSS) {
            scale.advertised(ack, field, true);
            let next = ack + window - MSS;
            scale.sent(next, next + MSS, ack, next, MSS);
        }
        scale
    }

    #[test]
    fn a_full_window_reveals_its_scale() {
        let scale = sender_at_window(1000, 64_000, 0);
        assert_eq!(scale.min_shift(), 6);
        assert!(scale.is_reached());
    }

    #[test]
    fn a_window_half_used_bounds_its_scale_from_below() {
        let scale = sender_at_window(1000, 24_000, 0);
        assert_eq!(scale.min_shift(), 5);
        assert!(!scale.is_reached());
        assert_eq!(scale.max_shift(), 14);
    }

    #[test]
    fn a_window_that_closes_as_data_arrives_bounds_its_scale_from_above() {
        let mut scale = Scale::default();
        for i in 0..10 {
            scale.advertised(i * 6400, 1000 - 100 * i as u16, true);
        }
        assert_eq!((scale.min_shift(), scale.max_shift()), (0, 6));
    }

    #[test]
    fn a_scale_that_the_sender_exceeds_is_contradicted() {
        let scale = sender_at_window(1000, 64_000, 2);
        assert_eq!(
            (
                scale.min_shift(),
                scale.far_overruns(),
                scale.checked_segments()
            ),
            (6, 100, 100)
        );
    }

    #[test]
    fn a_window_exceeded_slightly_but_often_is_too_small() {
        // The window is 32 kB under a shift of 5, but the sender uses 36 kB: it only seemed to stop there.
        let mut scale = Scale::default();
        for ack in (0..100).map(|i| i * MSS) {
            scale.advertised(ack, 1000, true);
            for next in [31_000, 35_000].map(|flight| ack + flight) {
                scale.sent(next, next + MSS, ack, next, MSS);
            }
        }
        assert_eq!(scale.min_shift(), 6);
        assert!(!scale.is_reached());
    }

    #[test]
    fn occasional_stalls_do_not_hide_a_rewritten_scale() {
        let mut scale = Scale::default();
        scale.set_negotiated(2);
        for ack in (0..1000).map(|i| i * MSS) {
            scale.advertised(ack, 10_000, true);
            let beyond = if ack % 400_000 == 0 { 5000 } else { 0 };
            let next = ack + 9000 + beyond;
            scale.sent(next, next + MSS, ack, next, MSS);
        }
        assert_eq!(scale.min_shift(), 0);
        assert!(scale.is_reached());
    }

    #[test]
    fn bursts_that_stop_at_a_smaller_window_reveal_a_rewritten_scale() {
        let is_found = |last: i64| {
            let mut scale = Scale::default();
            scale.set_negotiated(2);
            for burst in 0..100 {
                let ack = burst * 10_000;
                scale.advertised(ack, 10_000, true);
                for next in (0..last).map(|i| ack + 1000 * i) {
                    scale.sent(next, next + 1000, ack, next, 1000);
                }
            }
            scale.min_shift() == 0 && scale.is_reached()
        };
        assert!(is_found(10));
        assert!(!is_found(7), "stops three segments below the edge");
        assert!(!is_found(13), "goes beyond the edge");
    }

    #[test]
    fn a_lost_acknowledgment_contradicts_nothing() {
        let mut scale = Scale::default();
        for ack in (0..100).map(|i| i * MSS) {
            if ack % 7000 != 0 {
                scale.advertised(ack, 10_000, true);
            }
            let next = ack + 9000;
            scale.sent(next, next + MSS, ack, next, MSS);
        }
        assert_eq!((scale.min_shift(), scale.far_overruns()), (0, 0));
    }

    #[test]
    fn a_hole_in_the_capture_contradicts_nothing() {
        let mut scale = Scale::default();
        scale.advertised(0, 10_000, true);
        for start in (50_000..60_000).step_by(1000) {
            let next = if start == 50_000 { 10_000 } else { start };
            scale.sent(start, start + MSS, 0, next, MSS);
        }
        assert_eq!((scale.min_shift(), scale.checked_segments()), (0, 0));
    }

    #[test]
    fn the_window_of_a_syn_is_not_scaled() {
        let mut scale = Scale::default();
        scale.advertised(1, 65_535, false);
        assert!(!scale.forbids(65_536));
        assert!(scale.forbids(65_537));
    }
}
