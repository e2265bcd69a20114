"""Congestion control: the window doubles, grows by a segment a round, falls after a loss, or is clamped or paced."""

from __future__ import annotations

from typing import Final

from bdpcap.limits.evidence import AckClock, Flight, Loss, Queue, Writes
from bdpcap.limits.rule import MEASURED, Rule, all_of, any_of, at_least, at_most, it, not_
from bdpcap.limits.rules.common import BY_WRITES, SLOWEST_GROWTH, SOME_ANSWERED, STABLE, TIMER

__all__ = ["DETAILS", "RULES"]

MOVED = it(Flight.moved)
# Data that wait for the congestion window leave in whole segments, as acknowledgments arrive.
WHOLE = all_of(at_most(Writes.short_share, 0.25, because=MEASURED), not_(BY_WRITES))

# Nearly all acknowledgments released data at once.
ALL_ANSWERED = at_least(AckClock.ack_response, 0.9, because="nearly all")

REPAIR = any_of(
    at_most(
        Loss.rounds_since, 1, because="fast retransmit repairs within a round trip: RFC 5681 section 3.2"
    ),
    it(Loss.outage),
)

WAY_BACK = all_of(
    it(Queue.on_return_path), at_least(Queue.share, 0.9, because="all but the edges of the round")
).named(
    "a queue on the way back",
    "Acknowledgments queue on the return path. They come at its rate, which looks like pacing or a clamp.",
)

RULES: Final = (
    Rule(
        id="cwnd-recovery",
        limit="cwnd",
        holds=REPAIR,
        says="A loss was being repaired, with {flight.most} in flight.",
        why="A loss reduces the congestion window.",
        source="RFC 5681 section 3.2",
    ),
    Rule(
        id="cwnd-slow-start",
        limit="cwnd",
        holds=any_of(it(Flight.doubling), it(Flight.initial)),
        says="Slow start had reached {flight.most} in flight.",
        why="Slow start begins with ten segments and doubles them each round trip.",
        source="RFC 5681 section 3.1; RFC 6928",
    ),
    Rule(
        id="cwnd-regrowth",
        limit="cwnd",
        holds=all_of(
            at_least(Loss.rounds_since, 0, because="there was a loss"), not_(it(Flight.regrown)), MOVED
        ),
        says="The congestion window was growing again, {loss.rounds_since} after a loss: {flight.most} in flight.",
        why="CUBIC and Reno need half a round or more per segment in flight to regain what a loss took.",
        source="RFC 9438 section 4.3",
    ),
    Rule(
        id="cwnd-fixed",
        limit="cwnd",
        holds=all_of(
            at_most(Flight.spread, 0.05, because="one segment in a flight of twenty"),
            at_most(Flight.drift, 0.05, because="less than a segment in sixteen rounds"),
            ALL_ANSWERED,
            at_least(AckClock.bursts, 1, because="unpaced segments leave in bursts"),
            not_(TIMER),
            WHOLE,
            MOVED,
        ),
        unless=WAY_BACK,
        says="The flight stayed at {flight.most}, and {ack_clock.ack_response} of the acknowledgments released whole "
        "segments.",
        why="Data waited for acknowledgments, yet the congestion window did not grow: a setting clamps it.",
        source="ip-route(8): cwnd lock",
        detail="fixed window",
    ),
    Rule(
        id="cwnd-paced",
        limit="cwnd",
        holds=all_of(
            STABLE,
            ALL_ANSWERED,
            any_of(at_most(AckClock.bursts, 1, because="paced segments leave without pauses"), TIMER),
            WHOLE,
            MOVED,
        ),
        unless=WAY_BACK,
        says="Whole segments went out evenly, with {flight.most} in flight; window and link were not full.",
        why="Pacing spaces segments, or bursts of some, equally where neither window nor link holds them.",
        source="Linux tcp_update_pacing_rate(); draft-ietf-ccwg-bbr section 4.6",
        detail="pacing",
    ),
    Rule(
        id="cwnd-growth",
        limit="cwnd",
        holds=all_of(at_least(Flight.drift, 0.15, because=SLOWEST_GROWTH), SOME_ANSWERED, MOVED),
        says="The flight moved by {flight.drift} a round, with {flight.most} in flight; window and link were not full.",
        why="A congestion window grows by about a segment a round, and falls after a loss.",
        source="RFC 5681 section 3.1; RFC 9438 section 4",
    ),
    Rule(
        id="cwnd-clocked",
        limit="cwnd",
        holds=all_of(
            any_of(at_least(AckClock.ack_response, 0.5, because="more than half"), it(AckClock.unseen)),
            WHOLE,
            MOVED,
        ),
        says="Whole segments went out as acknowledgments came, with {flight.most} in flight; window and link were not "
        "full.",
        why="Whole segments waited for acknowledgments: only the congestion window held them.",
        source="Jacobson, Congestion Avoidance and Control, 1988, section 1",
    ),
)

DETAILS: Final = {
    "outage": it(Loss.outage),
    "recovery": REPAIR,
    "return path": WAY_BACK,
    "late acknowledgments": it(Queue.delayed_ack),
    "slow start": any_of(it(Flight.doubling), it(Flight.initial)),
    "avoidance": None,
}
