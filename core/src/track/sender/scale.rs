//! # Scale
//! What a flow's own traffic says of the scale of its windows, where no handshake said it, or said another.
//!
//! A sender never exceeds the window that it believes in force: a shift under which it went far beyond is too small.
//! A receiver should not take back what it granted (RFC 9293 section 3.8.6): a shift under which the right edge moves
//! back is too large. And a sender that the window holds stays just below its edge.

use super::rewritten_scale::RewrittenScale;
use std::ops::{Index, IndexMut};

/// Shifts 0 to 14 (RFC 7323 section 2.3).
const SHIFTS: usize = 15;

/// What the traffic was under one shift.
#[derive(Debug, Clone, Copy)]
struct Shift {
    /// Right edge of the window.
    edge: i64,
    /// Far beyond the edge.
    exceeded: u32,
    /// Beyond it by more than an acknowledgment allows.
    passed: u32,
    retreats: u32,
    reached: u32,
}

impl Shift {
    /// Of a flow whose sender knows no window yet.
    const NEW: Self = Self {
        edge: i64::MIN,
        exceeded: 0,
        passed: 0,
        retreats: 0,
        reached: 0,
    };

    /// Does the window allow to send up to `end`? Counts if it is just reached.
    fn allows(&mut self, end: i64, una: i64, mss: i64) -> bool {
        let left = self.edge - end;
        self.reached += u32::from((0..mss).contains(&left) && self.edge - una >= 8 * mss);
        left >= 0
    }
}

/// Every shift; made with the first window, as many connections are a SYN and no more.
#[derive(Debug, Default)]
struct Shifts(Option<Box<[Shift; SHIFTS]>>);

impl Shifts {
    fn made(&mut self) -> &mut [Shift; SHIFTS] {
        self.0.get_or_insert_with(|| Box::new([Shift::NEW; SHIFTS]))
    }
}

impl Index<usize> for Shifts {
    type Output = Shift;

    fn index(&self, shift: usize) -> &Shift {
        self.0.as_ref().map_or(&Shift::NEW, |made| &made[shift])
    }
}

impl IndexMut<usize> for Shifts {
    fn index_mut(&mut self, shift: usize) -> &mut Shift {
        &mut self.made()[shift]
    }
}

/// Which shifts a flow's traffic allows.
#[derive(Debug)]
pub struct Scale {
    /// The shift that a handshake showed.
    known: usize,
    /// Every smaller one was exceeded.
    least: usize,
    /// No larger one was needed yet.
    most_tried: usize,
    shifts: Shifts,
    checked: u32,
    told: Option<(i64, u16)>,
    lowered: RewrittenScale,
    /// No acknowledgment since the capture lost data: it may have lost the one that allowed what follows, too.
    stale: bool,
}

impl Default for Scale {
    fn default() -> Self {
        Self {
            known: 0,
            least: 0,
            most_tried: 0,
            shifts: Shifts::default(),
            checked: 0,
            told: None,
            lowered: RewrittenScale::default(),
            stale: true,
        }
    }
}

impl Scale {
    /// A lost acknowledgment makes a window look exceeded, a reordered one makes it look taken back: not this often.
    const ENOUGH: u32 = 3;
    /// A window that is reached now and then may be reached by chance.
    const OFTEN: u32 = 10;

    /// The handshake showed this shift.
    pub fn set_negotiated(&mut self, shift: u8) {
        self.known = usize::from(shift).min(SHIFTS - 1);
        self.try_up_to(self.known);
    }

    /// Larger shifts are followed once they are needed. Under the true shift and all below it the edge never moves
    /// back, so the window last told gives it.
    fn try_up_to(&mut self, shift: usize) {
        while self.most_tried < shift {
            let edge = self.shifts[self.most_tried].edge;
            self.most_tried += 1;
            let told = self.told.map_or(edge, |(ack, field)| {
                ack + (i64::from(field) << self.most_tried)
            });
            let edge = edge.max(told);
            if edge > i64::MIN {
                self.shifts[self.most_tried].edge = edge;
            }
        }
    }

    /// From here on up shifts are tried.
    fn lowest(&self) -> usize {
        self.least.min(self.known)
    }

    /// The sender learns of a window: the field as written, `scaled` unless it is a SYN's.
    pub fn advertised(&mut self, ack: i64, field: u16, scaled: bool) {
        let window = i64::from(field);
        let lowest = self.lowest();
        let mut scaled_window = if scaled { window << lowest } else { window };
        for shift in &mut self.shifts.made()[lowest..=self.most_tried] {
            shift.edge = shift.edge.max(ack + scaled_window);
            scaled_window <<= u32::from(scaled);
        }
        self.stale = false;
        if !scaled || self.told.is_some_and(|(before, _)| ack < before) {
            return;
        }
        if let Some((before, was)) = self.told
            && ack > before
        {
            // A window rounded to its scale may seem to shrink by one.
            let fallen = i64::from(was) - window - 1;
            for shift in (self.known..SHIFTS).rev() {
                if fallen << shift <= ack - before {
                    break;
                }
                self.shifts[shift].retreats += 1;
            }
        }
        self.told = Some((ack, field));
        self.lowered.advertised(field);
    }

