//! # Delay to sender
//! The delay between the tap and the sender, and so the time at which the sender received each acknowledgment.

use super::Ack;
use crate::track::null::{NULL, known, least};
use std::collections::VecDeque;

/// An acknowledgment in transit from the tap to the sender.
#[derive(Debug)]
struct InTransit {
    /// When it passed the tap, ns.
    tap_ns: i64,
    /// Its TSval; `None` without the option, and where the sender need not echo it.
    tsval: Option<u32>,
    /// Its own sequence number, relative.
    sequence: i64,
    ack: Ack,
}

impl InTransit {
    /// Did the receiver send it after an acknowledgment with this TSval? TSvals never decrease (RFC 7323 section 4.1).
    /// False without timestamps.
    fn is_newer_than(&self, tsval: Option<u32>) -> bool {
        let ticks = (self.tsval.zip(tsval)).map_or(0, |(own, other)| own.wrapping_sub(other));
        (1..1 << 31).contains(&ticks)
    }
}

/// The path from the tap to the sender and back: its delay, and the acknowledgments in transit on it.
///
/// The handshake measures the delay from SYN-ACK to ACK, or from SYN to SYN-ACK where the server sends. Timestamps
/// measure it from an acknowledgment to the first segment that echoes its TSval (RFC 7323 section 3; as pping
/// measures). They follow a queue between sender and tap. Without both, data of the other direction measure it.
///
/// Unknown times are [`NULL`].
#[derive(Debug)]
pub struct TapToSender {
    /// TSvals whose echo is awaited, and when the first acknowledgment with each passed the tap, ns.
    awaited: VecDeque<(u32, i64)>,
    /// Acknowledgments that the sender may not have received yet, in the order in which the receiver sent them: by TSval,
    /// else by capture.
    in_transit: VecDeque<InTransit>,
    /// TSval of the last acknowledgment.
    last_tsval: Option<u32>,
    /// Is the tap at the sender? `None` while unknown.
    at_sender: Option<bool>,
    /// Round trip from the tap to the sender in the handshake, ns.
    handshake_ns: i64,
    /// Number of round trips in a row that were shorter than half of `handshake_ns`.
    sooner: u8,
    /// Longest of them, ns.
    sooner_max_ns: i64,
    /// Minimum round trip that data of the other direction measured, ns.
    other_rtt_ns: i64,
    /// Minimum round trip from the tap to the sender that such data measured, by acknowledgments that were not delayed, ns.
    /// It is [`NULL`] with a handshake, and with timestamps.
    prompt_rtt_ns: i64,
    /// Minimum round trip from the tap to the receiver, ns.
    receiver_rtt_ns: i64,
    /// Minimum delay measured by timestamps, ns.
    measured_min_ns: i64,
    /// When the last acknowledgment that reached the sender had passed the tap, ns.
    delivered_ns: i64,
    /// Delays measured by timestamps; `None` before the first, and where the handshake places the tap at the sender.
    recent_delays: Option<Box<RecentDelays>>,
}

/// The last delays that were measured. A sender leaves some acknowledgments waiting, so the median is the current delay.
#[derive(Debug, Default)]
pub struct RecentDelays {
    /// A ring buffer of delays, ns.
    recent: [i64; RecentDelays::RECENT],
    /// Number of delays so far.
    count: usize,
    /// Median of the ring buffer, ns.
    median_ns: i64,
    /// Minimum of the medians so far, ns; `None` until the ring buffer is full. One echo alone may seem early after its
    /// host stalled.
    min_median_ns: Option<i64>,
}

impl RecentDelays {
    /// Number of delays whose median is the current delay; more of them would lag behind a growing queue.
    const RECENT: usize = 7;

    /// Adds a delay, ns.
    pub fn add(&mut self, delay_ns: i64) {
        self.recent[self.count % Self::RECENT] = delay_ns;
        self.count += 1;
        let mut sorted = self.recent;
        let sorted = &mut sorted[..self.count.min(Self::RECENT)];
        sorted.sort_unstable();
        self.median_ns = sorted[(sorted.len() - 1) / 2];
        if self.count >= Self::RECENT {
            let min_ns = self.min_median_ns.unwrap_or(self.median_ns);
            self.min_median_ns = Some(min_ns.min(self.median_ns));
        }
    }

