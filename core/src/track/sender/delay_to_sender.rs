//! # Delay to sender
//! How far the tap is from the sender, and so when the sender had what passed the tap on its way to it.

use super::Ack;
use crate::track::null::{NULL, known, least};
use std::collections::VecDeque;

/// An acknowledgment on its way from the tap to the sender.
#[derive(Debug)]
struct InTransit {
    passed_ns: i64,
    value: Option<u32>,
    ack: Ack,
}

/// The way from the tap to the sender and back: its length, and the acknowledgments that are on it.
///
/// The length is the time from SYN-ACK to ACK (or SYN to SYN-ACK when the server sends), and with timestamps the time
/// from an acknowledgment to the first segment that echoes its TSval (RFC 7323 section 3; as pping measures), which
/// follows a queue between sender and tap.
///
/// What is unknown is [`NULL`].
#[derive(Debug)]
pub struct TapToSender {
    /// The first acknowledgment with each TSval whose echo is awaited.
    probes: VecDeque<(u32, i64)>,
    in_transit: VecDeque<InTransit>,
    last_value: Option<u32>,
    at_sender: Option<bool>,
    handshake_ns: i64,
    receiver_rtt_ns: i64,
    rtt_min_ns: i64,
    /// When the last that arrived had passed the tap.
    heard_ns: i64,
    /// What the delay is now, once an echo told; not where it is none.
    echoed: Option<Box<Echoed>>,
}

/// The last echo delays. A sender leaves some acknowledgments waiting, so their median is the delay now.
#[derive(Debug, Default)]
struct Echoed {
    /// A ring.
    recent: [i64; Echoed::RECENT],
    count: usize,
    middle_ns: i64,
    /// The least of these medians: a host that stalled once may make one echo seem early.
    settled_ns: Option<i64>,
}

impl Echoed {
    /// Delays whose median is the delay now: more of them would lag behind a growing queue.
    const RECENT: usize = 7;

    fn add(&mut self, delay_ns: i64) {
        self.recent[self.count % Self::RECENT] = delay_ns;
        self.count += 1;
        let mut sorted = self.recent;
        let sorted = &mut sorted[..self.count.min(Self::RECENT)];
        sorted.sort_unstable();
        self.middle_ns = sorted[(sorted.len() - 1) / 2];
        if self.count >= Self::RECENT {
            let least_ns = self.settled_ns.unwrap_or(self.middle_ns);
            self.settled_ns = Some(least_ns.min(self.middle_ns));
        }
    }
}

impl Default for TapToSender {
    fn default() -> Self {
        Self {
            probes: VecDeque::new(),
            in_transit: VecDeque::new(),
            last_value: None,
            at_sender: None,
            handshake_ns: NULL,
            receiver_rtt_ns: NULL,
            rtt_min_ns: NULL,
            heard_ns: NULL,
            echoed: None,
        }
    }
}

impl TapToSender {
    /// TSvals awaiting their echo: what a long path holds at a tick a millisecond.
    const MOST_PROBES: usize = 1024;
    /// Nearer than this share of the round trip what passes the tap is what the sender has: an error that the rules
    /// bear, as they look at tenths of a window.
    const NEAR: f64 = 0.05;
    /// Nearer than this it is the sender's own host, however short the path.
    const HOST_NS: i64 = 200_000;
    /// Round trips below this are too short to tell near from far.
    const SHORT_NS: i64 = 100_000;
    /// A sender that stays silent for this long after an acknowledgment was due had it, echo or not.
    const PATIENCE_NS: i64 = 1_000_000_000;
    /// An acknowledgment that no segment ever echoes must not be held for ever.
    const MOST: usize = 1 << 16;

    /// What the handshake shows: the round trip from the tap to the sender, and to the receiver.
    pub fn handshake(&mut self, sender_ns: i64, receiver_rtt_ns: i64) {
        self.handshake_ns = sender_ns.max(0);
        self.receiver_rtt_ns = receiver_rtt_ns.max(0);
        self.decide();
    }

