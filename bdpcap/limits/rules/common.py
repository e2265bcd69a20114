"""Conditions that rules of several limits share."""

from __future__ import annotations

from typing import Final

from bdpcap.limits.evidence import AckClock, Flight, Loss, Queue, Window, Writes
from bdpcap.limits.evidence.ack_clock import SELDOM
from bdpcap.limits.rule import MEASURED, all_of, any_of, at_least, at_most, it, not_

__all__ = [
    "BY_WRITES",
    "CLOSED",
    "DELAYED_BY_WINDOW",
    "EITHER",
    "EQUAL_BLOCKS",
    "FOLLOWED",
    "FULL",
    "LATER",
    "MOSTLY_OWN",
    "ONCE",
    "OPEN",
    "OWN_TIME",
    "PRECISE",
    "QUEUED",
    "SHORT_ROUNDS",
    "SLOWEST_GROWTH",
    "SOME_ANSWERED",
    "STABLE",
    "STANDS",
    "STARTED_ONCE",
    "STEADY",
    "TIMER",
    "UNANSWERED",
]

SLOWEST_GROWTH: Final = (
    "CUBIC adds 0.26 a round or more with delayed ACKs (RFC 9438 section 4.3); half of that shows"
)

# A window that is full for this share of the round limits the sender at any rate.
FULL: Final = at_least(
    Window.full_share,
    0.25,
    because="a window of three quarters of the BDP is full for a quarter of the round",
)
_CLOSED_SHARE: Final = 0.1
"""Share of a round with a closed window from which the window stops the sender; below it, the window counts as open."""
_UPDATE: Final = "a window that opens at once is closed for one segment time of ten or more"
CLOSED: Final = at_least(Window.closed_share, _CLOSED_SHARE, because=_UPDATE)
OPEN: Final = at_most(Window.closed_share, _CLOSED_SHARE, because=_UPDATE)
# The flight rises to one level.
_LEVEL: Final = at_least(
    Flight.level_share,
    0.75,
    because="0.85 to 1 under a send buffer, 0.05 to 0.3 under a congestion window: measured",
)
# The flight varies no more than this around its mean, or has one level.
STABLE: Final = any_of(
    at_most(
        Flight.spread,
        0.1,
        because="standing flights have 0.003 to 0.1, congestion windows 0.2 to 1.1: measured",
    ),
    _LEVEL,
)
# Each burst ends in a short segment: it is one write.
BY_WRITES: Final = at_least(Writes.bursts_after_short, 0.75, because=MEASURED)
# Data ran out in nearly each round.
SHORT_ROUNDS: Final = at_least(Writes.short_rounds, 0.75, because=MEASURED)
# Most data came at other times than acknowledgments.
MOSTLY_OWN: Final = at_least(AckClock.own_time_share, 0.5, because="more than half")
# Some acknowledgments released data at once, so data waited for them.
SOME_ANSWERED: Final = at_least(
    AckClock.ack_response,
    1 / 3,
    because="a blocked writer answers few ACKs: it is woken when a third of the buffer is free",
)
# Bursts follow acknowledgments so soon that these probably start them.
FOLLOWED: Final = at_most(
    AckClock.chance,
    SELDOM,
    because="bursts at random times have 1 in the mean, those that an ACK starts nearly 0",
)

UNANSWERED: Final = at_most(AckClock.ack_response, 0.75, because=MEASURED).named(
    "acknowledgments unanswered", "Nothing waited for the acknowledgments, or the writer was blocked."
)

QUEUED: Final = all_of(
    at_least(Queue.share, 0.95, because="all but the edges of the round"),
    at_least(Queue.packets, 3, because="an ACK of two segments delays by two"),
).named("queued throughout", "Packets queued nearly all the round.")

DELAYED_BY_WINDOW: Final = any_of(at_least(Window.full_share, 0.5, because="more than half"), CLOSED).named(
    "no room in the window", "The window was full for much of the round, or closed for a part of it."
)

