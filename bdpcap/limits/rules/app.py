"""The application: the sending program offered no more data.

Idle time, sends with nothing in flight, and bursts that no acknowledgment released have no other cause. A single short
segment proves nothing, since the data of a full send buffer end in one, too.
"""

from __future__ import annotations

from typing import Final

from bdpcap.limits.evidence import AckClock, Flight, Loss, Queue, Writes
from bdpcap.limits.rule import MEASURED, Rule, all_of, any_of, at_least, at_most, it, not_
from bdpcap.limits.rules.common import (
    BY_WRITES,
    DELAYED_BY_WINDOW,
    EITHER,
    EQUAL_BLOCKS,
    FOLLOWED,
    LATER,
    MOSTLY_OWN,
    OPEN,
    OWN_TIME,
    PRECISE,
    QUEUED,
    SHORT_ROUNDS,
    STABLE,
    STANDS,
    STARTED_ONCE,
    STEADY,
    TIMER,
    UNANSWERED,
)

__all__ = ["DETAILS", "RULES"]

HELD_OR_STANDS = any_of(DELAYED_BY_WINDOW, it(Writes.long_message), it(Loss.outage), STANDS).named(
    "held by something else",
    "The sender had data left, but a window, a long message's congestion window, an outage or a send buffer held it.",
)
OWN_PACE = all_of(STEADY, OWN_TIME, at_least(Queue.pauses, 0.5, because="more than half")).named(
    "a program's pace",
    "Bursts come at other times than acknowledgments, with pauses between, and the flight stays the same. Away from the "
    "sender, the program's wait counts as RTT and looks like a queue.",
)
EQUAL_WRITES = all_of(
    STEADY,
    SHORT_ROUNDS,
    any_of(
        # A writer waits for a third of its send buffer, so one pause per round trip is a third of it or longer.
        all_of(
            at_most(Writes.short_per_burst, 1.25, because="one a burst, but for some"),
            at_most(
                AckClock.longest_period,
                0.3,
                because="a third of the buffer takes a third of the round trip, less a segment",
            ),
        ),
        all_of(it(Writes.constant_amount), not_(STARTED_ONCE)),
    ),
).named(
    "equal writes",
    "Data ran out in each round trip. Unlike with a full send buffer, the amount sent is constant while the flight "
    "varies, or no pause lasts a third of a round trip.",
)
# Acknowledgments arrive at the sender later than a tap elsewhere computes, so that their bursts look like its own.
ONE_PEAK = all_of(
    it(AckClock.reconstructed),
    at_least(Flight.peak_share, 0.75, because="three of four rounds"),
    not_(at_most(AckClock.period_spread, 0.15, because="timers have 0.02 to 0.08: measured")),
    at_least(
        AckClock.freed_share, 0.3, because="Linux wakes a writer at a third of the buffer, less a segment"
    ),
).named(
    "one peak",
    "Bursts at unequal intervals, each after a third of the flight was acknowledged, fill the flight to one peak, to the "
    "byte. No program's own pace does that; a send buffer does.",
)
ANSWERED_EACH = at_least(Writes.messages_per_reply, 0.75, because="one a reply, but for some")
OPENING = it(Flight.opening)
LOSS = not_(it(Loss.none_recent))

SMALL_WRITES = at_least(Writes.short, 3, because="one is a message, and another ends a long one")
SEVERAL = at_least(AckClock.bursts, 2, because="an interval lies between two bursts")

