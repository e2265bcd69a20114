"""Flaws of a capture: missing data, duplicate packets, wrong times, and their effects on verdicts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap.read import hops
from bdpcap.read.flaws import (
    AT_ONCE_NS,
    DECLARED,
    FAR_ROUTERS,
    TIMES_OF_BATCHES,
    furthest_back_ns,
)
from bdpcap.read.scale_source import DECLINED, NEGOTIATED, ONE_SIDED
from bdpcap.read.seen import ReceivedTwice, Seen
from bdpcap.tables.columns import floats

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from bdpcap.read.facts import CaptureInfo

    Bools = NDArray[np.bool_]

__all__ = ["FLAW_COLUMNS", "NEEDED", "Flaw", "acknowledgments_missing", "flaws"]

FINE_TICKS: Final = 10
"""A round trip of this many clock ticks is timed to a tenth, which is precise enough for the rules."""
HIDDEN_TICKS: Final = 3
"""Fewest clock ticks of a round trip that show more than the order of its packets.

Measured on 140 labelled transfers whose times were cut to coarse ticks. Below three ticks, verdicts other than rwnd were
right in 0.61 of the time, from three to ten ticks in 0.85. Under rwnd, it was 0.98 at any tick.
"""

OFTEN: Final = 0.05
"""Share of segments far beyond the window from which on the handshake's scale is contradicted.

Below this share, acknowledgments missing from the capture explain such segments.
"""
BEYOND_WINDOW: Final = 10
"""Fewest segments far beyond the window that count as many."""
BATCH_BYTES: Final = 2 * 65536
"""Most bytes that one acknowledgment covers: two segments (RFC 9293 section 3.8.6.3), each of up to 64 KiB by offload."""
UNSCALED_BYTES: Final = 65535
"""The largest window without a scale. No usual initial congestion window is as large (RFC 6928: ten segments)."""

STANDSTILL_NS: Final = 2_000_000_000
"""Shortest time in which both timestamp clocks stood still; the core's ``Standstill::LEAST_NS``.

The slowest such clock ticks once a second (RFC 7323 section 5.4).
"""

INITIAL_WINDOW: Final = 10
"""Segments that a sender may send before the first acknowledgment (RFC 6928 section 2)."""
SILENT: Final = 0.8
"""Share of a flow's payload in flight at once above which acknowledgments are missing from the capture.

In slow start about half of the payload is in flight at most: a round sends twice as much as the one before (RFC 5681).
"""
HANDSHAKE_BYTES: Final = 2
"""Sequence numbers that a connection without payload acknowledges: SYN and FIN take one each (RFC 9293 section 3.4)."""

NOTICED: Final = 0.05
"""Share of a flow's least round trip from which on a step back in time matters: rules look at tenths."""
NEEDED: Final = (
    "carried",
    "data_alone",
    "mss_bytes",
    "payload_bytes",
    "in_flight_max_bytes",
    "acks",
    "scale_exceeded",
    "scale_checked",
    "window_scale_source",
)
"""Columns that `acknowledgments_missing` reads."""
FLAW_COLUMNS: Final = (
    *NEEDED,
    "acked_bytes",
    "copies",
    "delivered_twice",
    "disowned",
    "first_frame",
    "handshake",
    "announced_mss_bytes",
    "largest_bytes",
    "unseen_bytes",
    "mss_bytes",
    "rtt_min_ns",
    "standstill_ns",
    "stream",
    "ttl",
)
"""Columns that `flaws` reads."""


def often_beyond_window(directions: Mapping[str, Any]) -> Bools:
    """Return for each direction whether many segments lie far beyond the window that the handshake's scale gives."""
    exceeded = np.asarray(directions["scale_exceeded"])
    often: Bools = (exceeded >= BEYOND_WINDOW) & (exceeded > OFTEN * np.asarray(directions["scale_checked"]))
    return often


def merged_by_offload(directions: Mapping[str, Any]) -> Bools:
    """Return for each direction whether it has segments larger than its receiver allows: no path carried these."""
    allowed = np.maximum(directions["announced_mss_bytes"], directions["mss_bytes"])
    merged: Bools = np.asarray(directions["largest_bytes"]) > allowed
    return merged


def acknowledgments_missing(directions: Mapping[str, Any]) -> Bools:
    """Return for each direction whether the capture lacks acknowledgments that the receiver must have sent.

    Where every segment of the capture has payload, more in flight than an initial window shows that. Elsewhere two
    conditions must hold. The capture has fewer acknowledgments than a receiver must send. And the flight is too large:
    nearly all payload at once, which slow start does not allow, or often far beyond the handshake's window.

    Parameters
    ----------
    directions
        Columns of `bdpcap._core.Analysis.directions`.
    """
    payload = np.asarray(directions["payload_bytes"], dtype=np.float64)
    flight = np.asarray(directions["in_flight_max_bytes"], dtype=np.float64)
    acks = np.asarray(directions["acks"], dtype=np.float64)
    source = np.asarray(directions["window_scale_source"])
    sparse = acks * BATCH_BYTES < payload
    silent = (flight > UNSCALED_BYTES) & (flight > SILENT * payload)
    captured = np.isin(source, (NEGOTIATED, DECLINED, ONE_SIDED))
    beyond = captured & often_beyond_window(directions)
    carried = np.asarray(directions["carried"]) > 0
    many = flight > INITIAL_WINDOW * np.asarray(directions["mss_bytes"], dtype=np.float64)
    left_out = (np.asarray(directions["data_alone"]) > 0) & many
    missing: Bools = carried & (acks > 0) & (sparse & (silent | beyond) | left_out)
    return missing