# One burst a round trip, or fewer.
ONCE: Final = at_least(AckClock.period, 0.8, because="once a round trip, as near as RTTs vary")

# Equal intervals, as only a timer keeps them.
PRECISE: Final = at_most(AckClock.period_spread, 0.08, because="timers have 0.02 to 0.08: measured")

TIMER: Final = all_of(
    at_most(
        AckClock.period_spread,
        0.15,
        because="timers have 0.02 to 0.08, writers that wait for ACKs about 1: measured",
    ),
    not_(
        all_of(
            ONCE,
            at_most(AckClock.period, 1.25, because="once a round trip, as near as RTTs vary"),
        )
    ),
).named(
    "equal intervals",
    "A timer's bursts come at equal intervals, several in a round trip. "
    "Those of acknowledgments come with a pause in each round trip, or once in it.",
)

STEADY: Final = all_of(
    STABLE,
    at_most(Flight.drift, 0.15, because=SLOWEST_GROWTH),
    not_(FULL),
).named("a steady flight", "The flight stays the same, and the window has room.")

LATER: Final = at_least(AckClock.chance, 1, because="the mean of bursts at random times")
OWN_TIME: Final = all_of(MOSTLY_OWN, LATER).named(
    "bursts at other times",
    "Most data come in bursts later after an acknowledgment than bursts at random times would.",
)

# Acknowledgments start the bursts; those of a timer drift away from them.
_STARTED: Final = at_least(AckClock.started_share, 0.9, because="nearly all")
STARTED_ONCE: Final = all_of(ONCE, _STARTED)

# Nearly each round trip sends the same amount, to the byte.
_EQUAL_AMOUNTS: Final = at_least(Writes.equal_amounts, 0.75, because=MEASURED)

EQUAL_BLOCKS: Final = all_of(
    ONCE,
    at_least(AckClock.freed_share, 0.5, because="netstack wakes a writer at half, Linux at a third"),
    _EQUAL_AMOUNTS,
    not_(_LEVEL),
).named(
    "equal blocks",
    "Each round trip sends the same amount, to the byte, and the flight rises to another level each time. A writer that "
    "waited for half of a buffer fills it to one level.",
)

# Away from the sender, a buffer's flight stands, and so does a timer's whose writes have one size.
EITHER: Final = all_of(it(AckClock.reconstructed), _EQUAL_AMOUNTS, not_(TIMER))

# The flight ends at the same byte in round after round, whatever it did before.
_RUN: Final = at_least(Flight.run, 8, because="eight flights in a row that end at one byte are no chance")

STANDS: Final = all_of(
    any_of(STEADY, _RUN),
    any_of(
        not_(TIMER),
        # A write larger than the buffer leaves in one burst, once all of the write before it is acknowledged.
        all_of(UNANSWERED, _STARTED),
    ),
    # A writer fills a third of the buffer at a time: three bursts a round trip, some a third of it or more apart.
    at_least(
        AckClock.longest_period,
        0.3,
        because="a third of the buffer takes a third of the round trip, less a segment",
    ),
    any_of(
        at_most(Writes.replies, 3, because="one reply in three rounds"),
        all_of(
            at_most(AckClock.replied_share, 0.25, because=MEASURED),
            at_most(AckClock.empty_starts, 1, because="a blocked writer keeps data in flight"),
        ),
    ),
    not_(it(Flight.opening)),
    not_(at_least(AckClock.empty_starts, 7, because="nearly one in each of nine rounds")),
    not_(MOSTLY_OWN),
    not_(EQUAL_BLOCKS),
    it(Loss.none_recent),
    any_of(
        all_of(at_least(Writes.short_rounds, 0.5, because="more than half"), FOLLOWED),
        all_of(it(AckClock.unseen), it(Flight.regrown)),
    ),
    any_of(not_(it(Writes.constant_amount)), STARTED_ONCE),
).named(
    "a buffer's flight",
    "The flight stays the same, data ran out again and again, and acknowledgments start the bursts.",
)