    /// Would sending up to `end` go beyond the window under every shift but those too small so far?
    #[must_use]
    pub fn forbids(&self, end: i64) -> bool {
        !self.stale && end > self.shifts[self.least.max(self.known)].edge
    }

    /// The sender, with `una` and `next` as before, sends new data up to `end`.
    pub fn sent(&mut self, start: i64, end: i64, una: i64, next: i64, mss: i64) {
        if start != next {
            self.stale |= start > next;
            return;
        }
        if self.stale {
            return;
        }
        self.checked += 1;
        if let Some((_, field)) = self.told.filter(|_| self.known > 0) {
            self.lowered.sent(end, una, mss, self.known, field);
        }
        let lowest = self.lowest();
        if !self.shifts.made()[lowest].allows(end, una, mss) {
            self.sent_beyond(end, una, mss);
        }
    }

    /// The sender goes beyond the window under the lowest shift.
    #[inline(never)] // not once the shift is known
    fn sent_beyond(&mut self, end: i64, una: i64, mss: i64) {
        for shift in self.lowest()..SHIFTS {
            if shift > self.most_tried {
                self.try_up_to(shift);
            }
            let shift = &mut self.shifts[shift];
            if shift.allows(end, una, mss) {
                break;
            }
            let (window, beyond) = (shift.edge - una, end - shift.edge);
            // What an acknowledgment or two allows, lost by the capture, is not far.
            shift.exceeded += u32::from(beyond > (2 * mss).max(window / 4));
            shift.passed += u32::from(beyond > (2 * mss).max(window / 32));
        }
        while self.least < SHIFTS - 1 && self.is_too_small(self.least) {
            self.least += 1;
        }
    }

    /// Did the sender go beyond the window, far or time and again?
    fn is_too_small(&self, shift: usize) -> bool {
        let Shift {
            exceeded, passed, ..
        } = self.shifts[shift];
        if shift < self.known {
            return exceeded > self.strays();
        }
        exceeded >= Self::ENOUGH || (passed >= Self::OFTEN && passed >= self.checked / 20)
    }

    /// How often a sender that keeps to its window may seem to go beyond it, seen from afar: hosts stall.
    fn strays(&self) -> u32 {
        Self::ENOUGH.max(self.checked / 200)
    }

    /// Smallest shift under which the sender kept to the window.
    #[must_use]
    pub fn min_shift(&self) -> u8 {
        self.least as u8
    }

    /// Largest shift under which the receiver never took window back; at least [`Self::min_shift`].
    #[must_use]
    pub fn max_shift(&self) -> u8 {
        let shrinks = |&shift: &usize| self.shifts[shift].retreats >= Self::ENOUGH;
        let most = (self.known..SHIFTS)
            .find(shrinks)
            .map_or(SHIFTS - 1, |shift| shift.saturating_sub(1));
        most.max(self.least) as u8
    }

    /// Did the sender stay just below the edge of the least window, time and again?
    #[must_use]
    pub fn is_reached(&self) -> bool {
        if self.least < self.known {
            return self.lowered.is_to(self.least);
        }
        let reached = self.shifts[self.least].reached;
        reached >= Self::OFTEN && reached >= self.checked / Self::OFTEN
    }

    /// Segments of new data that were held against the window.
    #[must_use]
    pub fn checked_segments(&self) -> u32 {
        self.checked
    }

    /// Of these, how many went far beyond it under the shift of the handshake.
    #[must_use]
    pub fn far_overruns(&self) -> u32 {
        self.shifts[self.known].exceeded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: i64 = 1000;

    /// A sender that keeps `window` bytes in flight against a field that never changes.
    fn held(field: u16, window: i64, known: u8) -> Scale {
        let mut scale = Scale::default();
        scale.set_negotiated(known);
        for ack in (0..100).map(|i| i * MSS) {
            scale.advertised(ack, field, true);
            let next = ack + window - MSS;
            scale.sent(next, next + MSS, ack, next, MSS);
        }
        scale
    }

    #[test]
    fn a_full_window_tells_its_scale() {
        let scale = held(1000, 64_000, 0);
        assert_eq!(scale.min_shift(), 6);
        assert!(scale.is_reached());
    }

    #[test]
    fn a_window_half_used_bounds_its_scale_from_below() {
        let scale = held(1000, 24_000, 0);
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
    fn a_scale_that_the_sender_does_not_keep_to_is_contradicted() {
        let scale = held(1000, 64_000, 2);
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
    fn a_window_passed_a_little_time_and_again_is_too_small() {
        // 32 kB at a shift of 5, of which the sender uses 36 kB: it only seemed to stop there.
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
    fn a_host_that_stalls_now_and_then_hides_no_scale_that_was_lowered() {
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
    fn bursts_that_stop_at_a_lower_edge_tell_of_it() {
        let told = |last: i64| {
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
        assert!(told(10));
        assert!(!told(7), "two segments below the edge and more");
        assert!(!told(13), "beyond it");
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
    fn a_syn_says_nothing_of_the_scale() {
        let mut scale = Scale::default();
        scale.advertised(1, 65_535, false);
        assert!(!scale.forbids(65_536));
        assert!(scale.forbids(65_537));
    }
}
