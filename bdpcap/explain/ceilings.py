"""
The rate that a window allows, the window and the buffers that a path needs, and the limit that comes next.

Units are bytes, bits per second and nanoseconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from bdpcap.explain import bdp, gate, sendbuf
from bdpcap.explain.buffers import FIELD_MAX, SCALE_MAX, UNSCALED, least_setting
from bdpcap.explain.capacity import known_bdp, known_bps
from bdpcap.explain.eras import ERAS, Era
from bdpcap.explain.sent_again import of_sent
from bdpcap.words import rates, units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bdpcap.explain.headers import Packet

__all__ = ["Ceiling", "asked", "of"]

_INFLATED: Final = 1.5
"""Ratio of median to minimum RTT from which a queue is reported."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """
    The limit that the window sets to a flow, and the buffers that would lift it.

    Attributes
    ----------
    window, rtt_ns, rate_bps
        Largest window, minimum RTT and link rate: measured, or given by the caller.
    rate_given, rtt_given
        Whether the caller gave rate and RTT. A measured rate is that of the payload, a given one that of the wire.
    goodput_bps
        Part of a given rate that headers leave to payload; equal to a measured rate.
    ceiling_bps
        Window over RTT; None without a window.
    bdp_bytes
        Rate times RTT: the window that fills the link.
    rcvbuf
        Smallest SO_RCVBUF that fills the link, by key of the era.
    sndbuf
        Smallest SO_SNDBUF that fills the link, on Linux.
    unscaled
        Whether no window scale is in force although the BDP exceeds 65,535 bytes.
    then
        Sentence on the limit that comes next, once the buffers are raised.
    link_is_next
        Whether the link is the limit that comes next.
    queue
        Warning that a larger window would only lengthen a queue; empty if there is no queue.
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
    unscaled: bool = False
    link_is_next: bool = True
    queue: str = ""

    @property
    def suffices(self) -> bool:
        """Whether the observed window fills the link."""
        return self.ceiling_bps is not None and self.ceiling_bps >= self.goodput_bps


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
    Return the ceiling of a path without a capture.

    Parameters
    ----------
    rate_bps, rtt_ns
        Rate and RTT of the path.
    mss
        Payload bytes of a full segment.
    window
        Window that the receiver offers, in bytes; None if unknown.
    eras
        Eras that the receiver's stack may belong to.
    full
        Full packet whose headers are counted; None counts no headers.
    """
    need = math.ceil(rates.bytes_at(rate_bps, rtt_ns))
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
    Return the ceiling of a flow; None without an RTT or a rate, or where no window can hold their product.

    Parameters
    ----------
    summary
        Row of the ``flows`` table.
    rate_bps, rtt_ns
        Rate of another link, and RTT of another path; None takes the measured ones.
    eras
        Eras that the receiver's stack may belong to.
    full
        Full packet of the flow, to deduct headers from a given rate; None counts no headers.
    """
    trip = rtt_ns if rtt_ns is not None else _known(summary["rtt_min_ns"])
    rate = rate_bps if rate_bps is not None else known_bps(summary)
    if not trip or not rate:
        return None
    window = _known(summary["window_max_bytes"])
    measured = rate_bps is None and rtt_ns is None
    need = math.ceil(known_bdp(summary) or 0) if measured else math.ceil(rates.bytes_at(rate, trip))
    mss = max(1, int(summary["mss_bytes"]))
    if not 0 < need <= FIELD_MAX << SCALE_MAX or (measured and gate.full_bdp(need, mss) is None):
        return None
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
    earlier = _earlier(summary, rate, int(trip), mss, unscaled=unscaled)
    return replace(
        filled,
        rate_given=rate_bps is not None,
        rtt_given=rtt_ns is not None,
        unscaled=unscaled,
        then=earlier or filled.then,
        link_is_next=not earlier or unscaled,
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
        ceiling_bps=None if window is None else rates.of_bytes(window, rtt_ns),
        bdp_bytes=need,
        rcvbuf={era.key: least_setting(era, need, mss) for era in eras},
        sndbuf=sendbuf.least_setting(need),
        then="Beyond that the link limits; a larger window only adds delay.",
    )


def _earlier(summary: pd.Series[Any], rate: float, rtt_ns: int, mss: int, *, unscaled: bool) -> str:
    """Return a sentence on a limit that comes before that of the link; empty if none is known."""
    if unscaled:
        most = units.rate(rates.of_bytes(FIELD_MAX, rtt_ns))
        return f"Window scaling is off: {FIELD_MAX:,} bytes stay the most, {most}."
    # Data that had arrived when it was sent again was not lost.
    real = 1 - int(summary["spurious_retransmits"]) / max(1, int(summary["retransmits"]))
    retransmitted = max(0.0, real) * float(summary["retransmitted_bytes"])
    share = of_sent(retransmitted, float(summary["payload_bytes"]))
    # The flow would move as many bytes per round trip over another path.
    reached = (
        (_known(summary["active_throughput_bps"]) or 0.0) * (_known(summary["rtt_min_ns"]) or 0.0) / rtt_ns
    )
    # Drops from the queue of a full link are part of the limit `link`.
    if share > 0 and summary["limit"] != "link":
        lost = Fraction(share)
        reno = float(bdp.loss_ceiling(mss, Fraction(rtt_ns, 10**9), lost))
        # A faster sender does not follow the formula: CUBIC over long paths, BBR, or losses in one burst.
        if reached < reno < rate:
            return (
                f"Loss limits next: with {units.percent(share)} retransmitted, Reno reaches about {units.rate(reno)} "
                "(Mathis 1997)."
            )
    return ""


def _queue(summary: pd.Series[Any]) -> str:
    rtt_min, median = _known(summary["rtt_min_ns"]), _known(summary["rtt_median_ns"])
    if not rtt_min or median is None or median < _INFLATED * rtt_min:
        return ""
    return (
        f"Round trips take {units.duration(median)}, {median / rtt_min:.1f} times the {units.duration(rtt_min)} of an "
        "empty path. A queue is there already, and a larger window would lengthen it."
    )
