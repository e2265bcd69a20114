"""
The bandwidth-delay product, and what follows from it: whatever is missing of rate, RTT, window, loss, size and time.

All in bits per second, seconds and bytes; fractions, so that only what is shown is rounded. Steady state: slow
start and the handshake are not counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from bdpcap.explain.buffers import ERAS
from bdpcap.words import quantities, units

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bdpcap.explain.buffers import Era
    from bdpcap.explain.headers import Packet

__all__ = [
    "MSS_BYTES",
    "STACKS",
    "Derived",
    "Known",
    "bdp",
    "buffer_for",
    "counted_in_1024",
    "derive",
    "largest",
    "loss_ceiling",
    "loss_for",
    "product",
    "window_ceiling",
]

MSS_BYTES: Final = 1448
"""Payload of a full packet where none is given: MTU 1500, IPv4, TCP with timestamps."""

_MATHIS: Final = Fraction(3, 2)
"""Square of the constant of Mathis et al. for random or periodic loss, each packet acknowledged."""


STACKS: Final = {era.key: era for era in ERAS}
"""Stacks by name, with the share of the buffer that they advertise."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is given; None is what is not."""

    rate_bps: Fraction | None = None
    """Of the link, headers included."""
    rtt_s: Fraction | None = None
    window_bytes: Fraction | None = None
    loss: Fraction | None = None
    """Share of the packets that are lost."""
    size_bytes: Fraction | None = None
    time_s: Fraction | None = None
    mss_bytes: int = MSS_BYTES
    packet: Packet | None = None
    """With its headers; None: they are not counted."""
    streams: int = 1
    """Parallel connections, each with this window and these losses of its own packets."""


@dataclass(frozen=True, slots=True)
class Derived:
    """
    One number that follows.

    Attributes
    ----------
    quantity
        Stable, for programs.
    value, unit
        In ``bit/s``, ``bytes``, ``s``, 1 for a share, or nothing for a count.
    how
        The arithmetic, and where it is from.
    """

    quantity: str
    value: Fraction
    unit: str
    how: str


def bdp(rate: float | str, rtt: float | str) -> float:
    """
    Return the bandwidth-delay product in bytes: the least window that keeps a path full.

    Parameters
    ----------
    rate
        In bits per second, or as text with its unit: ``"25Mbit/s"``.
    rtt
        In seconds, or as text with its unit: ``"40ms"``.

    Raises
    ------
    ValueError
        A text is no rate, or no duration.
    """
    rate_bps = quantities.rate(rate) if isinstance(rate, str) else Fraction(rate)
    rtt_s = quantities.duration(rtt) if isinstance(rtt, str) else Fraction(rtt)
    return float(product(rate_bps, rtt_s))


def product(rate_bps: Fraction, rtt_s: Fraction) -> Fraction:
    """Return the bandwidth-delay product in bytes, exactly."""
    return rate_bps * rtt_s / 8


def window_ceiling(window_bytes: Fraction, rtt_s: Fraction) -> Fraction:
    """Return the most that a window allows, in bits per second (RFC 7323 section 1.1)."""
    return window_bytes * 8 / rtt_s


def buffer_for(window_bytes: Fraction, stack: Era) -> int:
    """Return the least receive buffer in bytes that can advertise a window."""
    return math.ceil(window_bytes / stack.share)


def loss_ceiling(mss_bytes: int, rtt_s: Fraction, loss: Fraction) -> Fraction:
    """
    Return the most that loss leaves to Reno's congestion control, in bits per second.

    MSS / RTT x sqrt(3/2) / sqrt(loss): M. Mathis, J. Semke, J. Mahdavi, T. Ott, "The macroscopic behavior of the
    TCP congestion avoidance algorithm", ACM CCR 27(3), 1997. Delayed acknowledgments lower it by sqrt(2); CUBIC at
    long round trips and BBR exceed it.
    """
    return Fraction(math.sqrt(_MATHIS / loss)) * mss_bytes * 8 / rtt_s


def loss_for(mss_bytes: int, rtt_s: Fraction, rate_bps: Fraction) -> Fraction:
    """Return the largest share of lost packets at which Reno still reaches a rate; see `loss_ceiling`."""
    return min(Fraction(1), _MATHIS * (mss_bytes * 8 / (rtt_s * rate_bps)) ** 2)


def derive(known: Known, stack: str | None = None) -> list[Derived]:
    """
    Return all that follows from what is known.

    Parameters
    ----------
    known
        What is given.
    stack
        One of `STACKS`, for the buffers; all of them where None.

    Raises
    ------
    ValueError
        Nothing follows.
    """
    chosen = STACKS if stack is None else {stack: STACKS[stack]}
    derived = [*_headers(known), *_windows(known, chosen), *_losses(known), *_transfers(known)]
    if not derived:
        raise ValueError(
            "nothing follows from that: give two or more of rate, RTT, window, loss, size and time, or headers"
        )
    return derived


def largest(paths: Sequence[tuple[Fraction, Fraction]], stack: str | None = None) -> list[Derived]:
    """
    Return the BDP of each path of one host, and the buffers that suit them all: those for the largest.

    Parameters
    ----------
    paths
        Rate in bits per second, and RTT in seconds.
    stack
        As for `derive`.
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


def counted_in_1024(rate_bps: Fraction) -> str:
    """Say what tools print for a rate that count 1024 bits a kibibit, and call it Mbit/s."""
    twice, once = float(rate_bps / 2**20), float(rate_bps / 1_024_000)
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
        yield Derived("BDP", least, "bytes", "rate x RTT")
        for name, stack in stacks.items():
            buffer = buffer_for(least, stack)
            # Linux doubles what is asked for (sock_setsockopt).
            asked = f"; SO_RCVBUF {math.ceil(buffer / 2):,}" if stack.linux else ""
            each = "" if known.streams == 1 else f"; {math.ceil(buffer / known.streams):,} per stream"
            how = f"BDP x {1 / stack.share}{asked}{each}"
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
        yield Derived("longest RTT", windows * 8 / payload_rate, "s", f"{times}window / {name}")
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
                "time", size * 8 / most, "s", f"size / ({name})" if "/" in name else f"size / {name}"
            )
        elif time is not None:
            yield Derived("size", most * time / 8, "bytes", f"{name} x time")
    if size is None or time is None:
        return
    goodput = size * 8 / time
    needed = goodput if known.packet is None else goodput / known.packet.efficiency
    counted = "" if known.packet is None else " / efficiency"
    yield Derived("rate needed", needed, "bit/s", f"size / time{counted}")
    if known.rtt_s is not None:
        yield Derived("window needed", product(goodput, known.rtt_s), "bytes", "size / time x RTT")
    if known.rate_bps is not None:
        yield Derived("link used", needed / known.rate_bps, "1", "rate needed / rate")


def _ceilings(known: Known) -> dict[str, Fraction]:
    """Return what bounds the payload's rate, by name."""
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
