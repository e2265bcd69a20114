"""Lookups of names that waited for their resolver: programs open no connection before it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.explain.notable import NOTICED_NS
from bdpcap.explain.once import once
from bdpcap.words import units
from bdpcap.words.endpoints import host

if TYPE_CHECKING:
    import pandas as pd

    from bdpcap.capture import Capture

__all__ = ["sentence"]

PORT: Final = ":53"
"""End of the endpoint of a DNS resolver (RFC 1035 section 4.2.1)."""
SOON: Final = 0.1
"""Most of a wait that passes after its last query where the wait was for a lost packet; a choice."""
AGAIN: Final = 2
"""Fewest queries of a lookup that its resolver left without an answer: a client gave up waiting for the first."""


@once
def sentence(capture: Capture) -> str:
    """Return the words on lookups over UDP with a late answer, or none; empty if all had theirs soon.

    A lookup is the first query of a client's port to a resolver, as clients take a new port for each (RFC 5452 section
    9.2). Its wait lasts until the first answer, so it holds the time of queries sent again.
    """
    if not capture.info.datagrams:
        return ""
    asked = _asked(capture.datagrams)
    late = asked[asked["waited_ns"] >= NOTICED_NS]
    silent = asked[asked["waited_ns"].isna() & (asked["packets"] >= AGAIN)]
    if late.empty and silent.empty:
        return ""
    # Some clients ask for two addresses from one port, and the answer to one hides the wait for the other.
    least = "At least " if (asked["answers"] > 1).any() else ""
    count = len(silent if late.empty else late)
    some = f"{least}{units.count(count)} of {units.number(len(asked), 'DNS lookup')}"
    if late.empty:
        return f"{some} had no answer of {_resolvers(silent)}, though they were sent again."
    more = "" if silent.empty else f" {least}{units.count(len(silent))} more had none."
    longest = units.duration(int(late["waited_ns"].max()))
    why = (
        ". Most were answered soon after they were sent again: queries or answers were lost."
        if 2 * _were_lost(late).sum() > len(late)
        else ": see that resolver, and the path to it."
    )
    return f"{some} waited for a second or more, {longest} at most, for {_resolvers(late)}{why}{more}"


def _were_lost(late: pd.DataFrame) -> pd.Series[bool]:
    """Return which lookups were answered soon after a repeat: then packets were lost, and the resolver was not slow."""
    last_ns = late["start_ns_answer"] - late["end_ns"]
    lost: pd.Series[bool] = (late["packets"] >= AGAIN) & last_ns.between(0, late["waited_ns"] * SOON)
    return lost


def _asked(datagrams: pd.DataFrame) -> pd.DataFrame:
    """Return the flows of queries, with the number of answers, and the wait for the first in ns; null without one."""
    queries = datagrams[datagrams["receiver"].str.endswith(PORT)]
    answers = datagrams[datagrams["sender"].str.endswith(PORT)]
    both = queries.merge(
        answers[["sender", "receiver", "start_ns", "packets"]].rename(columns={"packets": "answers"}),
        how="left",
        left_on=["sender", "receiver"],
        right_on=["receiver", "sender"],
        suffixes=("", "_answer"),
    )
    waited_ns = (both["start_ns_answer"] - both["start_ns"]).astype("Float64")
    # An answer before the first query is to one before the capture.
    return both.assign(waited_ns=waited_ns)[waited_ns.isna() | (waited_ns > 0)]


def _resolvers(asked: pd.DataFrame) -> str:
    names = asked["receiver"].map(host).value_counts().index
    return str(names[0]) if len(names) == 1 else f"{names[0]} and {units.number(len(names) - 1, 'other')}"
