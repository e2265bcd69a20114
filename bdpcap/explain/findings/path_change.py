"""A change of the path: the least round trip steps from one level to another, and stays there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.explain.findings.finding import Certainty, Code, Finding
from bdpcap.words import units

if TYPE_CHECKING:
    import pandas as pd

    from bdpcap.capture import Flow

__all__ = ["explains"]

ROUNDS: Final = 16
"""Rounds on either side that show the level of round trips."""
STEP: Final = 0.1
"""Change of the level, as a share of the lower one, from which the path changed: levels of one path vary by less."""
STEP_NS: Final = 1_500_000
"""Least change of the level, ns: more than the error of a timestamp clock of 1 ms."""
STEP_TICKS: Final = 2
"""Least change of the level, in ticks of the capture's clock: each of the two times may be a tick off, up or down."""
TIGHT: Final = 1.05
"""Median round trip of a level over its least: a queue or a busy host spreads round trips further."""
MORE: Final = 1.25
"""Flight of the slower level over that of the faster one from which a queue of the flow's own may have raised it."""


def explains(flow: Flow) -> list[Finding]:
    """Return a finding on the largest step of the least round trip; none if a queue or a program may have made it."""
    known = flow.rtts["rtt_ns"].notna()
    least_ns = max(STEP_NS, STEP_TICKS * int(flow._counts["tick_ns"]))
    at = _step(flow.rtts["rtt_ns"][known].to_numpy(float), least_ns)
    if at is None:
        return []
    rounds = flow.rtts[known]
    if _queued(rounds, at) or _paced(flow, rounds, at):
        return []
    before, after = (
        rounds.iloc[at - ROUNDS : at]["rtt_ns"].min(),
        rounds.iloc[at : at + ROUNDS]["rtt_ns"].min(),
    )
    first = rounds.iloc[at]
    since_ns = int(first["start_ns"] - flow.rtts["start_ns"].iloc[0])
    return [
        Finding(
            code=Code.PATH_CHANGED,
            sentence=f"The least round trip changed from {units.duration(before)} to {units.duration(after)}, "
            f"{units.duration(since_ns)} after the flow's start.",
            cause="Packets or acknowledgments took another way from then on, or the delay of a link changed.",
            evidence=f"rounds {rounds.iloc[at - ROUNDS]['round']} to {rounds.iloc[at + ROUNDS - 1]['round']}",
            values={
                "rtt_before_ns": int(before),
                "rtt_after_ns": int(after),
                "time_ns": int(first["start_ns"]),
            },
            certainty=Certainty.LIKELY,
            source="RFC 8985 section 6.2; levels of the rounds' RTTs",
        )
    ]


def _step(rtt_ns: np.ndarray, least_ns: int) -> int | None:
    """Return the index of the first round after the largest step between two tight levels; None below `least_ns`."""
    if len(rtt_ns) < 2 * ROUNDS:
        return None
    spans = np.lib.stride_tricks.sliding_window_view(rtt_ns, ROUNDS)
    least = spans.min(axis=1)
    tight = np.median(spans, axis=1) <= TIGHT * least
    before, after = least[:-ROUNDS], least[ROUNDS:]
    step = np.abs(after - before)
    clear = (step >= STEP * np.minimum(before, after)) & (step >= least_ns) & tight[:-ROUNDS] & tight[ROUNDS:]
    return int(np.where(clear, step, 0).argmax()) + ROUNDS if clear.any() else None


def _queued(rounds: pd.DataFrame, at: int) -> bool:
    """Say whether a queue may have raised the slower level: more was in flight, or the link was full."""
    sides = rounds.iloc[at - ROUNDS : at], rounds.iloc[at : at + ROUNDS]
    fast, slow = sorted(sides, key=lambda side: float(side["rtt_ns"].min()))
    more = slow["in_flight_max_bytes"].median() > MORE * fast["in_flight_max_bytes"].median()
    return bool(more or (slow["limit"] == "link").mean() > 1 / 2)


def _paced(flow: Flow, rounds: pd.DataFrame, at: int) -> bool:
    """Return whether the program's times may have made the step: away from the sender, a round trip ends in a write."""
    around = rounds.iloc[at - ROUNDS : at + ROUNDS]
    return bool(flow.summary["vantage"] != "sender" and (around["limit"] == "app").mean() > 1 / 2)