    /// Returns the median, ns; `None` before the first delay.
    #[must_use]
    pub fn median_ns(&self) -> Option<i64> {
        (self.count > 0).then_some(self.median_ns)
    }
}

impl Default for TapToSender {
    fn default() -> Self {
        Self {
            awaited: VecDeque::new(),
            in_transit: VecDeque::new(),
            last_tsval: None,
            at_sender: None,
            handshake_ns: NULL,
            sooner: 0,
            sooner_max_ns: NULL,
            other_rtt_ns: NULL,
            prompt_rtt_ns: NULL,
            receiver_rtt_ns: NULL,
            measured_min_ns: NULL,
            delivered_ns: NULL,
            recent_delays: None,
        }
    }
}

impl TapToSender {
    /// Maximum number of TSvals whose echo is awaited: a long path holds so many at a tick per millisecond.
    const MAX_AWAITED: usize = 1024;
    /// The tap is at the sender if its delay is less than this share of the round trip. The error is small for rules,
    /// which look at tenths of a window.
    const AT_SENDER_SHARE: f64 = 0.05;
    /// The tap is on the sender's host if its delay is less than this, ns, however short the path.
    const SAME_HOST_NS: i64 = 200_000;
    /// A shorter round trip does not show where the tap is, ns.
    const UNPLACEABLE_RTT_NS: i64 = 100_000;
    /// Maximum wait for an echo, ns. A sender that is silent for longer after an acknowledgment was due has received
    /// it.
    const MAX_ECHO_WAIT_NS: i64 = 1_000_000_000;
    /// Number of round trips in a row that show that the handshake was slow.
    const SOONER: u8 = 3;
    /// A stand-in acknowledges data in less than the handshake's delay over this, since it asks nobody then; a choice.
    const SMALL_PART: i64 = 8;
    /// With nothing in flight a sender meets no queue that it made. It pauses if its answer takes more than this many times
    /// the least delay: the queues of others seldom make a delay so much longer.
    const PAUSE: i64 = 3;
    /// Maximum number of acknowledgments in transit: some may never be echoed.
    const MAX_IN_TRANSIT: usize = 1 << 16;

    /// Sets the round trips of the handshake: from the tap to the sender, and to the receiver, ns.
    pub fn handshake(&mut self, sender_ns: i64, receiver_rtt_ns: i64) {
        self.handshake_ns = sender_ns.max(0);
        self.receiver_rtt_ns = receiver_rtt_ns.max(0);
        self.place_tap();
    }

    /// Adds a round trip from the tap to the receiver, ns, where the handshake was not captured. Returns true if it is
    /// the smallest so far.
    pub fn add_receiver_rtt(&mut self, rtt_ns: i64) -> bool {
        let first = self.receiver_rtt_ns == NULL;
        let is_smallest = self.handshake_ns == NULL && (first || rtt_ns < self.receiver_rtt_ns);
        if is_smallest {
            self.receiver_rtt_ns = rtt_ns;
            self.place_tap();
        }
        is_smallest
    }

    /// Adds a round trip, ns, that data of the other direction measured: the way to the sender and back is a part of it.
    ///
    /// A host that asks another one before it answers a SYN, as a proxy does, makes the handshake slow. So a few round
    /// trips in a row of less than half of its delay replace that. A single one may be an acknowledgment of a middlebox. If
    /// the sender is one, as `stand_in` has it, one that is a small part of the delay suffices.
    #[inline]
    pub fn add_other_rtt(&mut self, rtt_ns: i64, stand_in: impl FnOnce() -> bool) {
        self.other_rtt_ns = least(self.other_rtt_ns, rtt_ns);
        if rtt_ns < self.handshake_ns >> 1 {
            let suffices = self.is_far_sooner(rtt_ns) && stand_in();
            self.add_sooner_rtt(rtt_ns, suffices);
        } else if self.sooner > 0 {
            self.sooner = 0;
        }
    }

