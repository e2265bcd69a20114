"""The link: the bottleneck was busy throughout the round.

A standing queue shows it: every segment waited, and the waits leave no gap. The rate must agree. It is the capacity, or a
part of the capacity if others share the link, behind a queue that this flow's window does not explain.
"""

from __future__ import annotations

from typing import Final

from bdpcap.limits.evidence import AckClock, CrossTraffic, Flight, Loss, Queue, Rate, Window
from bdpcap.limits.rule import MEASURED, Rule, all_of, any_of, at_least, at_most, it, not_
from bdpcap.limits.rules.common import FULL

__all__ = ["DETAILS", "RULES"]

BUSY = "a link is busy or has a twentieth to spare: a segment in a flight of twenty"

SPARE = any_of(
    all_of(
        FULL,
        any_of(
            at_most(Rate.window_over_link, 0.97, because=BUSY),
            at_least(Rate.over_initial, 1.25, because="the bottleneck has changed since"),
        ),
        at_most(Queue.risen_packets, 4, because="two ACKs of two segments"),
    ),
    all_of(
        not_(FULL),
        at_most(Rate.over_highest, 0.95, because=BUSY),
        any_of(at_most(Queue.risen_packets, 2, because="an ACK of two segments"), not_(it(Queue.stands))),
    ),
).named(
    "time to spare",
    "The flow is slower than its initial bursts were, with next to no queue: the link is idle now and then. "
    "A full window sets another rate than the link's.",
)
NOT_BUSY = any_of(
    it(Flight.below_least),
    it(Rate.alone),
    it(Queue.on_return_path),
    it(Queue.delayed_ack),
    it(Window.held_small),
).named(
    "the link is not busy",
    "Less than two segments in flight leave the link idle for most of a round trip. Acknowledgments wait on the way "
    "back or at the receiver, or data wait for a slow reader: none is a queue at the bottleneck. A round with most of "
    "the flow's time or data has no other to compare its rate with.",
)
# Half of the acknowledgments released nothing.
HALF_UNANSWERED = at_most(AckClock.ack_response, 0.5, because="more than half")
PAUSING = all_of(
    HALF_UNANSWERED, at_least(Queue.pauses, 0.1, because="a busy link pauses for less than a tenth")
).named(
    "the sender pauses",
    "A sender that pauses leaves the link idle, however deep the queue of each burst was.",
)
FASTER = it(Rate.exceeded).named(
    "faster than this path's best",
    "A round faster than the highest rate that lasted contradicts it, so that rate is no link's. Short flows, and those "
    "that wait for most of their time, show none.",
)
BEHIND = all_of(it(Queue.before_tap), not_(FULL), not_(HALF_UNANSWERED)).named(
    "captured behind the bottleneck", "The capture shows what the bottleneck passes on."
)

RULES: Final = (
    Rule(
        id="link-queue",
        limit="link",
        holds=all_of(
            it(Queue.stands),
            at_least(Queue.share, 0.9, because="all but the edges of the round"),
            at_least(Rate.utilization, 0.95, because=BUSY),
        ),
        unless=any_of(PAUSING, SPARE, NOT_BUSY),
        says="Packets queued {queue.delay} for {queue.share} of the round; the rate was {rate.utilization} of this "
        "path's best.",
        why="A bottleneck that always has a packet waiting is busy all the time.",
        source="RFC 8289 section 3",
    ),
    Rule(
        id="link-bloat",
        limit="link",
        holds=all_of(
            at_least(Queue.always_packets, 12, because=MEASURED),
            at_least(Queue.share, 0.95, because="all but the edges of the round"),
            at_least(Rate.utilization, 0.75, because=MEASURED),
        ),
        unless=any_of(NOT_BUSY, it(Loss.timer_fired)),
        says="Packets queued {queue.delay} throughout: the shortest round trip took {queue.least_rtt} of an empty path.",
        why="A window of several bandwidth-delay products keeps a queue standing; a larger one would only lengthen it.",
        source="RFC 8290 section 1",
    ),
    Rule(
        id="link-lean",
        limit="link",
        holds=all_of(
            it(Rate.proven),
            at_least(Rate.utilization, 0.95, because=BUSY),
            at_least(Queue.share, 0.25, because=MEASURED),
            not_(FULL),
        ),
        # No queue stands throughout, so initial bursts that passed a quarter faster show that the link has time to spare.
        unless=any_of(SPARE, NOT_BUSY, BEHIND, at_most(Rate.over_initial, 0.8, because="a quarter faster")),
        says="The rate was {rate.utilization} of this path's best, and packets queued for {queue.share} of the round.",
        why="BBR and Vegas drain their queue. Once a deep queue has proved the capacity, the rate alone shows a busy "
        "link.",
        source="draft-ietf-ccwg-bbr section 4.3",
    ),
    Rule(
        id="link-shared",
        limit="link",
        holds=all_of(
            it(Queue.stands),
            at_least(Queue.share, 0.95, because="all but the edges of the round"),
            at_least(Queue.unmerged_packets, 3, because="an ACK of two segments delays by two"),
            not_(FULL),
        ),
        unless=any_of(PAUSING, NOT_BUSY, it(Loss.timer_fired)),
        says="Packets queued {queue.delay} for {queue.share} of the round; the rate was {rate.utilization} of this "
        "path's best.",
        why="A queue that never drains keeps the bottleneck busy, by whichever flow.",
        source="RFC 8289 section 3",
    ),
    Rule(
        id="link-together",
        limit="link",
        holds=all_of(
            at_least(CrossTraffic.utilization, 0.9, because="the flows' rounds do not begin together"),
            at_least(CrossTraffic.over_initial, 0.9, because="the flows' rounds do not begin together"),
            at_least(Queue.packets, 1, because="a packet waits at a busy link"),
            not_(FULL),
        ),
        unless=any_of(NOT_BUSY, it(Loss.timer_fired)),
        says="This flow and others between the same hosts used {cross_traffic.utilization} of this path's best rate.",
        why="Other flows fill what this flow leaves. A flow that sends in bursts sees their queue only now and then.",
    ),
    Rule(
        id="link-arrivals",
        limit="link",
        holds=all_of(
            it(AckClock.unseen),
            at_least(Rate.utilization, 0.95, because=BUSY),
            at_least(Rate.ack_spacing, 0.9, because="a busy link pauses for less than a tenth"),
            not_(FULL),
        ),
        unless=any_of(SPARE, NOT_BUSY, FASTER),
        says="Data arrived evenly, at {rate.utilization} of this path's best rate.",
        why="Away from the sender and without timestamps, only the rate of arrivals shows a busy link.",
    ),
    Rule(
        id="link-behind",
        limit="link",
        holds=all_of(BEHIND, at_least(Rate.tap_utilization, 0.95, because=BUSY)),
        unless=any_of(SPARE, NOT_BUSY, FASTER, at_least(Queue.silent, 0.5, because="more than half")),
        says="The bottleneck needed {rate.tap_utilization} of the round for what was captured.",
        why="A capture behind the bottleneck has what the bottleneck passes on: that shows a busy link where no queue "
        "does.",
    ),
)

DETAILS: Final = {"others' queue": it(Queue.before_flow), "own queue": None}
