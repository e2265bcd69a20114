"""
The bandwidth-delay product, and the quantities that follow from rate, RTT, window, loss, size and time.

Units are bits per second, seconds and bytes. Values are fractions, so that only the displayed text is rounded. The
model is the steady state: slow start and the handshake are not counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from bdpcap.errors import ArgumentError
from bdpcap.explain.buffers import FIELD_MAX, SCALE_MAX, least_setting
from bdpcap.explain.eras import ERAS
from bdpcap.words import quantities, units
from bdpcap.words.rates import BITS_PER_BYTE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bdpcap.explain.eras import Era
    from bdpcap.explain.headers import Packet

__all__ = [
    "MSS_BYTES",
    "STACKS",
    "Derived",
    "Known",
    "bdp",
    "counted_in_1024",
    "derive",
    "largest",
    "loss_ceiling",
    "loss_for",
    "product",
    "window_ceiling",
]

MSS_BYTES: Final = 1448
"""Default payload of a full packet: MTU 1500, IPv4, TCP with timestamps."""

_MATHIS: Final = Fraction(3, 2)
"""Square of the constant of Mathis et al. for random or periodic loss, with an acknowledgment for each packet."""


STACKS: Final = {era.key: era for era in ERAS}
"""TCP stacks by name, each with the share of the receive buffer that it advertises."""


@dataclass(frozen=True, slots=True)
class Known:
    """Given quantities; None if not given."""

    rate_bps: Fraction | None = None
    """Rate of the link, headers included."""
    rtt_s: Fraction | None = None
    window_bytes: Fraction | None = None
    loss: Fraction | None = None
    """Share of the packets that are lost, 0 to 1."""
    size_bytes: Fraction | None = None
    time_s: Fraction | None = None
    mss_bytes: int = MSS_BYTES
    packet: Packet | None = None
    """Full packet with its headers; None counts no headers."""
    streams: int = 1
    """Number of parallel connections; each has this window, and each loses this share of its packets."""


@dataclass(frozen=True, slots=True)
class Derived:
    """
    One derived quantity.

    Attributes
    ----------
    quantity
        Stable name, for programs.
    value, unit
        Value in ``bit/s``, ``bytes`` or ``s``; the unit is 1 for a share and empty for a count.
    how
        Formula and its source.
    """

    quantity: str
    value: Fraction
    unit: str
    how: str


def bdp(rate: float | str, rtt: float | str) -> float:
    """
    Return the bandwidth-delay product in bytes: the smallest window that keeps a path full.

    Parameters
    ----------
    rate
        Rate in bits per second, or text with a unit: ``"25Mbit/s"``.
    rtt
        Round-trip time in seconds, or text with a unit: ``"40ms"``.

    Raises
    ------
    ArgumentError
        A text cannot be parsed as a rate or a duration, or a value is not above zero.

    Examples
    --------
    >>> bdpcap.bdp("25Mbit/s", "40ms")
    125000.0
    """
    return float(product(quantities.rate(rate), quantities.duration(rtt)))


def product(rate_bps: Fraction, rtt_s: Fraction) -> Fraction:
    """Return the bandwidth-delay product in bytes, without rounding."""
    return rate_bps * rtt_s / BITS_PER_BYTE


def window_ceiling(window_bytes: Fraction, rtt_s: Fraction) -> Fraction:
    """Return the highest rate that a window allows, in bits per second (RFC 7323 section 1.1)."""
    return window_bytes * BITS_PER_BYTE / rtt_s


def loss_ceiling(mss_bytes: int, rtt_s: Fraction, loss: Fraction) -> Fraction:
    """
    Return the highest rate that Reno's congestion control reaches under loss, in bits per second.

    The rate is MSS / RTT x sqrt(3/2) / sqrt(loss): M. Mathis, J. Semke, J. Mahdavi, T. Ott, "The macroscopic behavior
    of the TCP congestion avoidance algorithm", ACM CCR 27(3), 1997. Delayed acknowledgments lower this rate by a factor
    of sqrt(2). CUBIC over long round trips and BBR exceed this rate.
    """
    return Fraction(math.sqrt(_MATHIS / loss)) * mss_bytes * BITS_PER_BYTE / rtt_s


def loss_for(mss_bytes: int, rtt_s: Fraction, rate_bps: Fraction) -> Fraction:
    """Return the largest share of lost packets, 0 to 1, at which Reno still reaches a rate; see `loss_ceiling`."""
    return min(Fraction(1), _MATHIS * (mss_bytes * BITS_PER_BYTE / (rtt_s * rate_bps)) ** 2)


def derive(known: Known, stack: str | None = None) -> list[Derived]:
    """
    Return all quantities that follow from the given ones.

    Parameters
    ----------
    known
        Given quantities.
    stack
        Name in `STACKS` of the stack whose buffers are computed; None computes those of all stacks.

    Raises
    ------
    ArgumentError
        No quantity follows from the given ones.
    """
    chosen = STACKS if stack is None else {stack: STACKS[stack]}
    derived = [*_headers(known), *_windows(known, chosen), *_losses(known), *_transfers(known)]
    if not derived:
        raise ArgumentError(
            "nothing follows from that: give two or more of rate, RTT, window, loss, size and time, or headers"
        )
    return derived


def largest(paths: Sequence[tuple[Fraction, Fraction]], stack: str | None = None) -> list[Derived]:
    """
    Return the BDP of each path of one host, and the buffers for the largest BDP, which suit all paths.

    Parameters
    ----------
    paths
        Rate in bits per second and RTT in seconds of each path.
    stack
        Name in `STACKS` of the stack whose buffers are computed; None computes those of all stacks.
    """
    each = [
        Derived(
            f"BDP, path {number}",
            product(rate, rtt),
            "bytes",
            f"{units.rate(rate)} x {units.duration(rtt * 10**9)}",
        )
        for number, (rate, rtt) in enumerate(paths, 1)
    ]
    rate, rtt = max(paths, key=lambda path: product(*path))
    most = [
        replace(answer, quantity="largest BDP", how="the buffer must hold this one")
        if answer.quantity == "BDP"
        else answer
        for answer in derive(Known(rate, rtt), stack)
        if answer.unit == "bytes"
    ]
    return [*each, *most]


_MIXED_MEGA: Final = 1024 * 1000
"""Bits that tools call one megabit if they count a kilobit as 1024 bits, and a megabit as 1000 kilobits."""


def counted_in_1024(rate_bps: Fraction) -> str:
    """Return a rate as tools print it that call it Mbit/s but divide by 1024 twice, or by 1024 and 1000."""
    twice, once = float(rate_bps / 2**20), float(rate_bps / _MIXED_MEGA)
    return f"{twice:.2f} as Mibit/s, {once:.2f} where 1024 and 1000 are mixed"


def _headers(known: Known) -> Iterator[Derived]:
    if known.packet is None:
        return
    yield Derived(
        "efficiency",
        known.packet.efficiency,
        "1",
        f"{known.packet.payload_bytes} of {known.packet.wire_bytes} bytes on the link",
    )
    if known.rate_bps is not None:
        yield Derived("payload rate", _payload_rate(known, known.rate_bps), "bit/s", "rate x efficiency")


def _windows(known: Known, stacks: dict[str, Era]) -> Iterator[Derived]:
    rate, rtt, window = known.rate_bps, known.rtt_s, known.window_bytes
    if rate is not None and rtt is not None:
        least = product(rate, rtt)
        each = math.ceil(least / known.streams)
        held = each <= FIELD_MAX << SCALE_MAX
        yield Derived("BDP", least, "bytes", f"rate x RTT{'' if held else '; no window holds as much'}")
        for name, stack in stacks.items() if held else ():
            asked = least_setting(stack, each, known.mss_bytes)
            # Linux doubles the requested size (sock_setsockopt).
            buffer = asked * known.streams * (2 if stack.linux else 1)
            of_one = "" if known.streams == 1 else f"; {buffer // known.streams:,} per stream"
            kept = " and a segment" if stack.linux and not stack.is_measured else ""
            how = f"BDP x {1 / stack.share}{kept}{f'; SO_RCVBUF {asked:,}' if stack.linux else ''}{of_one}"
            yield Derived(f"buffer, {name}", Fraction(buffer), "bytes", how)
    if window is not None and rtt is not None:
        ceiling = window_ceiling(window, rtt)
        yield Derived(
            "window / RTT", ceiling, "bit/s", f"the most the window allows; {counted_in_1024(ceiling)}"
        )
        if known.streams > 1:
            all_of_them = ceiling * known.streams
            how = f"{known.streams} streams, each with the window"
            yield Derived("windows / RTT", all_of_them, "bit/s", how)
        elif rate is not None and ceiling < _payload_rate(known, rate):
            streams = Fraction(math.ceil(_payload_rate(known, rate) / ceiling))
            yield Derived("streams needed", streams, "", "payload rate / (window / RTT)")
    if window is not None and rate is not None:
        payload_rate, name = _payload_rate(known, rate), _rate_name(known)
        windows, times = window * known.streams, "" if known.streams == 1 else f"{known.streams} x "
        yield Derived("longest RTT", windows * BITS_PER_BYTE / payload_rate, "s", f"{times}window / {name}")
        if rtt is not None:
            filled = min(Fraction(1), window_ceiling(windows, rtt) / payload_rate)
            yield Derived("share of the link", filled, "1", f"{times}window / ({name} x RTT), at most 1")


def _losses(known: Known) -> Iterator[Derived]:
    mss, loss = known.mss_bytes, known.loss
    formula = f"Mathis et al. 1997, MSS {mss}: rate = MSS / RTT x sqrt(3/2 / loss)"
    if loss is None:
        if known.rate_bps is not None and known.rtt_s is not None:
            reached = _payload_rate(known, known.rate_bps)
            yield Derived("largest loss", loss_for(mss, known.rtt_s, reached), "1", formula)
    elif known.rtt_s is not None:
        yield Derived("loss ceiling", loss_ceiling(mss, known.rtt_s, loss), "bit/s", formula)
    elif known.rate_bps is not None:
        one_second = loss_ceiling(mss, Fraction(1), loss)
        longest = one_second / _payload_rate(known, known.rate_bps)
        yield Derived("longest RTT for the loss", longest, "s", formula)


def _transfers(known: Known) -> Iterator[Derived]:
    size, time = known.size_bytes, known.time_s
    ceilings = _ceilings(known)
    if ceilings:
        name, most = min(ceilings.items(), key=lambda item: item[1])
        if len(ceilings) > 1:
            yield Derived("throughput", most, "bit/s", f"{name}, the lowest ceiling")
        if size is not None:
            yield Derived(
                "time",
                size * BITS_PER_BYTE / most,
                "s",
                f"size / ({name})" if "/" in name else f"size / {name}",
            )
        elif time is not None:
            yield Derived("size", most * time / BITS_PER_BYTE, "bytes", f"{name} x time")
    if size is None or time is None:
        return
    goodput = size * BITS_PER_BYTE / time
    needed = goodput if known.packet is None else goodput / known.packet.efficiency
    counted = "" if known.packet is None else " / efficiency"
    yield Derived("rate needed", needed, "bit/s", f"size / time{counted}")
    if known.rtt_s is not None:
        yield Derived("window needed", product(goodput, known.rtt_s), "bytes", "size / time x RTT")
    if known.rate_bps is not None:
        yield Derived("link used", needed / known.rate_bps, "1", "rate needed / rate")


def _ceilings(known: Known) -> dict[str, Fraction]:
    """Return the upper bounds of the payload's rate in bits per second, by name."""
    ceilings = {}
    if known.rate_bps is not None:
        ceilings[_rate_name(known)] = _payload_rate(known, known.rate_bps)
    several = known.streams > 1
    if known.rtt_s is not None and known.window_bytes is not None:
        name = "windows / RTT" if several else "window / RTT"
        ceilings[name] = window_ceiling(known.window_bytes, known.rtt_s) * known.streams
    if known.rtt_s is not None and known.loss is not None:
        name = "loss ceilings" if several else "loss ceiling"
        ceilings[name] = loss_ceiling(known.mss_bytes, known.rtt_s, known.loss) * known.streams
    return ceilings


def _payload_rate(known: Known, rate_bps: Fraction) -> Fraction:
    return rate_bps if known.packet is None else rate_bps * known.packet.efficiency


def _rate_name(known: Known) -> str:
    return "rate" if known.packet is None else "payload rate"