    /// A round trip from the tap to the receiver, where no handshake showed it. Says whether that is news.
    pub fn add_receiver_rtt(&mut self, rtt_ns: i64) -> bool {
        let first = self.receiver_rtt_ns == NULL;
        let news = self.handshake_ns == NULL && (first || rtt_ns < self.receiver_rtt_ns);
        if news {
            self.receiver_rtt_ns = rtt_ns;
            self.decide();
        }
        news
    }

    fn decide(&mut self) {
        let sender = known(self.handshake_ns).or(known(self.rtt_min_ns));
        let (Some(sender), Some(receiver)) = (sender, known(self.receiver_rtt_ns)) else {
            return;
        };
        let total = sender.saturating_add(receiver);
        #[allow(clippy::cast_precision_loss)]
        let near = (sender as f64) < Self::NEAR * total as f64
            || (sender < Self::HOST_NS && sender < receiver);
        self.at_sender = Some(near || total < Self::SHORT_NS);
    }

    /// Is what passes the tap what the sender has? `true` while nothing says otherwise.
    #[must_use]
    pub fn tap_at_sender(&self) -> bool {
        self.at_sender.unwrap_or(true)
    }

    /// Will an echo soon tell where the tap is? Until then what passes it shows no round trip.
    #[must_use]
    pub fn is_vantage_pending(&self, now_ns: i64) -> bool {
        self.at_sender.is_none()
            && self
                .probes
                .front()
                .is_some_and(|(_, passed_ns)| now_ns - passed_ns < Self::PATIENCE_NS)
    }

    /// Least round trip from the tap to the sender and back.
    #[must_use]
    pub fn rtt_min_ns(&self) -> Option<i64> {
        if self.rtt_min_ns == NULL {
            return known(self.handshake_ns);
        }
        Some(least(self.handshake_ns, self.rtt_min_ns))
    }

    /// Least round trip from the tap to the receiver and back.
    #[must_use]
    pub fn receiver_rtt_min_ns(&self) -> Option<i64> {
        known(self.receiver_rtt_ns)
    }

    /// The round trip to the sender now: 0 at the sender.
    #[must_use]
    pub fn delay_ns(&self) -> i64 {
        if self.tap_at_sender() {
            return 0;
        }
        match &self.echoed {
            Some(echoed) => echoed.middle_ns,
            None => known(self.handshake_ns).unwrap_or_default(),
        }
    }

    /// An acknowledgment passes the tap on its way to the sender; where that is not here, it travels.
    pub fn enqueue(&mut self, ack: &Ack, value: Option<u32>, passed_ns: i64) {
        // Of a SYN's, the handshake tells; the first data may follow its echo when they like.
        if let Some(value) = value.filter(|_| ack.scaled) {
            if self.last_value != Some(value) {
                if self.probes.len() == Self::MOST_PROBES {
                    self.probes.pop_front();
                }
                self.probes.push_back((value, passed_ns));
            }
            self.last_value = Some(value);
        }
        if self.tap_at_sender() {
            return;
        }
        if self.in_transit.len() >= Self::MOST {
            self.in_transit.pop_front();
        }
        self.in_transit.push_back(InTransit {
            passed_ns,
            value,
            ack: *ack,
        });
    }

    /// Does this TSecr tell of a TSval whose echo is awaited?
    #[must_use]
    #[inline]
    pub fn awaits_tsecr(&self, echo: u32) -> bool {
        (self.probes.front()).is_some_and(|&(value, _)| echo.wrapping_sub(value) < 1 << 31)
    }

    /// A segment of the sender passes the tap with this TSecr: the first to echo a TSval measures. Says whether it did.
    pub fn measure_tsecr(&mut self, echo: u32, time_ns: i64) -> bool {
        let mut followed = false;
        while self.awaits_tsecr(echo)
            && let Some((value, passed_ns)) = self.probes.pop_front()
        {
            followed |= echo == value && self.measured((time_ns - passed_ns).max(0));
        }
        followed
    }

    fn measured(&mut self, delay_ns: i64) -> bool {
        self.rtt_min_ns = least(self.rtt_min_ns, delay_ns);
        if self.handshake_ns != NULL && self.tap_at_sender() {
            return false; // and stays so: there is no delay to follow
        }
        self.echoed.get_or_insert_default().add(delay_ns);
        if self.handshake_ns == NULL {
            self.decide();
        }
        true
    }

