"""Messages that a server sends unasked, between requests that it answers: nobody waits for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.diagnosis.model import Nature
from bdpcap.diagnosis.nearly_all import initial_window_bytes
from bdpcap.explain.findings.requests import FEWEST
from bdpcap.explain.notable import NOTICED_NS
from bdpcap.words import units
from bdpcap.words.endpoints import host

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from bdpcap.capture import Flow

__all__ = ["NATURE"]

MOST: Final = 0.5
"""Share of the program's pauses in which nobody had asked, from which on they are no waits."""


def _pauses(flow: Flow) -> pd.DataFrame:
    """Return the rounds in which the program had nothing to send, and nothing was in flight."""
    return flow.rtts[(flow.rtts["limit"] == "app") & (flow.rtts["in_flight_max_bytes"] == 0)]


def _unasked_ns(flow: Flow) -> NDArray[np.int64]:
    """Return for each of `_pauses` the time after the last answer, with no request since then."""
    each, pauses = flow._requests, _pauses(flow)
    start_ns, end_ns = (pauses[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    asked_ns = each["request_start_ns"].to_numpy(np.int64)
    answered_ns = each["response_end_ns"].to_numpy(np.int64)
    # The exchange that began last before the pause ended.
    last = np.searchsorted(asked_ns, end_ns) - 1
    free_ns = np.where(last >= 0, answered_ns[last], np.iinfo(np.int64).max)
    unasked_ns: NDArray[np.int64] = np.maximum(end_ns - np.maximum(start_ns, free_ns), 0)
    return unasked_ns


def _is_unasked(flow: Flow) -> bool:
    """Return whether a server that answered requests also sent small messages, after pauses in which nobody asked."""
    if flow.summary["limit"] != "app" or flow.is_from_client or not flow.capture._contents.has_exchanges:
        return False
    pauses = _pauses(flow)
    if len(flow._requests) < FEWEST or pauses.empty:
        return False
    small = flow.rtts["acked_bytes"].sum() / len(flow.rtts) < initial_window_bytes(flow)
    paused_ns, unasked_ns = int((pauses["end_ns"] - pauses["start_ns"]).sum()), _unasked_ns(flow)
    return bool(small and unasked_ns.max() >= NOTICED_NS and unasked_ns.sum() > MOST * paused_ns)


def _said(flow: Flow) -> str:
    longest = units.duration(int(_unasked_ns(flow).max()))
    number = units.number(len(flow._requests), "time")
    return (
        f"The ends took turns {number}, and it also sent without a new request: {longest} after an answer, at the "
        "longest."
    )


def _advice(flow: Flow) -> tuple[str, str]:
    server = host(flow.sender)
    return "", f"Nothing to mend on the path: {server} had news, or answered one of several requests late."


NATURE: Final = Nature(
    "messages now and then",
    _is_unasked,
    _said,
    _advice,
)
