//! # Rewritten scale
//! A window scale that was made smaller, or taken out, between the tap and the sender: under the smaller shift the
//! window stands still, and the sender stops at it, turn after turn of what is in flight.
//!
//! A window that grows proves nothing: Linux opens it to twice of what arrived in a round trip (`tcp_rcv_space_adjust`),
//! so that what is in flight keeps to half of it by itself.

/// What was in flight at most, turn by turn, beside the windows of smaller shifts than the handshake's.
#[derive(Debug, Default)]
pub struct RewrittenScale {
    /// The turn ends as this is acknowledged.
    until: i64,
    flight: i64,
    /// Least and most of the window fields of this turn.
    fields: Option<(u16, u16)>,
    turns: u32,
    /// Turns that stopped at the window, by shift.
    stopped: Vec<u32>,
}

impl RewrittenScale {
    /// Fewer turns than these may stop there by chance.
    const MANY: u32 = 10;
    /// A flight of any size is within a segment of some window where windows are small: of fewer segments than these
    /// they tell nothing.
    const LEAST_SEGMENTS: i64 = 32;
    /// Where the option was taken out, which happens more often, there is only one window to be near.
    const LEAST_SEGMENTS_UNSCALED: i64 = 8;

    /// The sender learns of a window.
    pub fn advertised(&mut self, field: u16) {
        let (least, most) = self.fields.unwrap_or((field, field));
        self.fields = Some((least.min(field), most.max(field)));
    }

    /// The sender has new data up to `end` in flight; `known` is the shift of the handshake, `field` the last window's.
    pub fn sent(&mut self, end: i64, una: i64, mss: i64, known: usize, field: u16) {
        if una >= self.until {
            self.turn(mss, known);
            (self.until, self.flight, self.fields) = (end, 0, Some((field, field)));
        }
        self.flight = self.flight.max(end - una);
    }

    fn turn(&mut self, mss: i64, known: usize) {
        let Some((least, most)) = self.fields.filter(|_| self.flight > 0) else {
            return;
        };
        self.turns += 1;
        self.stopped.resize(known, 0);
        for (shift, stopped) in self.stopped.iter_mut().enumerate() {
            let (least, most) = (i64::from(least) << shift, i64::from(most) << shift);
            let segments = if shift == 0 {
                Self::LEAST_SEGMENTS_UNSCALED
            } else {
                Self::LEAST_SEGMENTS
            };
            let stands = most - least < mss && least >= segments * mss;
            // Away from the sender its acknowledgments are known to a tick.
            let beyond = (2 * mss).max(most / 32);
            *stopped +=
                u32::from(stands && (least - mss + 1..=most + beyond).contains(&self.flight));
        }
    }

    /// Did the sender stop at the window of this shift, in most turns?
    #[must_use]
    pub fn is_to(&self, shift: usize) -> bool {
        self.stopped
            .get(shift)
            .is_some_and(|&stopped| stopped >= Self::MANY && stopped >= self.turns / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: i64 = 1000;

    /// Flights of a sender, each with the window field that it met, under a scale of 3.
    fn after(flights: impl IntoIterator<Item = (i64, u16)>) -> RewrittenScale {
        let mut lowered = RewrittenScale::default();
        let mut una = 0;
        for (flight, field) in flights {
            lowered.advertised(field);
            for end in (MSS..=flight).step_by(1000) {
                lowered.sent(una + end, una, MSS, 3, field);
            }
            una += flight;
        }
        lowered
    }

    #[test]
    fn a_flight_that_stands_at_a_smaller_window_tells_of_its_scale() {
        let stood = after([(80_000, 40_000); 30]);
        assert!(stood.is_to(1));
        assert!(!stood.is_to(0) && !stood.is_to(2));
    }

    #[test]
    fn a_flight_that_grows_past_it_tells_nothing() {
        let flights = (10..70).map(|segments| (segments * MSS, 20_000));
        assert!(!after(flights).is_to(1));
    }

    #[test]
    fn a_window_that_grows_with_the_flight_tells_nothing() {
        let flights = (40..100).map(|segments| (segments * MSS, 500 * segments as u16));
        assert!(!after(flights).is_to(1));
    }

    #[test]
    fn a_small_window_tells_only_that_the_option_was_taken_out() {
        assert!(!after([(20_000, 10_000); 30]).is_to(1));
        assert!(after([(20_000, 20_000); 30]).is_to(0));
    }
}
