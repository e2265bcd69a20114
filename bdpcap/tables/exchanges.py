"""Requests and responses: the time that server, client and network took for each exchange.

The core divides a stream into turns: a *turn* is the payload of one direction until the other side answers. The sides
take turns where every answer acknowledges all bytes of the other side, and no other bytes are in flight. Where both
sides send at once (multiplexed or pipelined requests, full-duplex streams), no turn is the answer to another; such turns
are left out. Turns with bytes missing from the capture are left out, too.

An exchange is a turn of the client and the turn of the server that follows. At the tap it has these parts:

    request            wait              response            wait            next request
    |-- network --|-- s --|-- server --|-- network --|-- c --|-- client --|

`s` is one round trip from the tap to the server, `c` one from the tap to the client. Both are the last round trip that
an immediate acknowledgment of the turn's payload measured, but at least the minimum of the stream. Near the server `s`
is almost 0, near the client `c` is. The transfer of bytes counts as time of the network. A pause in the transfer that no
acknowledgment ended counts as time of the side that sends. Where its data were lost before the tap and sent again, a
repair explains the pause. Pauses of a response that are longer than a timer are then nobody's for sure, and the times of
both are unknown.

Nagle's algorithm *holds* a part of a message: less than a segment waits until the part before is acknowledged (RFC 9293
section 3.7.4). The receiver delays that acknowledgment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap import _core
from bdpcap.tables import frames, schema
from bdpcap.timers import FIRST_TIMEOUT_NS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["DIRECTIONS", "at_once", "exchanges"]

DIRECTIONS: Final = ("sender", "receiver")
"""Columns about directions that `exchanges` reads."""

_SHORTEST: Final = 3 / 4
"""Share of the minimum round trip before which no reply comes; it allows for jitter in a minimum of few samples."""

_CHANGE_CIPHER, _HANDSHAKE = 20, 22
"""Content types of TLS records: a change of the cipher, and messages of a handshake (RFC 5246 section 6.2.1)."""
_FINISHED_BYTES: Final = 80
"""Most bytes of a client's last flight of a TLS handshake without a request.