RULES: Final = (
    Rule(
        id="app-idle",
        limit="app",
        holds=any_of(
            all_of(any_of(it(Writes.idle), it(Writes.drained)), OPEN),
            it(Writes.finished),
            all_of(any_of(it(Flight.whole), it(Writes.complete)), it(Loss.none_recent)),
        ),
        unless=it(Loss.outage),
        says="The program had nothing left to send.",
        why="Nothing is sent until the pipe is empty though the sender has the turn. Or the FIN came with "
        "the last data, or one flight held all data, or a whole message that the peer answered.",
        source="RFC 9293 section 3.6",
    ),
    Rule(
        id="app-own-time",
        limit="app",
        holds=any_of(
            all_of(
                MOSTLY_OWN,
                at_least(Writes.short_per_burst, 0.5, because="more than half"),
                not_(FOLLOWED),
            ),
            all_of(UNANSWERED, LATER, SHORT_ROUNDS),
            OWN_PACE,
            EQUAL_WRITES,
        ),
        unless=any_of(HELD_OR_STANDS, ONE_PEAK, OPENING, LOSS, all_of(QUEUED, not_(OWN_PACE))),
        says="Bursts came at times of the program's own, {ack_clock.bursts} a round, not when acknowledgments did.",
        why="A timer or a user starts what no acknowledgment calls for. Such a burst ends in a short segment, since "
        "no application knows the size of segments.",
        alternatives={"sndbuf": all_of(EITHER, STEADY)},
    ),
    Rule(
        id="app-starts",
        limit="app",
        holds=at_least(
            AckClock.own_starts,
            3,
            because="one may be the first message, another follow an outage or the greeting",
        ),
        unless=any_of(HELD_OR_STANDS, ONE_PEAK, OPENING, LOSS),
        says="The program began to send {ack_clock.own_starts} times in nine rounds, with nothing in flight.",
        why="Nothing was waiting to be sent when all data had been acknowledged.",
        alternatives={"sndbuf": all_of(STABLE, any_of(EITHER, it(AckClock.unseen)))},
    ),
    Rule(
        id="app-blocks",
        limit="app",
        holds=any_of(
            all_of(UNANSWERED, BY_WRITES),
            all_of(TIMER, any_of(BY_WRITES, all_of(SHORT_ROUNDS, PRECISE, SEVERAL, not_(QUEUED)))),
            all_of(STEADY, EQUAL_BLOCKS),
        ),
        unless=HELD_OR_STANDS,
        says="Each burst was one write of the program; data ran out in {writes.short_rounds} of the rounds.",
        why="Bursts from a send buffer end anywhere in a write, or the flight stays at one size.",
        blind="A timer in phase with the acknowledgments, whose writes fill the same flight, looks like a send buffer.",
        alternatives={"sndbuf": EQUAL_BLOCKS},
    ),
    Rule(
        id="app-short",
        limit="app",
        holds=all_of(
            SMALL_WRITES,
            at_least(Writes.short_share, 0.9, because="nearly all"),
            at_most(Writes.segment_fill, 0.9, because="options take less than a tenth of a segment"),
        ),
        unless=any_of(HELD_OR_STANDS, LOSS, QUEUED),
        says="{writes.short_share} of the segments were short, with {writes.segment_fill} of the MSS on average.",
        why="Segments would have been full, had there been more to send.",
        source="RFC 9293 section 3.7.4 (Nagle)",
        detail="small writes",
    ),
    Rule(
        id="app-below-least",
        limit="app",
        holds=it(Flight.below_least),
        unless=HELD_OR_STANDS,
        says="Less than two segments were in flight: there was nothing more to send.",
        why="Two segments are the least that a congestion window or a buffer holds.",
        source="RFC 5681 section 3.1",
    ),
    Rule(
        id="app-conversation",
        limit="app",
        holds=any_of(
            all_of(
                at_least(Writes.replied, 5, because="more than half of nine rounds"),
                any_of(UNANSWERED, ANSWERED_EACH),
            ),
            all_of(
                ANSWERED_EACH, it(Writes.called), at_least(Writes.after_short_share, 0.75, because=MEASURED)
            ),
        ),
        unless=any_of(HELD_OR_STANDS, LOSS, QUEUED),
        says="The program waited for its peer's replies, which came in {writes.replied} of nine rounds.",
        why="An application that waits for an answer has nothing to send until it comes.",
    ),
)

SENDING = all_of(not_(it(Writes.idle)), not_(it(Writes.finished)))

DETAILS: Final = {
    "response time": it(Writes.answering),
    "own window": all_of(
        at_least(Writes.replies, 9, because="a reply in each of nine rounds"),
        STABLE,
        at_least(Flight.segments, 10, because="the initial window: RFC 6928"),
        SENDING,
    ),
    "small writes": all_of(
        SMALL_WRITES,
        at_least(Writes.short_share, 0.5, because="more than half"),
        at_most(Writes.empty_share, 1 / 3, because=MEASURED),
        SENDING,
    ),
    "idle": None,
}
