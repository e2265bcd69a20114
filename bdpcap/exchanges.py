"""Requests and responses: how long the server, the client and the network took for each exchange.

The core notes who talks when: a *turn* is payload of one direction until the other side answers. The sides talk in turns
where every answer acknowledges all that the other side sent, and nothing else is on its way. Where they send at once
(multiplexed or pipelined requests, full-duplex streams), nothing tells which bytes answer which: such turns are left
out. So are turns of which the capture lacks bytes.

An exchange is a turn of the client and the turn of the server that follows. Seen at the tap:

    request            wait              response            wait            next request
    |-- network --|-- s --|-- server --|-- network --|-- c --|-- client --|

`s` is one round trip from the tap to the server, `c` one to the client: the last that the turn's own payload took, where
an acknowledgment at once shows it, else the least one of the stream. At the server `s` is next to nothing, at the client `c` is. The transfer of bytes is the network's, but a pause in
it that no acknowledgment ended is the talker's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap import _core, tables

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["Shares", "exchanges", "shares"]

_SHORTEST: Final = 3 / 4
"""Of the least round trip: no reply comes sooner; the rest allows for jitter of a minimum of few samples."""


def exchanges(turns: Mapping[str, NDArray[Any]], directions: Mapping[str, Any]) -> pd.DataFrame:
    """Pair requests with their responses.

    Parameters
    ----------
    turns
        Columns of `bdpcap._core.Analysis.take_turns`, of all streams.
    directions
        Columns of `bdpcap._core.Analysis.directions`.

    Returns
    -------
    DataFrame
        Table as `bdpcap.tables.EXCHANGES`.
    """
    stream = turns["stream"].astype(np.int64)
    client_rows = _client_rows(directions)
    asks = 2 * stream + turns["direction"] == client_rows[stream]
    seen = turns["unseen"] == 0
    whole = seen & (turns["overlapping"] == 0)
    answered = asks & whole & _next(stream, stream, 1) & _next(~asks & whole, np.True_, 1)
    ask = np.flatnonzero(answered)
    answer, after = ask + 1, np.minimum(ask + 2, len(stream) - 1)
    goes_on = (ask + 2 < len(stream)) & (stream[after] == stream[ask]) & asks[after] & seen[after]
    row = client_rows[stream[ask]]
    times = {name: turns[name] for name in ("start_ns", "end_ns", "resent_ns", "pause_ns")}
    least_server, least_client = _round_trips(directions, row)
    to_server = np.fmax(least_server, _known(turns["rtt_ns"][ask]))
    to_client = np.fmax(least_client, _known(turns["rtt_ns"][answer]))
    begin, respond = times["start_ns"][ask], times["start_ns"][answer]
    following = np.where(goes_on, times["start_ns"][after], np.iinfo(np.int64).max)
    asked = _last(times, ask, respond, least_server)
    responded = _last(times, answer, following, least_client)
    end = np.where(goes_on, following, responded)
    server = np.maximum(respond - asked - to_server, 0) + times["pause_ns"][answer]
    thinks = np.where(goes_on, np.maximum(end - responded - to_client, 0), np.nan)
    client = thinks + times["pause_ns"][ask]
    # The last exchange ends with its response: whatever the client did then, it asked no more.
    known_client = np.where(goes_on, client, times["pause_ns"][ask])
    names = {side: np.asarray(directions[side], dtype=object)[row] for side in ("sender", "receiver")}
    return tables.frame(
        tables.EXCHANGES,
        {
            "stream": stream[ask],
            "client": names["sender"],
            "server": names["receiver"],
            "exchange": _numbers(stream[ask]),
            "request_start_ns": begin,
            "request_end_ns": asked,
            "request_bytes": turns["bytes"][ask],
            "response_start_ns": respond,
            "response_end_ns": responded,
            "response_bytes": turns["bytes"][answer],
            "first_frame": turns["first_frame"][ask].astype(np.int64),
            "last_frame": turns["last_frame"][answer].astype(np.int64),
            "duration_ns": end - begin,
            "server_ns": _nullable(server),
            "network_ns": _nullable(end - begin - server - known_client),
            "client_ns": _nullable(client),
        },
    )


def _client_rows(directions: Mapping[str, Any]) -> NDArray[np.int64]:
    """Return, for each stream, which row of the directions is the client's.

    Without a handshake it is the end with the higher port: servers listen on assigned ports, clients on dynamic ones
    (RFC 6335 section 6).
    """
    ports = np.array([int(name.rpartition(":")[2]) for name in directions["sender"]], dtype=np.int64)
    first = np.arange(0, len(ports), 2)
    swapped = (directions["handshake"][first] == 0) & (ports[first] < ports[first + 1])
    return first + swapped


def _next(values: NDArray[Any], wanted: NDArray[Any] | np.bool, step: int) -> NDArray[np.bool]:
    """Say of every turn whether the one `step` after it has the wanted value."""
    found = np.zeros(len(values), dtype=bool)
    wanted = np.broadcast_to(wanted, values.shape)
    found[:-step] = values[step:] == wanted[:-step]
    return found


def _round_trips(
    directions: Mapping[str, Any], client: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the least round trips from the tap to the server and to the client; NaN where none was seen."""
    sides = {side: _known(np.asarray(directions[f"{side}_side_ns"])) for side in ("sender", "receiver")}
    back = client ^ 1
    return (
        np.fmin(sides["receiver"][client], sides["sender"][back]),
        np.fmin(sides["sender"][client], sides["receiver"][back]),
    )


