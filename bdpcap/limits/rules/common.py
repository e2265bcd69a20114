"""Conditions that rules of several limits share."""

from __future__ import annotations

from typing import Final

from bdpcap.limits.evidence import AckClock, Flight, Loss, Queue, Window, Writes
from bdpcap.limits.evidence.ack_clock import SELDOM
from bdpcap.limits.rule import all_of, any_of, at_least, at_most, it, not_

__all__ = [
    "BY_WRITES",
    "CLOSED",
    "DELAYED_BY_WINDOW",
    "FOLLOWED",
    "FULL",
    "MOSTLY_OWN",
    "OPEN",
    "OWN_TIME",
    "QUEUED",
    "SHORT_ROUNDS",
    "SOME_ANSWERED",
    "STABLE",
    "STANDS",
    "STEADY",
    "TIMER",
    "UNANSWERED",
]

# A window that is full for this share of the round limits the sender at any rate.
FULL: Final = at_least(Window.full_share, 0.3)
# A window that is closed for this share of the round stops the sender; below it, the window counts as open.
_CLOSED_SHARE: Final = 0.1
CLOSED: Final = at_least(Window.closed_share, _CLOSED_SHARE)
OPEN: Final = at_most(Window.closed_share, _CLOSED_SHARE)
# The flight varies no more than this around its mean.
STABLE: Final = at_most(Flight.spread, 0.1)
# Each burst ends in a short segment: it is one write.
BY_WRITES: Final = at_least(Writes.bursts_after_short, 0.75)
# Data ran out in nearly each round.
SHORT_ROUNDS: Final = at_least(Writes.short_rounds, 0.75)
# Most data came at other times than acknowledgments.
MOSTLY_OWN: Final = at_least(AckClock.own_time_share, 0.5)
# Some acknowledgments released data at once, so data waited for them.
SOME_ANSWERED: Final = at_least(AckClock.ack_response, 0.3)
# Bursts follow acknowledgments so soon that these probably start them.
FOLLOWED: Final = at_most(AckClock.chance, SELDOM)

UNANSWERED: Final = at_most(AckClock.ack_response, 0.7).named(
    "acknowledgments unanswered", "Nothing waited for the acknowledgments, or the writer was blocked."
)

QUEUED: Final = all_of(at_least(Queue.share, 0.95), at_least(Queue.packets, 3)).named(
    "queued throughout", "A queue stood nearly all the round."
)

DELAYED_BY_WINDOW: Final = any_of(at_least(Window.full_share, 0.5), CLOSED).named(
    "no room in the window", "The window was full for much of the round, or closed for a part of it."
)

TIMER: Final = all_of(
    at_most(AckClock.period_spread, 0.15),
    not_(all_of(at_least(AckClock.period, 0.85), at_most(AckClock.period, 1.25))),
).named(
    "equal intervals",
    "A timer's bursts come at equal intervals, several in a round trip. "
    "Those of acknowledgments come with a pause in each round trip, or once in it.",
)

STEADY: Final = all_of(STABLE, at_most(Flight.drift, 0.15), at_most(Window.full_share, 0.3)).named(
    "a steady flight", "The flight stays the same, and the window has room."
)

OWN_TIME: Final = all_of(MOSTLY_OWN, at_least(AckClock.chance, 1)).named(
    "bursts at other times",
    "Most data come in bursts later after an acknowledgment than bursts at random times would.",
)

STANDS: Final = all_of(
    STEADY,
    not_(TIMER),
    # A writer fills a third of the buffer at a time: three bursts a round trip, some a third of it or more apart.
    at_least(AckClock.longest_period, 0.3),
    any_of(
        at_most(Writes.replies, 3),
        all_of(at_most(AckClock.replied_share, 0.2), at_most(AckClock.empty_starts, 1)),
    ),
    not_(it(Flight.opening)),
    not_(at_least(AckClock.empty_starts, 7)),
    not_(MOSTLY_OWN),
    it(Loss.none_recent),
    any_of(
        all_of(at_least(Writes.short_rounds, 0.4), FOLLOWED),
        all_of(it(AckClock.unseen), it(Flight.regrown)),
    ),
    not_(it(Writes.constant_amount)),
).named(
    "a buffer's flight",
    "The flight stays the same, data ran out again and again, and acknowledgments start the bursts.",
)