A change of the cipher takes 6, and a Finished message with SHA-384 takes 74 (RFC 8446 sections 4.4.4, 5.2 and 5.3).
"""


def exchanges(
    turns: Mapping[str, NDArray[Any]],
    directions: Mapping[str, Any],
    trips: tuple[NDArray[np.int64], NDArray[np.int64]],
    place: NDArray[np.int8],
) -> pd.DataFrame:
    """Return requests with their responses.

    Parameters
    ----------
    turns
        Columns of `bdpcap._core.Analysis.take_turns` for all streams.
    directions
        The columns `DIRECTIONS` of `bdpcap._core.Analysis.directions`.
    trips
        Minimum round trips from the tap to the server and to the client of each stream, from `vantage.round_trips`.
    place
        Where each stream was captured, as the server is the sender: an index into `bdpcap.tables.PLACES`.

    Returns
    -------
    DataFrame
        A table of `bdpcap.tables.EXCHANGES`.
    """
    stream = turns["stream"].astype(np.int64)
    asks = turns["direction"] == 0
    seen = turns["unseen"] == 0
    whole = seen & (turns["overlapping"] == 0)
    answers = ~asks & whole
    ask = np.flatnonzero((asks & whole)[:-1] & answers[1:] & (stream[1:] == stream[:-1]))
    answer, after = ask + 1, np.minimum(ask + 2, len(stream) - 1)
    goes_on = (ask + 2 < len(stream)) & (stream[after] == stream[ask]) & asks[after] & seen[after]
    row = 2 * stream[ask]
    times = {name: turns[name] for name in ("start_ns", "end_ns", "retransmitted_ns")}
    # A repair explains a silence, and a copy of data that had arrived none: the time of lost data, and of timers, is the
    # network's.
    repaired = turns["repaired"] != 0
    pause_ns = np.where(repaired, 0, turns["pause_ns"])
    unexplained = repaired & (turns["pause_ns"] > FIRST_TIMEOUT_NS * turns["pauses"])
    least_server, least_client = (least_ns[stream[ask]] for least_ns in trips)
    # The least integer marks a missing value, so the maximum prefers a known one.
    to_server = np.maximum(least_server, turns["rtt_ns"][ask])
    to_client = np.maximum(least_client, turns["rtt_ns"][answer])
    begin, respond = times["start_ns"][ask], times["start_ns"][answer]
    following = np.where(goes_on, times["start_ns"][after], np.iinfo(np.int64).max)
    # Next to the receiver, data that passed the tap had arrived: a copy of them is no part of the message.
    at_server, at_client = (place[stream[ask]] == schema.PLACES.index(end) for end in ("sender", "receiver"))
    asked = np.where(at_server, times["end_ns"][ask], _last(times, ask, respond, least_server))
    responded = np.where(at_client, times["end_ns"][answer], _last(times, answer, following, least_client))
    end = np.where(goes_on, following, responded)
    server = np.maximum(respond - asked - np.maximum(to_server, 0), 0) + pause_ns[answer]
    known = (to_server != _core.NULL) & ~unexplained[answer]
    # The last exchange ends with its response, since the client sent no further request.
    thinks = goes_on & (to_client != _core.NULL)
    thought = np.maximum(end - responded - np.where(thinks, to_client, 0), 0)
    client = np.where(thinks, thought, 0) + pause_ns[ask]
    split = known & (thinks | ~goes_on)
    names = {side: np.asarray(directions[side], dtype=object)[row] for side in ("sender", "receiver")}
    return frames.frame(
        schema.EXCHANGES,
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
            "tls_handshake": _is_handshake(turns["tls_record"][ask], turns["bytes"][ask]),
            "first_frame": turns["first_frame"][ask].astype(np.int64),
            "last_frame": turns["last_frame"][answer].astype(np.int64),
            "duration_ns": end - begin,
            "server_ns": np.where(known, server, _core.NULL),
            "network_ns": np.where(split, end - begin - server - client, _core.NULL),
            "client_ns": np.where(thinks, client, _core.NULL),
            "request_pauses": turns["pauses"][ask],
            "request_pause_ns": pause_ns[ask],
            "request_holds": turns["holds"][ask],
            "request_held_ns": turns["held_ns"][ask],
            "response_holds": turns["holds"][answer],
            "response_held_ns": turns["held_ns"][answer],
        },
    )


def at_once(turns: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
    """Return for each stream up to the last with turns how often both sides sent at once: nobody waited for an answer."""
    counts: NDArray[np.int64] = np.bincount(turns["stream"], weights=turns["overlapping"] != 0).astype(
        np.int64
    )
    return counts


def _is_handshake(record: NDArray[np.uint8], request_bytes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return for each request whether it is a client's part of a TLS handshake.

    A client may send its first request with its last flight, which begins with a change of the cipher.
    """
    alone = (record == _CHANGE_CIPHER) & (request_bytes <= _FINISHED_BYTES)
    found: NDArray[np.bool_] = (record == _HANDSHAKE) | alone
    return found


def _last(
    times: Mapping[str, NDArray[np.int64]],
    turn: NDArray[np.int64],
    reply_ns: NDArray[np.int64],
    least_ns: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return when the last payload of each turn passed the tap that the reply can answer.

    A retransmission counts unless it passed the tap less than `_SHORTEST` of a minimum round trip before the reply.
    """
    end, retransmitted = times["end_ns"][turn], times["retransmitted_ns"][turn]
    soon = reply_ns - np.maximum(retransmitted, 0) < _SHORTEST * np.maximum(least_ns, 0)
    counts = (retransmitted != _core.NULL) & ~soon
    return np.where(counts, np.maximum(retransmitted, end), end)


def _numbers(stream: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the index of each element within its run of equal values, from 0."""
    at = np.arange(len(stream))
    begins = np.concatenate([[True], stream[1:] != stream[:-1]])[: len(stream)]
    numbers: NDArray[np.int64] = at - np.maximum.accumulate(np.where(begins, at, 0))
    return numbers
