"""Servers that let connections wait, each for its only answer, among flows that have no entry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bdpcap.explain import first_answer
from bdpcap.explain.gateways import gateway
from bdpcap.explain.notable import NOTICED_NS
from bdpcap.limits.evidence.writes import TLS_FAREWELL_BYTES
from bdpcap.report.ranking import keys
from bdpcap.words import units
from bdpcap.words.endpoints import host

if TYPE_CHECKING:
    import pandas as pd

    from bdpcap.capture import Capture

__all__ = ["exception", "sentence"]

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
    only, waited_ns = _only_answers(capture, flows)
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


def exception(capture: Capture, flows: pd.DataFrame) -> str:
    """Return a clause on the longest wait for an only answer among some flows; empty unless a person notices it."""
    if not capture._contents.has_exchanges:
        return ""
    only, waited_ns = _only_answers(capture, flows)
    answers = only.set_index(["stream", "server"]).index.isin(keys(flows))
    late = waited_ns[answers & (waited_ns >= NOTICED_NS)]
    if late.empty:
        return ""
    longest = only.loc[late.nlargest(1).index].iloc[0]
    stream, server = int(longest["stream"]), host(str(longest["server"]))
    if _is_relayed(capture, stream):
        return ""
    most = ", longest of all," if len(late) > 1 else ""
    return f", but stream {stream}{most} waited {units.duration(late.max())} for the answer of {server}"


def _only_answers(capture: Capture, flows: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Return the exchanges of streams of flows with no other, and the time in ns that each server let its client wait.

    Exchanges of TLS handshakes are no others. A message of TLS that is hardly larger than its record is a farewell.
    """
    each = capture.exchanges
    each = each[each["stream"].isin(flows["stream"])]
    in_tls = each["stream"].isin(each.loc[each["tls_handshake"], "stream"])
    farewell = in_tls & (each["response_bytes"] <= TLS_FAREWELL_BYTES)
    only = each[~each["tls_handshake"]].drop_duplicates("stream", keep=False)
    only = only[~farewell[only.index]]
    return only, first_answer.owed_ns(only).fillna(0)


def _is_relayed(capture: Capture, stream: int) -> bool:
    """Return whether a NAT or proxy ends TCP on the way: time that passes behind it looks like the server's."""
    sender = capture._contents.streams.sides(stream)["sender"][1]
    return gateway(capture.flow(stream, str(sender))) is not None
