"""Time of a stream's exchanges, divided between server, client and network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from bdpcap import _core
from bdpcap.explain.gateways import gateway
from bdpcap.read import vantage
from bdpcap.words.endpoints import host

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bdpcap.capture import Flow

__all__ = [
    "Held",
    "Shares",
    "Typical",
    "Waits",
    "answering_ns",
    "began_ns",
    "followed",
    "sends_on",
    "sent_on",
    "served_ns",
    "shares",
    "slowest",
    "trip_ns",
    "unasked_ns",
    "waits",
]

_OUTER: Final = 3
"""One of so many parts of the exchanges, the quickest and the slowest, has no share in the parts of a typical time."""

_FEW: Final = 10
"""Exchanges below which a typical time has the parts of the one in the middle; a choice: three would be its third."""

_SPREAD: Final = 4
"""Ratio of the longest to the shortest time of the middle third from which their parts have no mean; a choice."""
_PIECES_NS: Final = 10_000_000
"""Mean pause in a request up to which a program writes it in pieces; a choice: a write takes microseconds."""
_AT_ONCE: Final = 0.1
"""Share of a client's usual pause within which an answer comes at once; by chance, one in ten does."""
_PAUSES: Final = 2
"""Fewest pauses within a request that show messages which wait for no answer."""


@dataclass(frozen=True, slots=True)
class Held:
    """Parts of messages that Nagle's algorithm held until a delayed acknowledgment came (RFC 9293 section 3.7.4)."""

    by: str
    """The side that wrote them: ``client`` or ``server``."""
    times: int
    lasting_ns: int
    """Time of these waits in all; a part of the network's."""


@dataclass(frozen=True, slots=True)
class Typical:
    """Time from a request to the end of its answer: the median of the exchanges, of an even number the lower one.

    Its parts are in proportion to those of the middle third of the exchanges, by that time; of few exchanges, or of a
    third that differs widely, they are those of that one. The client's pauses are no part of it.
    """

    server_ns: int
    network_ns: int
    held_ns: int
    """Time for which Nagle's algorithm held it, of several the median of the middle third; a part of the network's."""
    began_ns: int
    """Time from the end of the request to the first byte of its answer: the median, of few exchanges that of this one."""

    @property
    def answered_ns(self) -> int:
        """Return the time from the request to the end of its answer."""
        return self.server_ns + self.network_ns


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
    typical: Typical
    bytes_share: float
    """Share of the stream's payload in counted exchanges; the rest went both ways at once or got no response.

    TLS handshakes are in neither.
    """
    held: tuple[Held, Held]
    """Waits of both sides, the longer first."""
    longest_ns: dict[str, int]
    """Longest time in one exchange, by side."""
    news: int
    """Times that the server sent again after an answer, without another request."""
    sent_on: int
    """Exchanges in which the client sent more while it waited: see `sent_on`."""
    at_once: int
    """Times that both ends sent at the same time, in no exchange: the client waited for no answer."""
    is_plain: bool
    """Whether the capture has the beginning of the stream, and no TLS in it."""
    tls: bool
    """Whether the stream has the handshake of TLS, inside which the ends may send control frames, as in HTTP/2."""
    relayed: bool
    """Whether a NAT or proxy ends TCP before the server, whose time then holds the way from there to it."""
    asks_proxy: bool
    """Whether the client sent its requests to a proxy, whose time then holds that of the servers behind it."""


@dataclass(frozen=True, slots=True)
class Waits:
    """Time that a flow's program took in the exchanges of its stream, and time for which it waited for its peer.

    Only the time within some of the flow's rounds counts.
    """

    own_ns: int
    peer_ns: int
    """Time of the peer's program in the exchanges, and `handshake_ns`."""
    handshake_ns: int
    """Time of the handshake beyond a round trip; 0 unless the capture was taken next to the sender."""


_WRITES: Final = {"client": "request", "server": "response"}
"""The messages that each side writes."""


