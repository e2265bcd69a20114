"""Messages in turn: an end that the other one answers at once may have asked, or been slow to answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.diagnosis.model import Nature, Shown, exchange
from bdpcap.diagnosis.natures.requests import named
from bdpcap.diagnosis.nearly_all import initial_window_bytes
from bdpcap.explain import first_answer
from bdpcap.explain.findings import requests
from bdpcap.explain.notable import NOTICED_NS
from bdpcap.explain.sent_again import sent_again
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Flow
    from bdpcap.explain.exchange_shares import Shares

__all__ = ["NATURE"]

_LONG_NS: Final = 500_000_000
"""Shortest of many waits that may be for a timer of the other end, less its work; a choice: few timers are shorter."""
_MANY: Final = 10
"""Fewest such waits that show a timer; a choice."""
_AT_ONCE: Final = 0.1
"""Share of the server's usual long time below which the client's is no time of a program that decides: a choice."""


def _is_unclear(flow: Flow) -> bool:
    """Return whether the messages of a server may be news or commands, which the client confirms at once.

    A client that asks anew after each late answer looks the same. Only one that spoke first has asked.
    """
    shares = requests.limited(flow)
    if shares is None or (flow._counts["handshake"] and not _greeted(flow)):
        return False
    if requests.held_sides(shares) or sent_again(flow) is not None:
        return False
    return _are_short(flow) and _waits_for_server(flow, shares)


def _greeted(flow: Flow) -> bool:
    """Return whether the server sent data before the first request: more than its responses hold."""
    if flow.capture.info.left_out.get("rows"):
        return False
    sides = flow.capture._contents.streams.sides(flow.stream)
    server = sides["sender"].index(str(flow._requests["server"].iloc[0]))
    return bool(sides["payload_bytes"][server] > flow._requests["response_bytes"].sum())


def _are_short(flow: Flow) -> bool:
    """Return whether most messages are short: one that asks for a large answer is a request."""
    each = flow._requests
    usual = (each["request_bytes"] + each["response_bytes"]).median()
    return bool(usual < initial_window_bytes(flow))


def _waits_for_server(flow: Flow, shares: Shares) -> bool:
    """Return whether most of the time passed in waits for the server, after which the client usually followed at once.

    Pieces that a server goes on to send are no waits: nobody takes turns with them.
    """
    each = flow._requests
    waited_ns = first_answer.owed_ns(each)
    # An answer may take half a second; ten that do are a timer's.
    is_long = waited_ns >= (_LONG_NS if (waited_ns >= _LONG_NS).sum() >= _MANY else NOTICED_NS)
    long = each[is_long]
    if 2 * waited_ns[is_long].sum() < shares.lasting_ns:
        return False
    # Nothing may follow the last answer.
    followed_ns = long["client_ns"].dropna()
    return bool(len(followed_ns) and followed_ns.median() < _AT_ONCE * long["server_ns"].median())


def _in_turn(flow: Flow) -> str:
    shares = requests.told(flow)
    if shares is None:
        return ""
    waits = [
        f"{units.duration(shares.parts[side] * shares.lasting_ns)} until {name} sent"
        for side, name in zip(("server", "client"), named(flow), strict=True)
    ]
    number = units.number(shares.count, "time")
    why = f"{named(flow)[0]} also sent first, so" if flow._counts["handshake"] else "Without the handshake,"
    unclear = f"{why} the capture does not show which end asked."
    return f"Both ends sent in turn, {number} each: in all, it took {', and '.join(waits)}. {unclear}"


def _advice(flow: Flow) -> tuple[str, str]:
    server, client = named(flow)
    return "", (
        f"Nothing to mend on the path or at {client}. {server} sent news or commands, or was slow to answer: its log "
        "shows which."
    )


def _shown(flow: Flow) -> Shown | None:
    """Return the frames of the exchange in which the server took longest."""
    return exchange(flow, flow._requests["server_ns"])


NATURE: Final = Nature("messages in turn", _is_unclear, _in_turn, _advice, _shown)