    /// Is a round trip, ns, a small part of the handshake's delay?
    #[inline]
    #[must_use]
    pub fn is_far_sooner(&self, rtt_ns: i64) -> bool {
        rtt_ns < self.handshake_ns / Self::SMALL_PART
    }

    /// Adds a round trip of less than half of the handshake's delay, ns.
    #[cold]
    fn add_sooner_rtt(&mut self, rtt_ns: i64, suffices: bool) {
        self.sooner += 1;
        self.sooner_max_ns = if self.sooner == 1 {
            rtt_ns
        } else {
            self.sooner_max_ns.max(rtt_ns)
        };
        if suffices || self.sooner == Self::SOONER {
            self.handshake_ns = self.sooner_max_ns;
            self.sooner = 0;
        }
    }

    /// Adds a round trip from the tap to the sender, ns, that data of the other direction measured by an acknowledgment that
    /// was not delayed. Without a handshake and timestamps, nothing else shows the delay. Returns true if it is the
    /// smallest so far.
    pub fn add_prompt_rtt(&mut self, rtt_ns: i64) -> bool {
        let first = self.prompt_rtt_ns == NULL;
        let is_smallest = self.handshake_ns == NULL
            && self.last_tsval.is_none()
            && (first || rtt_ns < self.prompt_rtt_ns);
        if is_smallest {
            self.prompt_rtt_ns = rtt_ns;
            self.place_tap();
        }
        is_smallest
    }

    /// Decides whether the tap is at the sender, once the round trips to both ends are known.
    fn place_tap(&mut self) {
        let sender = known(self.handshake_ns).or(known(self.measured_min_ns));
        let Some(receiver) = known(self.receiver_rtt_ns) else {
            return;
        };
        let Some(sender) = sender else {
            self.at_sender = self.is_at_receiver(receiver).then_some(false);
            return;
        };
        let total = sender.saturating_add(receiver);
        #[allow(clippy::cast_precision_loss)]
        let near = (sender as f64) < Self::AT_SENDER_SHARE * total as f64
            || (sender < Self::SAME_HOST_NS && sender < receiver);
        self.at_sender = Some(near || total < Self::UNPLACEABLE_RTT_NS);
    }

    /// Do data of the other direction show that the tap is at the receiver? An end that is slow to acknowledge seems far
    /// away, so they show no other place.
    #[allow(clippy::cast_precision_loss)]
    fn is_at_receiver(&self, receiver_ns: i64) -> bool {
        known(self.prompt_rtt_ns).is_some_and(|sender_ns| {
            let total_ns = sender_ns.saturating_add(receiver_ns);
            total_ns >= Self::UNPLACEABLE_RTT_NS
                && (receiver_ns as f64) < Self::AT_SENDER_SHARE * total_ns as f64
        })
    }

    /// Did the handshake measure the path?
    #[must_use]
    pub fn is_measured_by_handshake(&self) -> bool {
        self.handshake_ns != NULL
    }

    /// Is the tap at the sender, where packets pass when the sender sends or receives them? True while unknown.
    #[must_use]
    pub fn tap_at_sender(&self) -> bool {
        self.at_sender != Some(false)
    }

    /// Is an echo awaited that will show where the tap is? Until then, packets at the tap show no round trip.
    #[must_use]
    pub fn is_vantage_pending(&self, now_ns: i64) -> bool {
        self.at_sender.is_none()
            && self
                .awaited
                .front()
                .is_some_and(|(_, tap_ns)| now_ns - tap_ns < Self::MAX_ECHO_WAIT_NS)
    }

    /// Returns the minimum round trip from the tap to the sender and back, ns; `None` while unknown.
    #[must_use]
    pub fn rtt_min_ns(&self) -> Option<i64> {
        if self.measured_min_ns == NULL {
            let prompt_ns = known(self.prompt_rtt_ns).filter(|_| !self.tap_at_sender());
            return known(self.handshake_ns).or(prompt_ns);
        }
        Some(least(self.handshake_ns, self.measured_min_ns))
    }

