"""The send buffer: it could hold no more unacknowledged data.

Linux wakes a writer that waits for room when a third of the buffer is free (``sk_stream_write_space``). The writer fills
the buffer and waits again. So the flight stays constant, though the window and the link would allow more.
"""

from __future__ import annotations

from typing import Final

from bdpcap.limits.evidence import AckClock, Flight, Loss
from bdpcap.limits.rule import MEASURED, Rule, all_of, any_of, at_least, at_most, it, not_
from bdpcap.limits.rules.common import (
    EITHER,
    MOSTLY_OWN,
    ONCE,
    OWN_TIME,
    SLOWEST_GROWTH,
    SOME_ANSWERED,
    STANDS,
    STARTED_ONCE,
    UNANSWERED,
)

__all__ = ["RULES"]

BLOCKED = at_least(AckClock.blocked_share, 0.75, because=MEASURED)
REPAIRING = all_of(not_(it(Loss.none_recent)), not_(it(Flight.refilled))).named(
    "only repairs", "After a loss, acknowledgments released no new data: no writer waited for room."
)

RULES: Final = (
    Rule(
        id="sndbuf-standing",
        limit="sndbuf",
        holds=STANDS,
        says="The flight stayed at {flight.most}, and data ran out in {writes.short_rounds} of the rounds: the send "
        "buffer held no more.",
        why="A congestion window moves and has whole segments waiting. A flight that stays at one size and ends in short "
        "segments is a send buffer's.",
        source="Linux sk_stream_write_space(); RFC 5681 section 3.1",
        blind="A program that writes one block for each block acknowledged looks the same.",
        alternatives={
            "app": any_of(all_of(ONCE, not_(STARTED_ONCE)), EITHER),
            "cwnd": it(AckClock.unseen),
        },
    ),
    Rule(
        id="sndbuf-blocked",
        limit="sndbuf",
        holds=all_of(
            UNANSWERED,
            not_(at_most(AckClock.blocked_share, 0.5, because="more than half")),
            at_most(AckClock.empty_starts, 1, because="a blocked writer keeps data in flight"),
        ),
        unless=any_of(
            OWN_TIME,
            REPAIRING,
            it(Flight.second),
            all_of(it(Flight.opening), not_(BLOCKED)),
            all_of(it(Flight.reduced), SOME_ANSWERED, not_(BLOCKED)),
        ),
        says="The writer was blocked: only {ack_clock.ack_response} of the acknowledgments were answered at once, with "
        "{flight.most} in flight.",
        why="Linux wakes a blocked writer only when a third of its buffer is free.",
        source="Linux sk_stream_write_space(), sk_stream_min_wspace()",
        blind="With autotuning, the buffer grows with the congestion window, and they take turns.",
        alternatives={
            "app": MOSTLY_OWN,
            "cwnd": at_least(Flight.drift, 0.15, because=SLOWEST_GROWTH),
        },
    ),
    Rule(
        id="sndbuf-exact",
        limit="sndbuf",
        holds=all_of(
            it(Flight.exact),
            at_least(Flight.peak_share, 0.75, because="three of four rounds"),
            at_most(AckClock.empty_starts, 1, because="a blocked writer keeps data in flight"),
            it(Flight.regrown),
            it(Flight.moved),
        ),
        says="The flight ended at {flight.most}, to the byte, in {flight.peak_share} of the rounds: the send buffer held "
        "no more.",
        why="A congestion window holds whole segments. A flight that ends at the same byte again and again, within a "
        "segment, has a bound in bytes.",
        source="FreeBSD and XNU sosend_generic(): sbspace(); RFC 5681 section 3.1",
        blind="A program that keeps a fixed number of bytes unacknowledged looks the same.",
        alternatives={"app": it(AckClock.reconstructed)},
    ),
)