def _held(table: pd.DataFrame, side: str) -> Held:
    wrote = _WRITES[side]
    return Held(side, int(table[f"{wrote}_holds"].sum()), int(table[f"{wrote}_held_ns"].sum()))


def _held_sides(table: pd.DataFrame) -> tuple[Held, Held]:
    client, server = (_held(table, side) for side in _WRITES)
    return (client, server) if client.lasting_ns >= server.lasting_ns else (server, client)


def _median_ns(times: pd.Series[Any]) -> int:
    known = times.dropna()
    return 0 if known.empty else int(known.median())


def shares(flow: Flow) -> Shares | None:
    """Return the sums over the requests of a flow's stream; None where no request has known times."""
    table = flow._requests.dropna(subset=["server_ns", "network_ns"])
    lasting = int(table["duration_ns"].sum())
    if lasting <= 0:
        return None
    taken = {side: int(table[f"{side}_ns"].sum()) for side in ("server", "network")}
    taken["client"] = lasting - sum(taken.values())
    payload = int(np.sum(flow.capture._contents.streams.sides(flow.stream)["payload_bytes"]))
    exchanged, others = (
        int((each["request_bytes"] + each["response_bytes"]).sum())
        for each in (table, flow.exchanges[flow.exchanges["tls_handshake"]])
    )
    tls = bool(flow.exchanges["tls_handshake"].any())
    return Shares(
        count=len(table),
        lasting_ns=lasting,
        parts={side: taken[side] / lasting for side in sorted(taken, key=lambda side: -taken[side])},
        # After the last answer, no request follows.
        medians_ns={side: _median_ns(table[f"{side}_ns"]) for side in taken},
        typical=_typical(flow, table),
        bytes_share=exchanged / max(1, payload - others),
        held=_held_sides(table),
        longest_ns={side: int(table[f"{side}_ns"].fillna(0).max()) for side in taken},
        news=_news(flow._requests),
        sent_on=int(sent_on(flow).sum()),
        at_once=flow.capture._contents.at_once(flow.stream),
        is_plain=bool(flow._counts["handshake"]) and not tls,
        tls=tls,
        relayed=_is_relayed(flow),
        asks_proxy=flow.capture._contents.streams.asks_proxy(flow.stream),
    )


def _is_relayed(flow: Flow) -> bool:
    found = gateway(flow)
    return found is not None and found.address == host(flow.receiver if flow.is_from_client else flow.sender)


def followed(flow: Flow, table: pd.DataFrame) -> pd.DataFrame:
    """Return the exchanges that a typical one is of: next to the client all, elsewhere those that a request follows.

    Where none follows, the way of the response to the client is behind a tap elsewhere. If few are followed, all count.
    """
    known = table.dropna(subset=["client_ns"])
    return table if _is_near_client(flow) or 2 * len(known) < len(table) else known


def _is_near_client(flow: Flow) -> bool:
    return bool(flow.summary["vantage"] == ("sender" if flow.is_from_client else "receiver"))