    /// Returns the minimum round trip from the tap to the receiver and back, ns; `None` while unknown.
    #[must_use]
    pub fn receiver_rtt_min_ns(&self) -> Option<i64> {
        known(self.receiver_rtt_ns)
    }

    /// Returns the current round trip from the tap to the sender and back, ns; 0 at the sender.
    #[must_use]
    pub fn delay_ns(&self) -> i64 {
        if self.tap_at_sender() {
            return 0;
        }
        match &self.recent_delays {
            Some(delays) => delays.median_ns,
            None => known(self.handshake_ns)
                .or(known(self.prompt_rtt_ns))
                .unwrap_or_default(),
        }
    }

    /// Processes an acknowledgment with relative sequence number `sequence` that passes the tap on its way to the sender.
    /// Returns true if it is in transit then: not where the tap is at the sender.
    pub fn enqueue(&mut self, ack: &Ack, tsval: Option<u32>, sequence: i64, tap_ns: i64) -> bool {
        // The handshake measures the delay of a SYN. The first data may echo its TSval at any later time.
        if let Some(tsval) = tsval.filter(|_| ack.scaled) {
            if self.last_tsval != Some(tsval) {
                if self.awaited.len() == Self::MAX_AWAITED {
                    self.awaited.pop_front();
                }
                self.awaited.push_back((tsval, tap_ns));
            }
            self.last_tsval = Some(tsval);
        }
        if self.tap_at_sender() {
            return false;
        }
        if self.in_transit.len() >= Self::MAX_IN_TRANSIT {
            self.in_transit.pop_front();
        }
        let next = InTransit {
            tap_ns,
            tsval,
            sequence,
            ack: *ack,
        };
        if (self.in_transit.back()).is_some_and(|last| last.is_newer_than(tsval)) {
            self.insert_overtaken(next);
        } else {
            self.in_transit.push_back(next);
        }
        true
    }

    /// Inserts an acknowledgment that newer ones overtook before the tap. In front of it, a newer one would hold it back
    /// until its own echo.
    #[cold]
    fn insert_overtaken(&mut self, overtaken: InTransit) {
        let newer = self.in_transit.iter().rev();
        let newer = newer
            .take_while(|next| next.is_newer_than(overtaken.tsval))
            .count();
        self.in_transit
            .insert(self.in_transit.len() - newer, overtaken);
    }

    /// Does this TSecr echo an awaited TSval, or a later one?
    #[must_use]
    #[inline]
    pub fn awaits_tsecr(&self, tsecr: u32) -> bool {
        (self.awaited.front()).is_some_and(|&(tsval, _)| tsecr.wrapping_sub(tsval) < 1 << 31)
    }

    /// Processes the TSecr of a segment of the sender: the first one to echo a TSval measures the delay. `idle` is whether
    /// the sender had nothing in flight. Returns true if the delay was added to the recent ones.
    pub fn measure_tsecr(&mut self, tsecr: u32, idle: bool, time_ns: i64) -> bool {
        let mut measured = false;
        while self.awaits_tsecr(tsecr)
            && let Some((tsval, tap_ns)) = self.awaited.pop_front()
        {
            measured |= tsecr == tsval && self.add_delay((time_ns - tap_ns).max(0), idle);
        }
        measured
    }

    /// Adds a measured delay, ns; returns false where the handshake places the tap at the sender.
    fn add_delay(&mut self, delay_ns: i64, idle: bool) -> bool {
        if idle && self.is_pause(delay_ns) {
            return false; // the program had nothing to send: its pause is no delay
        }
        self.measured_min_ns = least(self.measured_min_ns, delay_ns);
        if self.handshake_ns != NULL && self.tap_at_sender() {
            return false; // the tap stays at the sender: there is no delay to follow
        }
        self.add_recent(delay_ns);
        true
    }

