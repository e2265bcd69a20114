//! Who sends what again, and why.

use super::*;
use crate::track::sender::Ack;
use proptest::prelude::*;

const MS: i64 = 1_000_000;
const MSS: i64 = 1000;
const RTT_NS: i64 = 20 * MS;

/// A sender and what is said of it, over a path of 20 ms; segments are numbered from 0, `next` is not yet sent.
struct Scene {
    sender: Sender,
    seen: Retransmissions,
    next: i64,
}

fn sent(segments: i64) -> Scene {
    let mut scene = Scene {
        sender: Sender::default(),
        seen: Retransmissions::default(),
        next: segments,
    };
    scene.seen.add_rtt(RTT_NS);
    scene.ack(0, 0, &[]);
    scene.sender.send(0, segments * MSS, false);
    scene
}

impl Scene {
    fn ack(&mut self, at_ms: i64, ack: i64, sacked: &[(i64, i64)]) {
        let mut blocks = [(0, 0); 4];
        for (slot, (start, end)) in blocks.iter_mut().zip(sacked) {
            *slot = (((start - ack) * MSS) as u32, ((end - ack) * MSS) as u32);
        }
        let progress = self.sender.receive(&Ack {
            ack: ack * MSS,
            window: Some(1_000_000),
            window_field: 0,
            scaled: true,
            blocks,
            ece: false,
            reply: false,
        });
        let outstanding = self.sender.in_flight() > 0;
        self.seen
            .count_duplicate_acks(progress.advanced > 0, progress.advanced == 0 && outstanding);
        self.seen.ack_arrived(progress, outstanding, at_ms * MS);
    }

    fn resend(&mut self, at_ms: i64, segment: i64, before_ms: i64) -> Cause {
        let (start, end) = (segment * MSS, (segment + 1) * MSS);
        let data = RetransmittedSegment {
            start,
            end,
            payload_bytes: MSS,
            time_ns: at_ms * MS,
            before_ns: Some(before_ms * MS),
            tsval: Some(at_ms as u32),
            delivered: false,
            sacked_above: self.sender.sacked_end() > Some(end),
            ack_arrival_ns: None,
        };
        let cause = self.seen.classify(data, &self.sender, MSS);
        self.sender.send(start, end, true);
        cause
    }

    fn send(&mut self, segments: i64) {
        let start = self.next;
        self.next += segments;
        self.sender.send(start * MSS, self.next * MSS, false);
    }
}

#[test]
fn what_sack_passes_over_is_a_fast_retransmit() {
    let mut scene = sent(10);
    scene.ack(20, 2, &[]);
    scene.ack(21, 2, &[(3, 6)]);
    assert_eq!(scene.resend(21, 2, 1), Cause::Fast);
}

#[test]
fn without_sack_three_duplicates_ask_for_it_and_two_do_not() {
    for (duplicates, cause) in [(2, Cause::Unexplained), (3, Cause::Fast)] {
        let mut scene = sent(10);
        scene.ack(20, 2, &[]);
        for _ in 0..duplicates {
            scene.ack(21, 2, &[]);
        }
        assert_eq!(scene.resend(21, 2, 1), cause);
    }
}

#[test]
fn a_partial_acknowledgment_asks_for_the_next_hole() {
    let mut scene = sent(10);
    (0..4).for_each(|_| scene.ack(21, 0, &[]));
    assert_eq!(scene.resend(21, 0, 0), Cause::Fast);
    scene.ack(41, 5, &[]);
    assert_eq!(scene.resend(41, 5, 0), Cause::Fast);
}

#[test]
fn after_silence_the_first_segment_again_is_a_timeout_and_the_rest_goes_with_it() {
    let mut scene = sent(10);
    scene.ack(20, 2, &[]);
    assert_eq!(scene.resend(240, 2, 5), Cause::Timeout);
    scene.ack(260, 3, &[]);
    assert_eq!(scene.resend(260, 3, 5), Cause::AfterTimeout);
    assert_eq!(scene.resend(260, 4, 5), Cause::AfterTimeout);
    let counts = scene.seen.counts();
    assert_eq!((counts.timeouts, counts.timeout), (1, 3));
    assert_eq!(counts.wait_ns, 220 * MS);
}

#[test]
fn a_timer_that_runs_out_twice_is_two_timeouts_and_waits_add_up() {
    let mut scene = sent(10);
    scene.ack(20, 2, &[]);
    assert_eq!(scene.resend(240, 2, 5), Cause::Timeout);
    assert_eq!(scene.resend(680, 2, 240), Cause::Timeout);
    assert_eq!(scene.seen.counts().wait_ns, (220 + 440) * MS);
}

#[test]
fn a_loss_that_was_reported_long_ago_is_a_timeout_too() {
    let mut scene = sent(10);
    scene.ack(20, 2, &[(3, 6)]);
    assert_eq!(scene.resend(300, 2, 1), Cause::Timeout);
}

