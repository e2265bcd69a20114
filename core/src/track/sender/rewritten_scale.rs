//! # Rewritten scale
//! Evidence that a middlebox between the tap and the sender reduced the window scale, or stripped the option. Under the
//! smaller shift the window is constant, and the bytes in flight stop at it in round trip after round trip.
//!
//! A window that grows proves nothing. Linux opens it to twice the bytes that arrived in a round trip
//! (`tcp_rcv_space_adjust`), so the bytes in flight stay at half of it.

/// Compares the most bytes in flight of every round trip with the windows under shifts below that of the handshake.
#[derive(Debug, Default)]
pub struct RewrittenScale {
    /// Sequence number whose acknowledgment ends the round trip.
    round_end: i64,
    /// Most bytes in flight in this round trip.
    flight: i64,
    /// Smallest and largest window field of this round trip.
    fields: Option<(u16, u16)>,
    /// Round trips compared.
    rounds: u32,
    /// Round trips that stopped at the window, by shift.
    stopped_rounds: Vec<u32>,
}

impl RewrittenScale {
    /// Minimum number of round trips; fewer may stop there by chance.
    const MIN_ROUNDS: u32 = 10;
    /// Minimum size of a window in segments. Small windows prove nothing: any number of bytes in flight is within a
    /// segment of one of them.
    const MIN_SEGMENTS: i64 = 32;
    /// Minimum size of a window in segments under shift 0. An option is stripped more often than reduced, and then
    /// there is only one window to compare with.
    const MIN_SEGMENTS_UNSCALED: i64 = 8;

    /// Processes a window field that reaches the sender.
    pub fn advertised(&mut self, field: u16) {
        let (smallest, largest) = self.fields.unwrap_or((field, field));
        self.fields = Some((smallest.min(field), largest.max(field)));
    }

    /// Processes new data up to `end`. `negotiated` is the shift of the handshake, `field` the last window field.
    pub fn sent(&mut self, end: i64, una: i64, mss: i64, negotiated: usize, field: u16) {
        if una >= self.round_end {
            self.end_round(mss, negotiated);
            (self.round_end, self.flight, self.fields) = (end, 0, Some((field, field)));
        }
        self.flight = self.flight.max(end - una);
    }

    /// Ends a round trip: counts the shifts under which the bytes in flight stopped at the window.
    #[inline(never)] // once a round trip
    fn end_round(&mut self, mss: i64, negotiated: usize) {
        let Some((smallest, largest)) = self.fields.filter(|_| self.flight > 0) else {
            return;
        };
        self.rounds += 1;
        self.stopped_rounds.resize(negotiated, 0);
        for (shift, stopped_rounds) in self.stopped_rounds.iter_mut().enumerate() {
            let (smallest, largest) = (i64::from(smallest) << shift, i64::from(largest) << shift);
            let segments = if shift == 0 {
                Self::MIN_SEGMENTS_UNSCALED
            } else {
                Self::MIN_SEGMENTS
            };
            let is_constant = largest - smallest < mss && smallest >= segments * mss;
            // Away from the sender, the time at which an acknowledgment arrived is known only to a clock tick.
            let beyond = (2 * mss).max(largest / 32);
            *stopped_rounds += u32::from(
                is_constant && (smallest - mss + 1..=largest + beyond).contains(&self.flight),
            );
        }
    }

    /// Did at least half of the round trips stop at the window of this shift?
    #[must_use]
    pub fn is_rewritten_to(&self, shift: usize) -> bool {
        self.stopped_rounds
            .get(shift)
            .is_some_and(|&stopped_rounds| {
                stopped_rounds >= Self::MIN_ROUNDS && stopped_rounds >= self.rounds / 2
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: i64 = 1000;

    /// Returns the evidence of round trips, each with its bytes in flight and its window field, after a handshake with
    /// a shift of 3.
    fn after(flights: impl IntoIterator<Item = (i64, u16)>) -> RewrittenScale {
        let mut evidence = RewrittenScale::default();
        let mut una = 0;
        for (flight, field) in flights {
            evidence.advertised(field);
            for end in (MSS..=flight).step_by(1000) {
                evidence.sent(una + end, una, MSS, 3, field);
            }
            una += flight;
        }
        evidence
    }

    #[test]
    fn a_constant_flight_at_a_smaller_window_reveals_its_scale() {
        let evidence = after([(80_000, 40_000); 30]);
        assert!(evidence.is_rewritten_to(1));
        assert!(!evidence.is_rewritten_to(0) && !evidence.is_rewritten_to(2));
    }

    #[test]
    fn a_flight_that_grows_past_a_smaller_window_proves_nothing() {
        let flights = (10..70).map(|segments| (segments * MSS, 20_000));
        assert!(!after(flights).is_rewritten_to(1));
    }

    #[test]
    fn a_window_that_grows_with_the_flight_proves_nothing() {
        let flights = (40..100).map(|segments| (segments * MSS, 500 * segments as u16));
        assert!(!after(flights).is_rewritten_to(1));
    }

    #[test]
    fn a_small_window_reveals_only_a_stripped_option() {
        assert!(!after([(20_000, 10_000); 30]).is_rewritten_to(1));
        assert!(after([(20_000, 20_000); 30]).is_rewritten_to(0));
    }
}