    /// Is this the pause of a sender with nothing in flight, not the delay of its way?
    fn is_pause(&self, delay_ns: i64) -> bool {
        let shortest_ns = self
            .rtt_min_ns()
            .into_iter()
            .chain(known(self.other_rtt_ns))
            .min();
        shortest_ns.map_or(delay_ns > Self::MAX_ECHO_WAIT_NS, |ns| {
            delay_ns / Self::PAUSE > ns
        })
    }

    /// Adds a measured delay, ns, to the recent ones.
    #[inline(never)] // not needed where the tap is at the sender
    fn add_recent(&mut self, delay_ns: i64) {
        self.recent_delays.get_or_insert_default().add(delay_ns);
        if self.handshake_ns == NULL {
            self.place_tap();
        }
    }

    /// Is any acknowledgment in transit to the sender?
    #[must_use]
    #[inline]
    pub fn has_acks_in_transit(&self) -> bool {
        !self.in_transit.is_empty()
    }

    /// Processes an acknowledgment number `acked` of the sender, which acknowledged `una` before, both relative.
    ///
    /// A host echoes no TSval of a segment that begins above its own last acknowledgment number (RFC 7323 section 4.3,
    /// rule 2). So it need not echo the acknowledgments that may have reached it before it sent this number.
    #[inline(never)] // not needed where the tap is at the sender
    pub fn sender_acknowledged(&mut self, una: i64, acked: i64, now_ns: i64) {
        let sent_ns = now_ns.saturating_sub(self.rtt_min_ns().unwrap_or(i64::MAX));
        let first = self.in_transit.partition_point(|next| next.sequence <= una);
        let unechoed = self.in_transit.iter_mut().skip(first);
        for next in unechoed.take_while(|next| next.sequence <= acked && next.tap_ns <= sent_ns) {
            next.tsval = None;
        }
    }

    /// Returns the next acknowledgment that has reached the sender by `now_ns`, with its time of arrival in ns.
    ///
    /// `tsecr` is the TSecr of a segment that passes now: it shows exactly which acknowledgments its sender had. The
    /// clock decides among acknowledgments with that TSval, and for those without one.
    #[inline]
    pub fn next_arrived(&mut self, now_ns: i64, tsecr: Option<u32>) -> Option<(i64, Ack)> {
        let due_ns = self.due_ns(now_ns, tsecr)?;
        let first = self.in_transit.pop_front()?;
        self.delivered_ns = first.tap_ns;
        Some((due_ns, first.ack))
    }

    /// Returns when the next acknowledgment reached the sender, ns; `None` if it has not by `now_ns`.
    fn due_ns(&self, now_ns: i64, tsecr: Option<u32>) -> Option<i64> {
        let first = self.in_transit.front()?;
        let due_ns = first.tap_ns.saturating_add(self.delay_ns());
        let arrived = match (first.tsval, tsecr) {
            (Some(tsval), Some(tsecr)) if tsval != tsecr => tsecr.wrapping_sub(tsval) < 1 << 31,
            // Until a segment echoes it, its arrival is unknown: a link may spread a burst over the time in which the
            // next acknowledgments come.
            (Some(_), None) => due_ns.saturating_add(Self::MAX_ECHO_WAIT_NS) <= now_ns,
            _ => due_ns <= now_ns,
        };
        arrived.then_some(due_ns.min(now_ns))
    }

    /// Returns the earliest time at which the last delivered acknowledgment can have reached the sender, ns. `None` at
    /// the sender, and while unknown.
    #[must_use]
    pub fn ack_arrival_ns(&self) -> Option<i64> {
        let tap_ns = known(self.delivered_ns).filter(|_| !self.tap_at_sender())?;
        Some(tap_ns + self.rtt_min_ns()?)
    }