    /// Is anything on its way to the sender?
    #[must_use]
    #[inline]
    pub fn has_acks_in_transit(&self) -> bool {
        !self.in_transit.is_empty()
    }

    /// The next acknowledgment that has reached the sender by `now_ns`, with the time it did so. `echo` is the TSecr of
    /// a segment that passes now: it says exactly which acknowledgments its sender had; the clock decides among those
    /// of the same TSval, and where there is none.
    #[inline]
    pub fn next_arrived(&mut self, now_ns: i64, echo: Option<u32>) -> Option<(i64, Ack)> {
        let due_ns = self.due_ns(now_ns, echo)?;
        let first = self.in_transit.pop_front()?;
        self.heard_ns = first.passed_ns;
        Some((due_ns, first.ack))
    }

    /// When the next acknowledgment reached the sender, if it has by `now_ns`.
    fn due_ns(&self, now_ns: i64, echo: Option<u32>) -> Option<i64> {
        let first = self.in_transit.front()?;
        let due_ns = first.passed_ns.saturating_add(self.delay_ns());
        let arrived = match (first.value, echo) {
            (Some(value), Some(echo)) if value != echo => echo.wrapping_sub(value) < 1 << 31,
            // Until data shows what its sender had, nothing is known: a link may spread a burst over the time in
            // which the next acknowledgments come.
            (Some(_), None) => due_ns.saturating_add(Self::PATIENCE_NS) <= now_ns,
            _ => due_ns <= now_ns,
        };
        arrived.then_some(due_ns.min(now_ns))
    }

    /// When the sender had the last acknowledgment that arrived, had nothing been queued: `None` where that is at once.
    #[must_use]
    pub fn ack_arrival_ns(&self) -> Option<i64> {
        let passed_ns = known(self.heard_ns).filter(|_| !self.tap_at_sender())?;
        Some(passed_ns + self.rtt_min_ns()?)
    }

    /// How long the sender had the newest acknowledgment it can have had, when it sent what passes now and echoes
    /// `echo`: `None` where that cannot be told from here.
    #[must_use]
    pub fn ack_age_ns(&self, now_ns: i64, echo: u32) -> Option<i64> {
        if self.tap_at_sender() {
            return None;
        }
        let settled_ns = self.echoed.as_ref().and_then(|echoed| echoed.settled_ns);
        let way_ns = [known(self.handshake_ns), settled_ns];
        let way_ns = way_ns.into_iter().flatten().min()?;
        let sent_ns = now_ns - way_ns;
        let heard_ns = self
            .in_transit
            .iter()
            .take_while(|next| next.value == Some(echo) && next.passed_ns <= sent_ns)
            .last()
            .map_or(known(self.heard_ns), |next| Some(next.passed_ns))?;
        Some(sent_ns - heard_ns)
    }

    /// When the sender at the latest had the newest acknowledgment that it echoes by what passes now, one on its way by
    /// the clock; the first of those it echoes must have come, however late the others are.
    #[must_use]
    pub fn latest_ack_arrival_ns(&self, now_ns: i64, echo: u32) -> Option<i64> {
        let least_ns = self.rtt_min_ns()?;
        let due_ns = |next: &InTransit| next.passed_ns.saturating_add(least_ns);
        let mut echoed = (self.in_transit.iter()).take_while(|next| next.value == Some(echo));
        let first = echoed.next()?;
        let newest = echoed.take_while(|next| due_ns(next) <= now_ns).last();
        Some(due_ns(newest.unwrap_or(first)).min(now_ns))
    }

    /// The next acknowledgment on its way, if the echo allows that the sender had it: a sender that sends beyond the
    /// window it had shows that a wider one had come.
    pub fn deliver_early(&mut self, now_ns: i64, echo: Option<u32>) -> Option<(i64, Ack)> {
        let allowed = match (self.in_transit.front()?.value, echo) {
            (Some(value), Some(echo)) => echo.wrapping_sub(value) < 1 << 31,
            _ => true,
        };
        let first = allowed.then(|| self.in_transit.pop_front()).flatten()?;
        self.heard_ns = first.passed_ns;
        Some((now_ns, first.ack))
    }

