"""A server that let many connections wait, each for its only answer: no flow of them is large enough for an entry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.diagnosis.natures.short import NOTICED_NS
from bdpcap.explain.gateways import gateway
from bdpcap.words import units

if TYPE_CHECKING:
    import pandas as pd

    from bdpcap.capture import Capture

__all__ = ["sentence"]

_FEWEST: Final = 3
"""Fewest slow answers that show a habit of a server; a choice: one or two may be chance."""
_PART: Final = 1 / 4
"""Share of a server's answers from which on the slow ones are no exceptions; a choice."""


def sentence(capture: Capture, flows: pd.DataFrame) -> str:
    """Return a sentence on the server with most slow answers in some flows; empty without such a server.

    A connection with several exchanges may wait for news. One that is opened for a request waits for its answer.
    """
    slow = flows[(flows["limit"] == "app") & (flows["active_ns"] >= NOTICED_NS)]
    if len(slow) < _FEWEST or not capture._contents.has_exchanges:
        return ""
    each = capture.exchanges
    each = each[each["stream"].isin(flows["stream"]) & ~each["tls_handshake"]]
    only = each[~each["stream"].duplicated(keep=False)]
    # A server may go on later with other news.
    waited_ns = only["server_ns"].fillna(0).clip(upper=only["response_start_ns"] - only["request_end_ns"])
    late = only[waited_ns >= NOTICED_NS]
    if late.empty:
        return ""
    server = late["server"].value_counts().index[0]
    own, waited_ns = late[late["server"] == server], waited_ns[only["server"] == server]
    if len(own) < max(_FEWEST, _PART * len(waited_ns)) or _is_relayed(capture, int(own["stream"].iloc[0])):
        return ""
    which = f"{units.count(len(own))} of {units.number(len(waited_ns), 'connection')} to {server}"
    longest = units.duration(waited_ns.max())
    return f" Of them, {which} waited over a second for their only answer, {longest} at most: see what it did meanwhile."


def _is_relayed(capture: Capture, stream: int) -> bool:
    """Return whether a NAT or proxy ends TCP on the way: time that passes behind it looks like the server's."""
    sender = capture._contents.streams.sides(stream)["sender"][1]
    return gateway(capture.flow(stream, str(sender))) is not None