    /// Returns how long the sender had had its newest possible acknowledgment when it sent the segment that passes now,
    /// ns. `tsecr` is the TSecr of that segment. `None` at the sender, and while unknown.
    #[must_use]
    pub fn ack_age_ns(&self, now_ns: i64, tsecr: u32) -> Option<i64> {
        if self.tap_at_sender() {
            return None;
        }
        let min_median_ns = self
            .recent_delays
            .as_ref()
            .and_then(|delays| delays.min_median_ns);
        let delay_ns = [known(self.handshake_ns), min_median_ns];
        let delay_ns = delay_ns.into_iter().flatten().min()?;
        let sent_ns = now_ns - delay_ns;
        let newest_ns = self
            .in_transit
            .iter()
            .take_while(|next| next.tsval == Some(tsecr) && next.tap_ns <= sent_ns)
            .last()
            .map_or(known(self.delivered_ns), |next| Some(next.tap_ns))?;
        Some(sent_ns - newest_ns)
    }

    /// Returns the latest time at which the sender can have received the newest acknowledgment with TSval `tsecr`, ns.
    /// A segment that echoes it passes now. The first of them must have arrived; for later ones the clock decides.
    /// `None` if none is in transit.
    #[must_use]
    pub fn latest_ack_arrival_ns(&self, now_ns: i64, tsecr: u32) -> Option<i64> {
        let min_ns = self.rtt_min_ns()?;
        let due_ns = |next: &InTransit| next.tap_ns.saturating_add(min_ns);
        let mut echoed = (self.in_transit.iter()).take_while(|next| next.tsval == Some(tsecr));
        let first = echoed.next()?;
        let newest = echoed.take_while(|next| due_ns(next) <= now_ns).last();
        Some(due_ns(newest.unwrap_or(first)).min(now_ns))
    }

    /// Removes the next acknowledgment in transit, if `tsecr` allows that it has arrived; returns it with the time
    /// `now_ns`. A sender that exceeds its window must have received a wider one.
    pub fn deliver_early(&mut self, now_ns: i64, tsecr: Option<u32>) -> Option<(i64, Ack)> {
        let allowed = match (self.in_transit.front()?.tsval, tsecr) {
            (Some(tsval), Some(tsecr)) => tsecr.wrapping_sub(tsval) < 1 << 31,
            _ => true,
        };
        let first = allowed.then(|| self.in_transit.pop_front()).flatten()?;
        self.delivered_ns = first.tap_ns;
        Some((now_ns, first.ack))
    }