def data_only(directions: Mapping[str, Any]) -> Bools:
    """Return for each direction whether the capture has its data, and neither an acknowledgment nor a reset for them."""
    carried = np.asarray(directions["carried"]) > 0
    alone: Bools = carried & (np.asarray(directions["acks"]) == 0) & (np.asarray(directions["disowned"]) == 0)
    return alone


def acknowledgments_only(directions: Mapping[str, Any]) -> Bools:
    """Return for each direction whether the capture has acknowledgments of its data, and not the data.

    The rows are pairs, both directions of a stream. An end that disowned the other's segments has sent no data: the
    acknowledgments are of no connection that it knows.
    """
    carried = np.asarray(directions["carried"]) > 0
    reported = np.asarray(directions["acked_bytes"]) + np.asarray(directions["unseen_bytes"])
    disowns = np.asarray(directions["disowned"]).reshape(-1, 2)[:, ::-1].ravel() > 0
    alone: Bools = ~carried & (reported > HANDSHAKE_BYTES) & ~disowns
    return alone


@dataclass(frozen=True)
class Flaw:
    """One flaw of a capture."""

    code: str
    """The name of the flaw, stable for programs."""
    count: int
    """Number of flows, frames, packets, bytes, files or nanoseconds; the sentence has the unit."""
    sentence: str
    effect: str
    """The effect of the flaw on verdicts."""
    grave: bool
    """Whether even verdicts of rounds without a mark are doubtful."""
    first_frame: int | None = None
    """First frame of the first flow with the flaw; None if the flaw is not one of flows."""


def flaws(
    info: CaptureInfo,
    directions: Iterable[Mapping[str, Any]],
    halves: Mapping[int, int],
    twins: Sequence[tuple[int, int]],
    received_twice: ReceivedTwice,
    *,
    changed: Sequence[int],
) -> list[Flaw]:
    """Return the flaws of a capture, gravest first; the list is empty if there are none.

    Parameters
    ----------
    info
        The facts of the capture as a whole.
    directions
        The columns `FLAW_COLUMNS` of `bdpcap._core.Analysis.directions`, some rows at a time.
    halves
        The other way of each stream that is one way of a connection.
    twins
        Pairs of streams that are one connection, captured on both sides of a NAT.
    received_twice
        Who received packets twice.
    changed
        Streams of which packets were captured again with a longer payload.
    """
    counts: Counter[str] = Counter()
    first: dict[str, int] = {}
    affected: Counter[str] = Counter()
    payload = info.missed_bytes
    ways, again = (np.array(list(of), dtype=np.int64) for of in (halves, (two for _, two in twins)))
    step_ns = furthest_back_ns(info)
    for piece in directions:
        columns = {name: np.asarray(values) for name, values in piece.items()}
        carried = columns["carried"] > 0
        payload += int(columns["payload_bytes"][carried].sum())
        # Of a flow without data in the capture, the acknowledgments show its payload.
        moved = np.where(carried, columns["payload_bytes"], columns["acked_bytes"] + columns["unseen_bytes"])
        # Without a known round trip, nothing shows that a step is short.
        short = step_ns < NOTICED * floats(columns["rtt_min_ns"])
        affected["time-backwards"] += int(moved[~short].sum(dtype=float))
        for code, rows in _affected(columns, ways, again, changed).items():
            if rows.any():
                counts[code] += int(rows.sum())
                affected[code] += int(moved[rows].sum(dtype=float))
                frame = int(columns["first_frame"][rows].min())
                first[code] = min(frame, first.get(code, frame))
    seen = Seen(
        info,
        counts,
        affected,
        payload,
        sorted((one, two) for one, two in halves.items() if one < two),
        twins,
        received_twice,
    )
    return [
        Flaw(one.code, count, one.sentence(seen), one.effect, one.is_grave(seen), first.get(one.code))
        for one in DECLARED
        if (count := one.count(seen))
    ]


def _is_too_soon(columns: Mapping[str, NDArray[Any]]) -> Bools:
    """Return which connections have a round trip that is too short for the routers between their ends, by the TTLs."""
    least_ns = columns["rtt_min_ns"].reshape(-1, 2)
    passed = hops.passed(columns["ttl"]).reshape(-1, 2)
    far = (passed >= FAR_ROUTERS).any(axis=1)
    too_soon: Bools = far & (least_ns > 0).all(axis=1) & (least_ns.sum(axis=1) < AT_ONCE_NS)
    return too_soon


def _affected(
    columns: Mapping[str, NDArray[Any]],
    ways: NDArray[np.int64],
    again: NDArray[np.int64],
    changed: Sequence[int],
) -> dict[str, Bools]:
    """Return for each flaw of flows which directions have it, by code.

    Halves are the streams `ways`, and connections that another stream has already are the streams `again`. A device
    changed payloads of the streams `changed`; a program that makes packets also does so, and nothing answers it.
    """
    carried = columns["carried"] > 0
    half = np.isin(columns["stream"], ways)
    return {
        "acknowledgments-missing": acknowledgments_missing(columns),
        "data-alone": carried & (columns["data_alone"] > 0),
        "halves": carried & half,
        "both-sides": carried & np.isin(columns["stream"], again),
        "payload-changed": carried & (columns["acks"] > 0) & np.isin(columns["stream"], changed),
        "no-acknowledgments": data_only(columns) & ~half,
        "no-data": acknowledgments_only(columns) & ~half,
        TIMES_OF_BATCHES: carried & np.repeat(_is_too_soon(columns), 2),
        "clock-shifted": carried & (columns["standstill_ns"] > 0),
        "data-missing": carried & (columns["unseen_bytes"] > 0),
        "copies": columns["copies"] > 0,
        "delivered-twice": columns["delivered_twice"] > 0,
        "handshake-missing": carried & (columns["handshake"] == 0),
        "offload": carried & merged_by_offload(columns),
    }
