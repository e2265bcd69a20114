"""Small messages at equal intervals of a second or more: a program's timer, such as a keep-alive or a poll."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.diagnosis import again
from bdpcap.diagnosis.model import Nature
from bdpcap.diagnosis.nearly_all import initial_window_bytes
from bdpcap.diagnosis.pauses import MANY, are_equal
from bdpcap.explain.exchange_shares import shares
from bdpcap.explain.notable import NOTICED_NS
from bdpcap.words import units

if TYPE_CHECKING:
    import pandas as pd

    from bdpcap.capture import Flow

__all__ = ["NATURE"]

FEWEST: Final = 3
"""Fewest intervals that show a timer: two may be equal by chance."""


def _intervals_ns(flow: Flow) -> pd.Series[float]:
    """Return the times from one exchange of a stream to the next, in ns."""
    return flow._requests["request_start_ns"].diff().dropna()


def _is_timer(flow: Flow) -> bool:
    if flow.summary["limit"] != "app" or not flow.capture._contents.has_exchanges:
        return False
    each = flow._requests
    if len(each) <= FEWEST:
        return False
    small = each[["request_bytes", "response_bytes"]].to_numpy().max() < initial_window_bytes(flow)
    between = _intervals_ns(flow)
    if not (small and are_equal(between) and between.median() >= NOTICED_NS):
        return False
    # A program that sleeps between other requests ends soon, and news have other sizes: a keep-alive repeats itself.
    alike = are_equal(each["request_bytes"]) and are_equal(each["response_bytes"])
    if len(between) < MANY and not alike:
        return False
    # News that a server sends between them have another pace.
    found = shares(flow)
    return found is not None and found.bytes_share > 1 / 2


def _every(flow: Flow) -> str:
    number = units.number(len(flow._requests), "small message")
    usual = units.duration(_intervals_ns(flow).median())
    more = f" {said}" if (said := again.said(flow)) else ""
    return f"{number} with an answer each, one every {usual}: a program's timer, such as a keep-alive.{more}"


def _advice(flow: Flow) -> tuple[str, str]:
    calm = "", "Nothing to mend: the timer sets the pace, and neither end waits for data."
    return again.advice(flow) or calm


NATURE: Final = Nature(
    "a timer's messages",
    _is_timer,
    _every,
    _advice,
)
