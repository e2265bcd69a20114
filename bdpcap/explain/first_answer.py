"""Waits for answers: from the end of a request to the first byte of its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from bdpcap.capture import Flow

__all__ = ["owed_ns", "waited_ns"]


def owed_ns(exchanges: pd.DataFrame) -> pd.Series[Any]:
    """Return the time in ns for which the server let its client wait in each exchange; null where it is unknown.

    Its later pauses within the answer are left out: they may be waits for news.
    """
    until_ns = exchanges["response_start_ns"] - exchanges["request_end_ns"]
    return exchanges["server_ns"].clip(upper=until_ns)


def waited_ns(flow: Flow) -> int:
    """Return the time in ns from a flow's first request to the first byte of its answer; 0 where that is unknown.

    Of a client, the request counts that held half of its data or more; of two, the one that waited longer. Without the
    handshake, either end may have asked.
    """
    exchanges = flow._requests
    if exchanges.empty or not flow._counts["handshake"]:
        return 0
    served = exchanges["server"].iloc[0] == flow.sender
    asked = exchanges.head(1)
    if not served:
        asked = exchanges[2 * exchanges["request_bytes"] >= flow.summary["payload_bytes"]]
    waited_ns = asked["response_start_ns"] - asked["request_end_ns"]
    return 0 if waited_ns.empty else int(waited_ns.max())
