"""
What it would take: the ceiling that a window sets, the window that a path needs, the buffer that offers it, what is next.

Bytes, bits per second and nanoseconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from bdpcap.explain import bdp, sendbuf
from bdpcap.explain.buffers import ERAS, FIELD_MAX, SCALE_MAX, UNSCALED, Era, least_setting
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bdpcap.explain.headers import Packet

__all__ = ["Ceiling", "asked", "of", "window_bps"]

_INFLATED: Final = 1.5
"""Median round trip over the least from which a queue is spoken of."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """
    What limits a flow, and what would lift it.

    Attributes
    ----------
    window, rtt_ns, rate_bps
        The largest window, the least round trip, the link's rate: measured, or asked about.
    rate_given, rtt_given
        Whether they were asked about; else they are what the capture shows: of payload, not of the wire.
    goodput_bps
        What headers leave of a given rate to payload; the rate itself where it is the payload's.
    ceiling_bps
        window / RTT; None without a window.
    measured_bps
        Throughput; None where the round trip is not the measured one.
    bdp_bytes
        rate x RTT: the window that fills the link.
    rcvbuf
        Least SO_RCVBUF that fills the link, by era.
    sndbuf
        The same for SO_SNDBUF on Linux.
    unscaled
        Whether no window scale is in force, and without one the window cannot be had.
    then
        What limits next, once the buffers are raised.
    queue
        A warning where a larger window would only lengthen a queue; else empty.
    """

    window: int | None
    rtt_ns: int
    rate_bps: float
    goodput_bps: float
    ceiling_bps: float | None
    bdp_bytes: int
    rcvbuf: dict[str, int]
    sndbuf: int
    then: str
    rate_given: bool = True
    rtt_given: bool = True
    measured_bps: float | None = None
    unscaled: bool = False
    queue: str = ""

    @property
    def suffices(self) -> bool:
        """Whether the window seen fills the link."""
        return self.ceiling_bps is not None and self.ceiling_bps >= self.goodput_bps


def window_bps(window_bytes: float, rtt_ns: float) -> float:
    """Return the most that a window allows, in bits per second (RFC 7323 section 1.1)."""
    return float(window_bytes) * 8e9 / float(rtt_ns)


def asked(
    rate_bps: float,
    rtt_ns: int,
    *,
    mss: int,
    window: int | None = None,
    eras: Sequence[Era] = ERAS,
    full: Packet | None = None,
) -> Ceiling:
    """
    Return the ceiling of a path that no capture shows.

    Parameters
    ----------
    rate_bps, rtt_ns
        Of the path.
    mss
        Payload of a full segment.
    window
        That the receiver offers; None where it is not known.
    eras
        Of the receiver.
    full
        A full packet, whose headers are counted; None: they are not.
    """
    need = math.ceil(rate_bps * rtt_ns / 8e9)
    return _filled(rate_bps, rtt_ns, need, mss=mss, window=window, eras=eras, full=full)


def of(
    summary: pd.Series[Any],
    *,
    rate_bps: float | None = None,
    rtt_ns: int | None = None,
    eras: Sequence[Era] = ERAS,
    full: Packet | None = None,
) -> Ceiling | None:
    """
    Return the ceiling of a flow, or None where the capture shows no round trip or no rate, or where no window holds both.

    Parameters
    ----------
    summary
        A row of the ``flows`` table.
    rate_bps, rtt_ns
        Of another link or another path; the measured ones where None.
    eras
        Of the receiver.
    full
        A full packet of the flow: a given rate is the wire's, and headers take their part of it.
    """
    trip = rtt_ns if rtt_ns is not None else _known(summary["rtt_min_ns"])
    rate = rate_bps if rate_bps is not None else _known(summary["capacity_bps"])
    if not trip or not rate:
        return None
    window = _known(summary["window_max_bytes"])
    measured = rate_bps is None and rtt_ns is None
    need = math.ceil(_known(summary["bdp_bytes"]) or 0) if measured else math.ceil(rate * trip / 8e9)
    if not 0 < need <= FIELD_MAX << SCALE_MAX:
        return None
    mss = max(1, int(summary["mss_bytes"]))
    filled = _filled(
        rate,
        int(trip),
        need,
        mss=mss,
        window=None if window is None else int(window),
        eras=eras,
        full=None if rate_bps is None else full,
    )
    unscaled = need > FIELD_MAX and summary["window_scale_source"] == UNSCALED
    return replace(
        filled,
        rate_given=rate_bps is not None,
        rtt_given=rtt_ns is not None,
        measured_bps=_known(summary["throughput_bps"]) if rtt_ns is None else None,
        unscaled=unscaled,
        then=_earlier(summary, rate, int(trip), mss, unscaled=unscaled) or filled.then,
        queue=_queue(summary),
    )


def _known(value: Any) -> float | None:
    return None if pd.isna(value) else float(value)


def _filled(
    rate_bps: float,
    rtt_ns: int,
    need: int,
    *,
    mss: int,
    window: int | None,
    eras: Sequence[Era],
    full: Packet | None,
) -> Ceiling:
    goodput = rate_bps if full is None else rate_bps * float(full.efficiency)
    return Ceiling(
        window=window,
        rtt_ns=rtt_ns,
        rate_bps=rate_bps,
        goodput_bps=goodput,
        ceiling_bps=None if window is None else window_bps(window, rtt_ns),
        bdp_bytes=need,
        rcvbuf={era.key: least_setting(era, need, mss) for era in eras},
        sndbuf=sendbuf.least_setting(need),
        then="Beyond that the link limits; a larger window only adds delay.",
    )


def _earlier(summary: pd.Series[Any], rate: float, rtt_ns: int, mss: int, *, unscaled: bool) -> str:
    """Say what limits before the link does; empty where nothing is known to."""
    if unscaled:
        return f"Window scaling is off: {FIELD_MAX:,} bytes stay the most, {units.rate(window_bps(FIELD_MAX, rtt_ns))}."
    again, payload = float(summary["retransmitted_bytes"]), float(summary["payload_bytes"])
    # What the flow moved in a round trip it moves over another path, too.
    reached = (_known(summary["throughput_bps"]) or 0.0) * (_known(summary["rtt_min_ns"]) or 0.0) / rtt_ns
    # What a full link's queue drops is no limit of its own.
    if again > 0 and payload > 0 and summary["limit"] != "link":
        lost = Fraction(min(1.0, again / payload))
        reno = float(bdp.loss_ceiling(mss, Fraction(rtt_ns, 10**9), lost))
        # A sender that was faster does not go by the formula: CUBIC over long paths, BBR, or losses that came at once.
        if reached < reno < rate:
            return (
                f"Loss limits next: with {100 * float(lost):.2g} % sent again, Reno reaches about {units.rate(reno)} "
                "(Mathis 1997)."
            )
    return ""


def _queue(summary: pd.Series[Any]) -> str:
    floor, median = _known(summary["rtt_min_ns"]), _known(summary["rtt_median_ns"])
    if not floor or median is None or median < _INFLATED * floor:
        return ""
    return (
        f"Round trips take {units.duration(median)}, {median / floor:.1f} times the {units.duration(floor)} of an "
        "empty path: a queue stands already, and a larger window would lengthen it."
    )