    /// Removes the next acknowledgment that is still in transit at the end of the stream; returns it with its time of
    /// arrival in ns.
    pub fn next_remaining(&mut self) -> Option<(i64, Ack)> {
        let first = self.in_transit.pop_front()?;
        Some((first.tap_ns.saturating_add(self.delay_ns()), first.ack))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::sender::Captured;

    fn ack(ack: i64) -> Ack {
        Ack {
            ack,
            window: None,
            window_field: 0,
            scaled: true,
            blocks: [(0, 0); 4],
            ece: false,
            reply: false,
            captured: Captured::default(),
        }
    }

    #[test]
    fn a_short_delay_places_the_tap_at_the_sender() {
        let mut path = TapToSender::default();
        path.handshake(50_000, 20_000_000);
        assert!(path.tap_at_sender());
        assert_eq!(path.delay_ns(), 0);
    }

    #[test]
    fn at_the_receiver_the_handshake_gives_the_delay() {
        let mut path = TapToSender::default();
        path.handshake(20_000_000, 50_000);
        assert!(!path.tap_at_sender());
        path.enqueue(&ack(100), None, 0, 1_000_000);
        assert!(path.next_arrived(20_000_000, None).is_none());
        let (time_ns, arrived) = path.next_arrived(21_000_000, None).expect("it is due");
        assert_eq!((time_ns, arrived.ack), (21_000_000, 100));
    }

    #[test]
    fn tsecr_shows_which_acknowledgments_had_arrived() {
        let mut path = TapToSender::default();
        path.handshake(20_000_000, 50_000);
        path.enqueue(&ack(100), Some(7), 0, 0);
        path.enqueue(&ack(200), Some(8), 0, 1_000_000);
        // By the clock both have arrived, but TSecr shows that the second had not.
        let tsecr = Some(7);
        assert_eq!(
            path.next_arrived(30_000_000, tsecr).map(|(_, a)| a.ack),
            Some(100)
        );
        assert!(path.next_arrived(30_000_000, tsecr).is_none());
        assert_eq!(
            path.next_arrived(30_000_001, Some(8)).map(|(_, a)| a.ack),
            Some(200)
        );
    }

    #[test]
    fn an_acknowledgment_that_overtook_others_does_not_hold_them_back() {
        let mut path = TapToSender::default();
        path.handshake(20_000_000, 50_000);
        path.enqueue(&ack(300), Some(9), 0, 0);
        path.enqueue(&ack(100), Some(7), 0, 1_000_000);
        path.enqueue(&ack(200), Some(8), 0, 2_000_000);
        for (tsecr, expected) in [(7, 100), (8, 200), (9, 300)] {
            let mut arrived = || path.next_arrived(30_000_000, Some(tsecr));
            assert_eq!(arrived().map(|(_, ack)| ack.ack), Some(expected));
            assert!(arrived().is_none());
        }
    }

    #[test]
    fn the_clock_decides_about_an_acknowledgment_that_its_receiver_need_not_echo() {
        let mut path = TapToSender::default();
        path.handshake(20_000_000, 50_000);
        // Both follow data of their host up to 500, which the sender acknowledges after the first of them arrived.
        path.enqueue(&ack(100), Some(8), 500, 0);
        path.enqueue(&ack(200), Some(9), 500, 5_000_000);
        path.sender_acknowledged(400, 500, 24_000_000);
        let mut arrived = || path.next_arrived(100_000_000, Some(7));
        let (time_ns, first) = arrived().expect("its echo is not awaited");
        assert_eq!((time_ns, first.ack), (20_000_000, 100));
        // The second arrived later, so its TSval is to be echoed.
        assert!(arrived().is_none());
    }

    #[test]
    fn an_acknowledgment_without_data_before_it_is_echoed() {
        let mut path = TapToSender::default();
        path.handshake(20_000_000, 50_000);
        path.enqueue(&ack(100), Some(8), 400, 0);
        path.sender_acknowledged(400, 500, 24_000_000);
        assert!(path.next_arrived(100_000_000, Some(7)).is_none());
    }

    #[test]
    fn the_ack_age_counts_from_the_echoed_acknowledgment() {
        let mut path = TapToSender::default();
        path.handshake(20_000_000, 50_000);
        path.enqueue(&ack(100), Some(7), 0, 0);
        path.enqueue(&ack(200), Some(8), 0, 1_000_000);
        assert!(path.next_arrived(20_000_000, Some(7)).is_some());
        assert_eq!(path.ack_age_ns(20_000_000, 7), Some(0));
        assert_eq!(path.ack_age_ns(23_000_000, 7), Some(3_000_000));
        // The second was echoed, and can have arrived two milliseconds ago.
        assert_eq!(path.ack_age_ns(23_000_000, 8), Some(2_000_000));
    }

    #[test]
    fn an_echo_of_a_syn_measures_no_delay() {
        let mut path = TapToSender::default();
        let syn = Ack {
            scaled: false,
            ..ack(1)
        };
        path.handshake(20_000_000, 50_000);
        path.enqueue(&syn, Some(7), 0, 0);
        assert!(!path.measure_tsecr(7, false, 90_000_000));
        assert_eq!(path.delay_ns(), 20_000_000);
    }

    #[test]
    fn at_the_sender_the_ack_age_is_unknown() {
        let mut path = TapToSender::default();
        path.handshake(50_000, 20_000_000);
        path.enqueue(&ack(100), Some(7), 0, 0);
        assert_eq!(path.ack_age_ns(1_000_000, 7), None);
    }

    #[test]
    fn the_delay_follows_a_growing_queue() {
        let mut path = TapToSender::default();
        path.handshake(20_000_000, 50_000);
        for i in 0..10u32 {
            let tap_ns = i64::from(i) * 100_000_000;
            path.enqueue(&ack(i64::from(i)), Some(i), 0, tap_ns);
            path.measure_tsecr(i, false, tap_ns + 40_000_000);
            while path.next_arrived(tap_ns + 40_000_000, Some(i)).is_some() {}
        }
        assert_eq!(path.delay_ns(), 40_000_000);
        assert_eq!(path.rtt_min_ns(), Some(20_000_000));
    }

    #[test]
    fn the_pause_of_an_idle_sender_is_no_delay() {
        let mut path = TapToSender::default();
        path.handshake(20_000_000, 50_000);
        for (tsval, delay_ns, expected_ns) in [
            (1, 200_000_000, 20_000_000),
            (2, 25_000_000, 25_000_000),
            (3, 200_000_000, 25_000_000),
        ] {
            let tap_ns = i64::from(tsval) * 1_000_000_000;
            path.enqueue(&ack(i64::from(tsval)), Some(tsval), 0, tap_ns);
            path.measure_tsecr(tsval, true, tap_ns + delay_ns);
            assert_eq!(path.delay_ns(), expected_ns);
        }
    }

    #[test]
    fn the_pause_of_a_program_places_no_tap() {
        // Without a handshake, a program of the sender's host answers after 34 s; the peer's data show the way.
        for other_ns in [Some(94_000_000), None] {
            let mut path = TapToSender::default();
            if let Some(rtt_ns) = other_ns {
                path.add_other_rtt(rtt_ns, || false);
            }
            path.enqueue(&ack(100), Some(7), 0, 0);
            assert!(!path.measure_tsecr(7, true, 34_000_000_000));
            path.add_receiver_rtt(93_000_000);
            assert!(path.tap_at_sender());
            assert_eq!(path.rtt_min_ns(), None);
        }
    }

    #[test]
    fn prompt_acknowledgments_measure_the_way_where_nothing_else_does() {
        let mut path = TapToSender::default();
        path.add_receiver_rtt(50_000);
        assert!(path.add_prompt_rtt(6_000_000));
        assert!(!path.add_prompt_rtt(7_000_000));
        assert!(path.add_prompt_rtt(5_000_000));
        assert_eq!((path.delay_ns(), path.tap_at_sender()), (5_000_000, false));
        // A receiver that seems far away may be slow.
        let mut path = TapToSender::default();
        path.add_receiver_rtt(500_000);
        path.add_prompt_rtt(6_000_000);
        assert_eq!((path.rtt_min_ns(), path.tap_at_sender()), (None, true));
        // A handshake and timestamps measure it better.
        let mut path = TapToSender::default();
        path.handshake(20_000_000, 50_000);
        assert!(!path.add_prompt_rtt(1_000_000));
        let mut path = TapToSender::default();
        path.enqueue(&ack(100), Some(7), 0, 0);
        assert!(!path.add_prompt_rtt(1_000_000));
    }

    #[test]
    fn one_acknowledgment_of_a_stand_in_shows_that_the_handshake_was_slow() {
        for (rtt_ns, stand_in, expected_ns) in [
            (2_499_999, true, 2_499_999),
            (2_500_000, true, 20_000_000),
            (2_499_999, false, 20_000_000),
        ] {
            let mut path = TapToSender::default();
            path.handshake(20_000_000, 50_000);
            path.add_other_rtt(rtt_ns, || stand_in);
            assert_eq!(path.rtt_min_ns(), Some(expected_ns));
        }
    }

    #[test]
    fn three_acknowledgments_in_a_row_show_that_the_handshake_was_slow() {
        let delay_ns = |others_ns: &[i64]| {
            let mut path = TapToSender::default();
            path.handshake(20_000_000, 50_000);
            for &rtt_ns in others_ns {
                path.add_other_rtt(rtt_ns, || false);
            }
            path.delay_ns()
        };
        assert_eq!(delay_ns(&[100_000, 300_000, 200_000]), 300_000);
        assert_eq!(
            delay_ns(&[100_000, 100_000, 19_000_000, 100_000]),
            20_000_000
        );
        assert_eq!(delay_ns(&[11_000_000, 11_000_000, 11_000_000]), 20_000_000);
    }
}
