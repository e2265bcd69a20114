"""Time of a stream's exchanges, divided between server, client and network."""

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
    """Time of a stream's exchanges, divided between the sides that took it."""

    count: int
    """Exchanges whose times are known."""
    lasting_ns: int
    """Total duration of the counted exchanges, pauses between them included."""
    parts: dict[str, float]
    """Share of `lasting_ns` by side (``server``, ``network``, ``client``), largest first."""
    medians_ns: dict[str, int]
    """Median time per exchange, by side."""
    bytes_share: float
    """Share of the stream's payload in counted exchanges; the rest went both ways at once or got no response."""


def shares(flow: Flow) -> Shares | None:
    """Return the sums over the exchanges of a flow's stream; None where no exchange has known times."""
    table = flow.exchanges.dropna(subset=["server_ns", "network_ns"])
    lasting = int(table["duration_ns"].sum())
    if lasting <= 0:
        return None
    taken = {side: int(table[f"{side}_ns"].sum()) for side in ("server", "network")}
    taken["client"] = lasting - sum(taken.values())
    payload = int(np.sum(flow.capture._contents.streams.sides(flow.stream)["payload_bytes"]))
    exchanged = int(table["request_bytes"].sum() + table["response_bytes"].sum())
    return Shares(
        count=len(table),
        lasting_ns=lasting,
        parts={side: taken[side] / lasting for side in sorted(taken, key=lambda side: -taken[side])},
        medians_ns={side: int(table[f"{side}_ns"].fillna(0).median()) for side in taken},
        bytes_share=exchanged / max(1, payload),
    )


def slowest(flow: Flow, side: str, most: int) -> pd.DataFrame:
    """Return the `most` exchanges of a flow's stream in which one side took longest, longest first."""
    return flow.exchanges.dropna(subset=[f"{side}_ns"]).nlargest(most, f"{side}_ns")