def _last(
    times: Mapping[str, NDArray[np.int64]],
    turn: NDArray[np.int64],
    reply_ns: NDArray[np.int64],
    least_ns: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Return when the last of each turn's payload passed the tap that the reply may have waited for.

    A copy that was sent again much less than a least round trip before the reply cannot be what it answers.
    """
    end, resent = times["end_ns"][turn], times["resent_ns"][turn]
    counts = (resent != _core.NULL) & (reply_ns - np.maximum(resent, 0) >= _SHORTEST * least_ns)
    return np.where(counts, np.maximum(resent, end), end)


def _numbers(stream: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count from 0 within each run of equal values."""
    at = np.arange(len(stream))
    begins = np.concatenate([[True], stream[1:] != stream[:-1]])[: len(stream)]
    numbers: NDArray[np.int64] = at - np.maximum.accumulate(np.where(begins, at, 0))
    return numbers


def _known(values: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.where(values == _core.NULL, np.nan, values.astype(np.float64))


def _nullable(values: NDArray[np.float64]) -> NDArray[np.int64]:
    known = np.isfinite(values)
    return np.where(known, np.where(known, values, 0).astype(np.int64), _core.NULL)


@dataclass(frozen=True, slots=True)
class Shares:
    """Whose time the exchanges of a stream took, as shares of the time that they lasted, think time included."""

    count: int
    """Exchanges whose times are known."""
    server: float
    network: float
    client: float
    server_median_ns: int
    lasting_ns: int
    """All of these exchanges together."""
    bytes_share: float
    """Of the stream's payload, what went in exchanges; the rest went both ways at once, or was never answered."""


def shares(table: pd.DataFrame, payload_bytes: int) -> Shares | None:
    """Sum the exchanges of a stream up.

    Parameters
    ----------
    table
        The exchanges, as `bdpcap.tables.EXCHANGES`.
    payload_bytes
        What both sides of the stream sent.

    Returns
    -------
    Shares or None
        None where no exchange has known times.
    """
    known = table.dropna(subset=["server_ns", "network_ns"])
    lasting = int(known["duration_ns"].sum())
    if lasting <= 0:
        return None
    part = {side: int(known[f"{side}_ns"].sum()) / lasting for side in ("server", "network")}
    return Shares(
        count=len(known),
        **part,
        client=1 - part["server"] - part["network"],
        server_median_ns=int(known["server_ns"].median()),
        lasting_ns=lasting,
        bytes_share=int((known["request_bytes"] + known["response_bytes"]).sum()) / max(1, payload_bytes),
    )