    /// Whatever is still on its way, at the end of the stream.
    pub fn next_remaining(&mut self) -> Option<(i64, Ack)> {
        let first = self.in_transit.pop_front()?;
        Some((first.passed_ns.saturating_add(self.delay_ns()), first.ack))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(ack: i64) -> Ack {
        Ack {
            ack,
            window: None,
            window_field: 0,
            scaled: true,
            blocks: [(0, 0); 4],
            ece: false,
            reply: false,
        }
    }

    #[test]
    fn a_tap_at_the_sender_is_direct() {
        let mut way = TapToSender::default();
        way.handshake(50_000, 20_000_000);
        assert!(way.tap_at_sender());
        assert_eq!(way.delay_ns(), 0);
    }

    #[test]
    fn a_tap_at_the_receiver_delays_by_the_handshake() {
        let mut way = TapToSender::default();
        way.handshake(20_000_000, 50_000);
        assert!(!way.tap_at_sender());
        way.enqueue(&ack(100), None, 1_000_000);
        assert!(way.next_arrived(20_000_000, None).is_none());
        let (time_ns, arrived) = way.next_arrived(21_000_000, None).expect("it is due");
        assert_eq!((time_ns, arrived.ack), (21_000_000, 100));
    }

    #[test]
    fn an_echo_says_what_the_sender_had() {
        let mut way = TapToSender::default();
        way.handshake(20_000_000, 50_000);
        way.enqueue(&ack(100), Some(7), 0);
        way.enqueue(&ack(200), Some(8), 1_000_000);
        // The clock alone would deliver both; the echo says the second had not come.
        let echo = Some(7);
        assert_eq!(
            way.next_arrived(30_000_000, echo).map(|(_, a)| a.ack),
            Some(100)
        );
        assert!(way.next_arrived(30_000_000, echo).is_none());
        assert_eq!(
            way.next_arrived(30_000_001, Some(8)).map(|(_, a)| a.ack),
            Some(200)
        );
    }

    #[test]
    fn from_afar_a_wait_counts_from_the_acknowledgment_that_was_echoed() {
        let mut way = TapToSender::default();
        way.handshake(20_000_000, 50_000);
        way.enqueue(&ack(100), Some(7), 0);
        way.enqueue(&ack(200), Some(8), 1_000_000);
        assert!(way.next_arrived(20_000_000, Some(7)).is_some());
        assert_eq!(way.ack_age_ns(20_000_000, 7), Some(0));
        assert_eq!(way.ack_age_ns(23_000_000, 7), Some(3_000_000));
        // The second was echoed, and can have come two milliseconds ago.
        assert_eq!(way.ack_age_ns(23_000_000, 8), Some(2_000_000));
    }

    #[test]
    fn the_first_data_may_echo_a_syn_when_they_like() {
        let mut way = TapToSender::default();
        let syn = Ack {
            scaled: false,
            ..ack(1)
        };
        way.handshake(20_000_000, 50_000);
        way.enqueue(&syn, Some(7), 0);
        assert!(!way.measure_tsecr(7, 90_000_000));
        assert_eq!(way.delay_ns(), 20_000_000);
    }

    #[test]
    fn at_the_sender_the_clock_tells_a_wait() {
        let mut way = TapToSender::default();
        way.handshake(50_000, 20_000_000);
        way.enqueue(&ack(100), Some(7), 0);
        assert_eq!(way.ack_age_ns(1_000_000, 7), None);
    }

    #[test]
    fn echoes_follow_a_growing_queue() {
        let mut way = TapToSender::default();
        way.handshake(20_000_000, 50_000);
        for i in 0..10u32 {
            let passed_ns = i64::from(i) * 100_000_000;
            way.enqueue(&ack(i64::from(i)), Some(i), passed_ns);
            way.measure_tsecr(i, passed_ns + 40_000_000);
            while way.next_arrived(passed_ns + 40_000_000, Some(i)).is_some() {}
        }
        assert_eq!(way.delay_ns(), 40_000_000);
        assert_eq!(way.rtt_min_ns(), Some(20_000_000));
    }
}