def _typical(flow: Flow, table: pd.DataFrame) -> Typical:
    table = followed(flow, table)
    answered_ns = table["server_ns"] + table["network_ns"]
    if _is_near_client(flow):
        # The least round trip may be longer than the time of some exchange, which the capture shows.
        answered_ns = answered_ns.clip(upper=table["response_end_ns"] - table["request_start_ns"])
    answered_ns = answered_ns.sort_values(kind="stable")
    outer = len(answered_ns) // _OUTER
    middle = table.loc[answered_ns.index[outer : len(answered_ns) - outer]]
    held = table["request_held_ns"] + table["response_held_ns"]
    parts = table[["server_ns", "network_ns"]].assign(held_ns=held)
    # The whole is the median, a time that one exchange took. Its own parts are by chance where there are many alike; of
    # few, an unusual one would change the mean of the middle third.
    median = answered_ns.index[(len(answered_ns) - 1) // 2]
    third_ns = answered_ns[middle.index]
    alone = len(table) < _FEW or third_ns.max() >= _SPREAD * max(1, third_ns.min())
    began_ns = table["response_start_ns"] - table["request_end_ns"]
    server_ns, network_ns, held_ns = parts.loc[median] if alone else parts.loc[middle.index].mean()
    # A message is held until an acknowledgment is due, or not at all: a mean would be neither.
    held_ns = held_ns if alone else held[middle.index].quantile(interpolation="lower")
    whole_ns = answered_ns[median]
    scale = whole_ns / max(1.0, server_ns + network_ns)
    usual_ns = began_ns[median] if alone else began_ns.median()
    server_ns, network_ns, held_ns = (round(scale * part_ns) for part_ns in (server_ns, network_ns, held_ns))
    return Typical(server_ns, network_ns, held_ns, round(usual_ns))


def _news(exchanges: pd.DataFrame) -> int:
    """Return how many exchanges but the last ended with their response, not with the next request."""
    ended_ns = exchanges["request_start_ns"] + exchanges["duration_ns"]
    return int((ended_ns == exchanges["response_end_ns"])[:-1].sum())


def sends_on(each: pd.DataFrame) -> pd.Series[bool]:
    """Return for each exchange whether the client sent on for most of the time until its answer came.

    It paused in its request, each time for longer than a round trip, and so sent without an answer to what it had sent.
    """
    waiting_ns = each["response_start_ns"] - each["request_end_ns"]
    paused_ns, pauses = each["request_pause_ns"], each["request_pauses"]
    sent: pd.Series[bool] = (pauses >= _PAUSES) & (paused_ns > np.maximum(waiting_ns, pauses * _PIECES_NS))
    return sent


def sent_on(flow: Flow) -> pd.Series[bool]:
    """Return the same as `sends_on` for each exchange of a flow's stream.

    A message that needs no answer may come before a request, but hardly more. Where most answers come at once after such
    pauses, they are to the last part, as of a request that a person types.
    """
    each = flow._requests
    sent, waiting_ns = sends_on(each), each["response_start_ns"] - each["request_end_ns"]
    at_once = sent & (waiting_ns * each["request_pauses"] < _AT_ONCE * each["request_pause_ns"])
    return sent & ~at_once if 2 * at_once.sum() > sent.sum() else sent


def trip_ns(flow: Flow) -> int | None:
    """Return the least round trip of a flow's path; None where none was measured.

    Where the way from the tap to the sender is unknown, each direction shows its part of the path. The larger is nearer
    to the whole.
    """
    if flow._counts["sender_side_ns"] is not None:
        rtt_ns = flow.summary["rtt_min_ns"]
        return None if pd.isna(rtt_ns) else int(rtt_ns)
    trips = flow.capture._contents.streams.sides(flow.stream)["rtt_min_ns"]
    return max((int(ns) for ns in trips if ns != _core.NULL), default=None)


def answering_ns(flow: Flow, rounds: pd.DataFrame) -> int:
    """Return the server's own time in some rounds of a flow in which it owed an answer.

    Of a round in no exchange, it is the whole time. Where the way from the tap to the server is unknown, that includes a
    round trip to it, which is left out.
    """
    within = _within(flow, rounds)
    found = waits(flow, rounds[within]) if within.any() else None
    sides = flow.capture._contents.streams.sides(flow.stream)
    to_server, _ = vantage.round_trips(sides)
    trip = max(0, int(to_server[0])) if flow._counts["sender_side_ns"] is None else 0
    others = rounds[~within]
    rest_ns = (others["end_ns"] - others["start_ns"] - trip).clip(lower=0).sum()
    return int(rest_ns) + (0 if found is None else found.own_ns)


def _within(flow: Flow, rounds: pd.DataFrame) -> NDArray[np.bool_]:
    """Return for each round whether it overlaps the wait of an exchange for its answer."""
    if not flow.capture._contents.has_exchanges or flow.exchanges.empty:
        return np.zeros(len(rounds), dtype=np.bool_)
    asked, answered = (flow.exchanges[f"{name}_ns"].to_numpy() for name in ("request_end", "response_start"))
    last = np.searchsorted(asked, rounds["end_ns"].to_numpy()) - 1
    within: NDArray[np.bool_] = (last >= 0) & (answered[last] > rounds["start_ns"].to_numpy())
    return within


def waits(flow: Flow, rounds: pd.DataFrame) -> Waits | None:
    """Return the time of both ends' programs in the exchanges of a flow's stream; None without an exchange.

    Parameters
    ----------
    flow
        A flow.
    rounds
        The rows of ``flow.rtts`` whose time counts, at least one.
    """
    if not flow.capture._contents.has_exchanges or flow.exchanges.empty:
        return None
    taken = _taken(flow.exchanges, rounds)
    own, peer = ("client", "server") if flow.is_from_client else ("server", "client")
    initial_ns, least_ns = flow._counts["initial_rtt_ns"], flow.summary["rtt_min_ns"]
    near = flow.summary["vantage"] == "sender" and pd.notna(initial_ns) and pd.notna(least_ns)
    handshake_ns = max(0, int(initial_ns - least_ns)) if near else 0
    return Waits(taken[own], taken[peer] + handshake_ns, handshake_ns)


def unasked_ns(flow: Flow, rounds: pd.DataFrame) -> int:
    """Return the time of some rounds, at least one, in which no request of a flow's stream waited for its answer."""
    each = flow.exchanges
    lasting_ns = int((rounds["end_ns"] - rounds["start_ns"]).sum())
    return lasting_ns - int(_overlap(rounds, each["request_end_ns"], each["response_end_ns"]).sum())


def served_ns(flow: Flow, rounds: pd.DataFrame) -> int:
    """Return the server's time in the requests of a flow's stream, as far as it fits in the time of some rounds."""
    return _taken(flow._requests, rounds)["server"]


def began_ns(flow: Flow, rounds: pd.DataFrame) -> int:
    """Return the time in some rounds of a flow until its server's answers began."""
    if not flow.capture._contents.has_exchanges or flow.exchanges.empty:
        return 0
    each = flow.exchanges
    return int(_overlap(rounds, each["request_end_ns"], each["response_start_ns"]).sum())


def _taken(exchanges: pd.DataFrame, rounds: pd.DataFrame) -> dict[str, int]:
    """Return the time of either side in exchanges, as far as it fits in the time of some rounds.

    The server has the time from the end of a request to the end of its response, the client the rest.
    """
    request, asked, responded = (
        exchanges[f"{name}_ns"] for name in ("request_start", "request_end", "response_end")
    )
    room = {
        "server": _overlap(rounds, asked, responded),
        "client": _overlap(rounds, request, asked)
        + _overlap(rounds, responded, request + exchanges["duration_ns"]),
    }
    return {side: int(np.fmin(exchanges[f"{side}_ns"].fillna(0), room[side]).sum()) for side in room}


def _overlap(rounds: pd.DataFrame, first: pd.Series[int], last: pd.Series[int]) -> NDArray[np.float64]:
    """Return the time of some rounds from each of `first` to the same of `last`."""
    edges = rounds[["start_ns", "end_ns"]].to_numpy(np.int64)
    start_ns = edges[0, 0]
    # The time of the rounds before each edge: it grows within rounds only.
    before = np.concatenate([[0], np.diff(edges, axis=1).cumsum().repeat(2)[:-1]])
    begin, end = (np.interp(times - start_ns, edges.ravel() - start_ns, before) for times in (first, last))
    room: NDArray[np.float64] = np.maximum(end - begin, 0)
    return room


def slowest(flow: Flow, side: str, most: int) -> pd.DataFrame:
    """Return the `most` exchanges of a flow's stream in which one side took longest, longest first."""
    return flow._requests.dropna(subset=[f"{side}_ns"]).nlargest(most, f"{side}_ns")
