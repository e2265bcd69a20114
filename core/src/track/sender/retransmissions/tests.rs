//! Causes of retransmissions in scripted exchanges.

use super::*;
use crate::track::sender::{Ack, Captured};
use proptest::prelude::*;

const MS: i64 = 1_000_000;
const MSS: i64 = 1000;
const RTT_NS: i64 = 20 * MS;

/// A sender and the classifier of its retransmissions, on a path with an RTT of 20 ms. Segments are numbered from 0;
/// `next` is not sent yet.
struct Scene {
    sender: Sender,
    classifier: Retransmissions,
    next: i64,
}

fn sent(segments: i64) -> Scene {
    let mut scene = Scene {
        sender: Sender::default(),
        classifier: Retransmissions::default(),
        next: segments,
    };
    scene.classifier.add_rtt(RTT_NS);
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
            captured: Captured::default(),
        });
        let outstanding = self.sender.in_flight() > 0;
        let advanced = progress.advanced > 0;
        self.classifier
            .count_duplicate_acks(advanced, !advanced && outstanding, at_ms * MS);
        self.classifier
            .ack_arrived(progress, outstanding, at_ms * MS);
    }

    fn retransmit(&mut self, at_ms: i64, segment: i64, before_ms: i64) -> Cause {
        let (start, end) = (segment * MSS, (segment + 1) * MSS);
        let data = RetransmittedSegment {
            start,
            end,
            payload_bytes: MSS,
            time_ns: at_ms * MS,
            previous_ns: Some(before_ms * MS),
            tsval: Some(at_ms as u32),
            delivered: false,
            sacked_above: self.sender.sacked_end() > Some(end),
            ack_arrival_ns: None,
        };
        let cause = self.classifier.classify(data, &self.sender, MSS);
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
fn a_hole_below_sacked_data_is_a_fast_retransmit() {
    let mut scene = sent(10);
    scene.ack(20, 2, &[]);
    scene.ack(21, 2, &[(3, 6)]);
    assert_eq!(scene.retransmit(21, 2, 1), Cause::Fast);
}

#[test]
fn without_sack_three_duplicate_acks_indicate_a_loss() {
    for (duplicates, cause) in [(2, Cause::Unexplained), (3, Cause::Fast)] {
        let mut scene = sent(10);
        scene.ack(20, 2, &[]);
        for _ in 0..duplicates {
            scene.ack(21, 2, &[]);
        }
        assert_eq!(scene.retransmit(21, 2, 1), cause);
    }
}

#[test]
fn a_partial_acknowledgment_is_followed_by_a_fast_retransmit() {
    let mut scene = sent(10);
    (0..4).for_each(|_| scene.ack(21, 0, &[]));
    assert_eq!(scene.retransmit(21, 0, 0), Cause::Fast);
    scene.ack(41, 5, &[]);
    assert_eq!(scene.retransmit(41, 5, 0), Cause::Fast);
}

#[test]
fn a_repair_is_measured_from_the_third_duplicate_ack_once_in_each_recovery() {
    let mut scene = sent(10);
    scene.ack(20, 2, &[]);
    (0..3).for_each(|more| scene.ack(21 + more, 2, &[(3, 6 + more)]));
    scene.retransmit(33, 2, 1); // 10 ms after the third
    scene.retransmit(35, 8, 1); // of the same recovery
    scene.ack(50, 10, &[]);
    scene.send(10);
    (0..3).for_each(|_| scene.ack(60, 10, &[]));
    scene.retransmit(80, 10, 50); // 20 ms
    scene.ack(90, 20, &[]);
    scene.send(10);
    (0..3).for_each(|_| scene.ack(100, 20, &[]));
    scene.retransmit(115, 20, 90); // 15 ms, between the other two
    assert_eq!(scene.classifier.repair_ns(), Some(15 * MS));
}

#[test]
fn two_duplicate_acks_do_not_show_when_the_sender_had_to_repair() {
    // With a small window, the third comes a round trip later, for data that the first two released (RFC 3042).
    let mut scene = sent(3);
    scene.ack(20, 0, &[(1, 2)]);
    scene.ack(21, 0, &[(1, 3)]);
    assert_eq!(scene.retransmit(25, 0, 0), Cause::Fast);
    assert_eq!(scene.classifier.repair_ns(), None);
}

#[test]
fn a_timeout_is_no_repair_of_a_reported_loss() {
    let mut scene = sent(10);
    scene.ack(20, 2, &[(3, 6)]);
    scene.retransmit(300, 2, 1);
    assert_eq!(scene.classifier.repair_ns(), None);
}

#[test]
fn retransmissions_that_follow_a_timeout_belong_to_it() {
    let mut scene = sent(10);
    scene.ack(20, 2, &[]);
    assert_eq!(scene.retransmit(240, 2, 5), Cause::Timeout);
    scene.ack(260, 3, &[]);
    assert_eq!(scene.retransmit(260, 3, 5), Cause::AfterTimeout);
    assert_eq!(scene.retransmit(260, 4, 5), Cause::AfterTimeout);
    let counts = scene.classifier.counts();
    assert_eq!((counts.timeouts, counts.timeout), (1, 3));
    assert_eq!(counts.wait_ns, 220 * MS);
}

#[test]
fn the_waits_of_two_timeouts_add_up() {
    let mut scene = sent(10);
    scene.ack(20, 2, &[]);
    assert_eq!(scene.retransmit(240, 2, 5), Cause::Timeout);
    assert_eq!(scene.retransmit(680, 2, 240), Cause::Timeout);
    assert_eq!(scene.classifier.counts().wait_ns, (220 + 440) * MS);
}

#[test]
fn a_loss_that_was_reported_long_ago_is_a_timeout() {
    let mut scene = sent(10);
    scene.ack(20, 2, &[(3, 6)]);
    assert_eq!(scene.retransmit(300, 2, 1), Cause::Timeout);
}

#[test]
fn later_data_reveal_a_lost_retransmission() {
    let mut scene = sent(10);
    scene.ack(20, 0, &[(1, 10)]);
    assert_eq!(scene.retransmit(20, 0, 0), Cause::Fast);
    scene.send(2);
    scene.ack(41, 0, &[(1, 12)]);
    assert_eq!(scene.retransmit(46, 0, 20), Cause::Fast);
    // Nothing was sent after this one.
    assert_eq!(scene.retransmit(290, 0, 46), Cause::Timeout);
}

#[test]
fn the_last_segment_retransmitted_after_two_rtts_is_a_probe() {
    let mut scene = sent(10);
    scene.ack(20, 7, &[]);
    assert_eq!(scene.retransmit(62, 9, 1), Cause::TailLossProbe);
    assert_eq!(scene.classifier.counts().wait_ns, 42 * MS);
    // The probe was lost, and the timer expires.
    assert_eq!(scene.retransmit(290, 7, 1), Cause::Timeout);
}

#[test]
fn a_loss_reported_after_a_probe_is_a_fast_retransmit() {
    let mut scene = sent(10);
    scene.ack(20, 7, &[]);
    scene.retransmit(62, 9, 1);
    scene.ack(82, 7, &[(9, 10)]);
    assert_eq!(scene.retransmit(88, 7, 1), Cause::Fast);
}

#[test]
fn a_lone_segment_is_probed_once_and_never_without_sack() {
    for (permitted, cause) in [(true, Cause::TailLossProbe), (false, Cause::Timeout)] {
        let mut scene = sent(1);
        scene.classifier.set_sack(permitted);
        assert_eq!(scene.retransmit(230, 0, 0), cause);
        assert_eq!(scene.retransmit(670, 0, 230), Cause::Timeout);
    }
}

#[test]
fn a_lone_segment_retransmitted_after_a_second_is_a_timeout() {
    assert_eq!(sent(1).retransmit(1020, 0, 0), Cause::Timeout);
}

#[test]
fn a_retransmission_without_a_cause_is_unexplained() {
    let mut scene = sent(10);
    scene.ack(20, 2, &[]);
    assert_eq!(scene.retransmit(21, 4, 1), Cause::Unexplained);
}

#[test]
fn a_reported_duplicate_is_counted_once() {
    let mut scene = sent(10);
    scene.ack(20, 2, &[(3, 6)]);
    scene.retransmit(20, 2, 1);
    let twice = Some((2 * MSS, 3 * MSS));
    (0..2).for_each(|_| {
        scene
            .classifier
            .detect_spurious(6 * MSS, Some(20), twice, MSS)
    });
    assert_eq!(scene.classifier.counts().spurious, 1);
    scene
        .classifier
        .detect_spurious(6 * MSS, None, Some((7 * MSS, 8 * MSS)), MSS);
    assert_eq!(scene.classifier.counts().spurious, 1);
}

#[test]
fn each_report_of_the_same_duplicate_stands_for_one_more_packet() {
    // Google's servers name the last byte that they hold, whichever segment came twice.
    let mut scene = sent(10);
    scene.retransmit(400, 0, 0);
    for segment in 1..5 {
        scene.retransmit(401, segment, 0);
    }
    let last_byte = Some((4 * MSS - 1, 4 * MSS));
    let mut counts = Vec::new();
    for _ in 0..6 {
        scene
            .classifier
            .detect_spurious(4 * MSS, None, last_byte, MSS);
        counts.push(scene.classifier.counts().spurious);
    }
    // The fifth was sent again above what is acknowledged: no report can be about it yet.
    assert_eq!(counts, [1, 2, 3, 4, 4, 4]);
}

#[test]
fn acknowledgments_in_their_order_after_a_timeout_show_that_nothing_was_lost() {
    // RFC 5682 section 2.1: the second acknowledgment covers data that were sent once.
    for (acks, again, spurious) in [
        (&[1, 2][..], None, 1),
        (&[1, 10], None, 1),
        (&[10], None, 0),      // the rest had arrived, and this alone was lost
        (&[1], None, 0),       // nothing more is known
        (&[1, 2], Some(1), 0), // the sender sent the next one again, too
        (&[0, 0], None, 0),
    ] {
        let mut scene = sent(10);
        assert_eq!(scene.retransmit(400, 0, 0), Cause::Timeout);
        for (number, ack) in acks.iter().enumerate() {
            let at_ms = 430 + number as i64;
            scene.ack(at_ms, *ack, &[]);
            scene
                .classifier
                .detect_spurious(*ack * MSS, None, None, MSS);
            if let Some(segment) = again.filter(|_| number == 0) {
                scene.retransmit(at_ms, segment, 0);
            }
        }
        assert_eq!(scene.classifier.counts().spurious, spurious, "{acks:?}");
    }
    // A lone segment has no other data before it.
    let mut scene = sent(1);
    scene.retransmit(1_500, 0, 0);
    for ack in [1, 2] {
        scene.send(1);
        scene.ack(1_530, ack, &[]);
        scene.classifier.detect_spurious(ack * MSS, None, None, MSS);
    }
    assert_eq!(scene.classifier.counts().spurious, 0);
}

#[test]
fn an_older_tsecr_shows_that_the_first_copy_arrived() {
    for (tsecr, spurious) in [(1, 1), (240, 0)] {
        let mut scene = sent(1);
        scene.retransmit(240, 0, 1);
        scene
            .classifier
            .detect_spurious(MSS, Some(tsecr), None, MSS);
        assert_eq!(scene.classifier.counts().spurious, spurious);
    }
}

proptest! {
    // In any sequence of steps, each retransmitted packet has one cause and is spurious at most once.
    #[test]
    fn causes_sum_to_all_retransmissions(
        steps in prop::collection::vec((0u8..4, 0i64..12, 1i64..6, 0i64..400), 1..60),
    ) {
        let (mut scene, mut at, mut retransmitted, mut timeouts) = (sent(8), 20, 0, 0);
        for (step, from, length, wait) in steps {
            at += wait;
            match step {
                0 => scene.send(length),
                1 => scene.ack(at, from.min(scene.next), &[]),
                2 => scene.ack(at, 0, &[(from.min(scene.next), (from + length).min(scene.next))]),
                _ => {
                    let before = at - wait;
                    let cause = scene.retransmit(at, from.min(scene.next - 1), before);
                    prop_assert_ne!(cause, Cause::None);
                    retransmitted += 1;
                    timeouts += i64::from(cause == Cause::Timeout);
                    scene.classifier.detect_spurious(from * MSS, Some(at as u32 - 1), Some((0, from * MSS)), MSS);
                }
            }
        }
        let counts = scene.classifier.counts();
        prop_assert_eq!(counts.packets, retransmitted);
        prop_assert_eq!(counts.fast + counts.timeout + counts.probes + counts.unexplained, retransmitted);
        prop_assert_eq!(counts.timeouts, timeouts);
        prop_assert!(counts.spurious <= retransmitted && counts.timeouts <= counts.timeout);
    }
}
