"""Whose time the exchanges of a stream took: the server's, the client's or the network's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from bdpcap.capture import Flow

__all__ = ["Shares", "shares", "slowest"]


@dataclass(frozen=True, slots=True)
class Shares:
    """Whose time the exchanges of a stream took."""

    count: int
    """Exchanges whose times are known."""
    lasting_ns: int
    """All of these together, pauses between them included."""
    parts: dict[str, float]
    """Shares of ``server``, ``network`` and ``client``, largest first."""
    medians_ns: dict[str, int]
    """The median of an exchange, of each."""
    bytes_share: float
    """Of the stream's payload, what went in these exchanges; the rest went both ways at once, or got no answer."""


def shares(flow: Flow) -> Shares | None:
    """Sum the exchanges of a flow's stream up; None where none has known times."""
    table = flow.exchanges.dropna(subset=["server_ns", "network_ns"])
    lasting = int(table["duration_ns"].sum())
    if lasting <= 0:
        return None
    taken = {side: int(table[f"{side}_ns"].sum()) for side in ("server", "network")}
    taken["client"] = lasting - sum(taken.values())
    payload = int(np.sum(flow.capture.sides(flow.stream)["payload_bytes"]))
    exchanged = int(table["request_bytes"].sum() + table["response_bytes"].sum())
    return Shares(
        count=len(table),
        lasting_ns=lasting,
        parts={side: taken[side] / lasting for side in sorted(taken, key=lambda side: -taken[side])},
        medians_ns={side: int(table[f"{side}_ns"].fillna(0).median()) for side in taken},
        bytes_share=exchanged / max(1, payload),
    )


def slowest(flow: Flow, side: str, most: int) -> pd.DataFrame:
    """Return the exchanges of a flow's stream that took most of one side's time, longest first."""
    return flow.exchanges.dropna(subset=[f"{side}_ns"]).nlargest(most, f"{side}_ns")