#[test]
fn a_retransmission_that_was_lost_is_told_by_what_was_sent_after_it() {
    let mut scene = sent(10);
    scene.ack(20, 0, &[(1, 10)]);
    assert_eq!(scene.resend(20, 0, 0), Cause::Fast);
    scene.send(2);
    scene.ack(41, 0, &[(1, 12)]);
    assert_eq!(scene.resend(46, 0, 20), Cause::Fast);
    // Nothing was sent after this one.
    assert_eq!(scene.resend(290, 0, 46), Cause::Timeout);
}

#[test]
fn the_last_segment_again_after_two_round_trips_is_a_probe() {
    let mut scene = sent(10);
    scene.ack(20, 7, &[]);
    assert_eq!(scene.resend(62, 9, 1), Cause::TailLossProbe);
    assert_eq!(scene.seen.counts().wait_ns, 42 * MS);
    // Nothing came of it: the timer.
    assert_eq!(scene.resend(290, 7, 1), Cause::Timeout);
}

#[test]
fn what_the_probe_makes_the_receiver_report_is_a_fast_retransmit() {
    let mut scene = sent(10);
    scene.ack(20, 7, &[]);
    scene.resend(62, 9, 1);
    scene.ack(82, 7, &[(9, 10)]);
    assert_eq!(scene.resend(88, 7, 1), Cause::Fast);
}

#[test]
fn a_lone_segment_is_probed_once_and_never_without_sack() {
    for (permitted, cause) in [(true, Cause::TailLossProbe), (false, Cause::Timeout)] {
        let mut scene = sent(1);
        scene.seen.set_sack(permitted);
        assert_eq!(scene.resend(230, 0, 0), cause);
        assert_eq!(scene.resend(670, 0, 230), Cause::Timeout);
    }
}

#[test]
fn a_lone_segment_that_waits_for_a_second_was_no_probe() {
    assert_eq!(sent(1).resend(1020, 0, 0), Cause::Timeout);
}

#[test]
fn what_nothing_asked_for_is_unexplained() {
    let mut scene = sent(10);
    scene.ack(20, 2, &[]);
    assert_eq!(scene.resend(21, 4, 1), Cause::Unexplained);
}

#[test]
fn a_duplicate_that_the_receiver_reports_was_spurious_once() {
    let mut scene = sent(10);
    scene.ack(20, 2, &[(3, 6)]);
    scene.resend(20, 2, 1);
    let twice = Some((2 * MSS, 3 * MSS));
    (0..2).for_each(|_| scene.seen.detect_spurious(6 * MSS, Some(20), twice, MSS));
    assert_eq!(scene.seen.counts().spurious, 1);
    scene
        .seen
        .detect_spurious(6 * MSS, None, Some((7 * MSS, 8 * MSS)), MSS);
    assert_eq!(scene.seen.counts().spurious, 1);
}

#[test]
fn an_echo_older_than_the_retransmission_tells_that_the_first_copy_came() {
    for (tsecr, spurious) in [(1, 1), (240, 0)] {
        let mut scene = sent(1);
        scene.resend(240, 0, 1);
        scene.seen.detect_spurious(MSS, Some(tsecr), None, MSS);
        assert_eq!(scene.seen.counts().spurious, spurious);
    }
}

proptest! {
    // Whatever is sent, acknowledged and sent again: each packet sent again has one cause, none is spurious twice.
    #[test]
    fn causes_sum_to_what_was_sent_again(
        steps in prop::collection::vec((0u8..4, 0i64..12, 1i64..6, 0i64..400), 1..60),
    ) {
        let (mut scene, mut at, mut again, mut timeouts) = (sent(8), 20, 0, 0);
        for (step, from, length, wait) in steps {
            at += wait;
            match step {
                0 => scene.send(length),
                1 => scene.ack(at, from.min(scene.next), &[]),
                2 => scene.ack(at, 0, &[(from.min(scene.next), (from + length).min(scene.next))]),
                _ => {
                    let before = at - wait;
                    let cause = scene.resend(at, from.min(scene.next - 1), before);
                    prop_assert_ne!(cause, Cause::None);
                    again += 1;
                    timeouts += i64::from(cause == Cause::Timeout);
                    scene.seen.detect_spurious(from * MSS, Some(at as u32 - 1), Some((0, from * MSS)), MSS);
                }
            }
        }
        let counts = scene.seen.counts();
        prop_assert_eq!(counts.packets, again);
        prop_assert_eq!(counts.fast + counts.timeout + counts.probes + counts.unexplained, again);
        prop_assert_eq!(counts.timeouts, timeouts);
        prop_assert!(counts.spurious <= again && counts.timeouts <= counts.timeout);
    }
}
