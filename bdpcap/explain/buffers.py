"""
Window arithmetic forward: what a receive buffer lets a socket advertise, by kernel era.

One monotone function a setting; `bdpcap.explain.solver` turns it round. Bytes everywhere.

Linux: SO_RCVBUF is doubled (sock_setsockopt), tcp_win_from_space() takes a share, tcp_init_buffer_space() keeps one
segment back, __tcp_select_window() rounds up to the window scale, or down to the MSS where there is no scale.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Final

__all__ = [
    "ERAS",
    "FIELD_MAX",
    "RMEM_MAX",
    "SCALE_MAX",
    "UNSCALED",
    "WELL_KNOWN",
    "Advertised",
    "Era",
    "Knob",
    "Setting",
    "eras_of",
    "least_setting",
    "sayable",
    "scale_for",
    "version",
]

FIELD_MAX: Final = 65535
"""What the 16 bits of the window field can say (RFC 9293 section 3.1)."""
SCALE_MAX: Final = 14
"""The largest window scale (RFC 7323 section 2.3)."""
UNSCALED: Final = "declined"
"""The source of a window scale that says that none is in force: a SYN came without the option."""
RMEM_MAX: Final = 212_992
"""net.core.rmem_max and wmem_max as the kernel sets them: 256 x SKB_TRUESIZE(256) on x86-64."""
SOCK_MIN_RCVBUF: Final = 2304
"""2048 + sizeof(struct sk_buff), aligned, on x86-64."""

Version = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Era:
    """
    How a stack makes a window of a buffer.

    Attributes
    ----------
    key, name
        For programs, for people.
    first, last
        Kernels that do so by default; None where open, or not Linux.
    shift
        net.ipv4.tcp_adv_win_scale: the buffer less this shift of it is offered.
    ratio
        Where there is no shift: 256ths of the buffer that are offered in the end.
    initial_ratio
        256ths at the handshake, which settle the window scale and the first window.
    charged_bytes
        Memory in use when the window last grew; measured, no constant of nature.
    factor
        The share in words.
    source
        Where this is from.
    """

    key: str
    name: str
    first: Version | None
    last: Version | None
    factor: str
    source: str
    shift: int | None = None
    ratio: int = 256
    initial_ratio: int = 256
    charged_bytes: int = 0
    linux: bool = True

    @property
    def share(self) -> Fraction:
        """Of a buffer that is in use for long, without the rounding and the reserve that cost a segment or two."""
        return Fraction(self.ratio, 256) if self.shift is None else 1 - Fraction(1, 1 << self.shift)

    def offered(self, buffer: int, *, initial: bool = False) -> int:
        """Return the bytes of a buffer that may become window: tcp_win_from_space()."""
        if self.shift is not None:
            return buffer - (buffer >> self.shift) if self.shift > 0 else buffer >> -self.shift
        if initial:
            return buffer * self.initial_ratio >> 8
        return max(0, buffer - self.charged_bytes) * self.ratio >> 8


ERAS: Final = (
    Era(
        "linux-2.6-3.3",
        "Linux up to 3.3, or tcp_adv_win_scale=2",
        (2, 6),
        (3, 3),
        "3/4",
        "tcp_win_from_space(): space - (space >> 2)",
        shift=2,
    ),
    Era(
        "linux-3.4-6.5",
        "Linux 3.4 to 6.5",
        (3, 4),
        (6, 5),
        "1/2",
        "tcp_win_from_space(), commit b49960a05e32: space - (space >> 1)",
        shift=1,
    ),
    Era(
        "linux-6.6-6.9",
        "Linux 6.6 to 6.9",
        (6, 6),
        (6, 9),
        "65/256",
        "commit dfa2f0483360: 1200 / SKB_TRUESIZE(4096), kept where SO_RCVBUF is set",
        ratio=65,
        initial_ratio=65,
    ),
    Era(
        "linux-6.10-6.11",
        "Linux 6.10 to 6.11",
        (6, 10),
        (6, 11),
        "128/256",
        "commit 697a6c8cec03: TCP_DEFAULT_SCALING_RATIO",
        ratio=128,
        initial_ratio=128,
    ),
    Era(
        "linux-6.12-on",
        "Linux since 6.12",
        (6, 12),
        None,
        "160/256 less 1,280 bytes",
        "tcp_measure_rcv_mss(): payload / memory of full packets, measured on Linux 6.18",
        ratio=160,
        initial_ratio=128,
        charged_bytes=1280,
    ),
    Era(
        "freebsd",
        "FreeBSD, macOS, Solaris",
        None,
        None,
        "1",
        "FreeBSD tcp_output(): min(sbspace(so_rcv), 65535 << rcv_scale)",
        linux=False,
    ),
)
"""Oldest first. Versions around 6.9 to 6.12 are as upstream has them; a distribution's kernel may differ."""


class Knob(StrEnum):
    """Where a buffer was set."""

    OPTION = "SO_RCVBUF"
    """By the application, before the handshake."""
    DEFAULT = "net.ipv4.tcp_rmem[1]"
    """Never set and never grown: the default, one segment kept back."""
    GROWN = "net.ipv4.tcp_rmem[2]"
    """Grown by autotuning to its maximum; nothing is kept back any more."""
    FIRST = "net.ipv4.tcp_rmem[1], first window"
    """The default as the first windows show it, before a segment is kept back."""


WELL_KNOWN: Final = {
    (Knob.OPTION, 24_576): "tcp_recv_hiwat of Solaris 8",
    (Knob.OPTION, RMEM_MAX): "the default of net.core.rmem_max, which cuts larger requests",
    (Knob.DEFAULT, 87_380): "the default before Linux 4.20",
    (Knob.FIRST, 87_380): "the default before Linux 4.20",
    (Knob.DEFAULT, 131_072): "the default since Linux 4.20",
    (Knob.FIRST, 131_072): "the default since Linux 4.20",
    (Knob.GROWN, 4_194_304): "the default before Linux 3.4",
    (Knob.GROWN, 6_291_456): "the default from Linux 3.4 to 6.15",
}
"""Buffers that nobody chose, and why they are there."""


@dataclass(frozen=True, slots=True)
class Advertised:
    """What a setting leads to."""

    buffer: int
    """sk_rcvbuf."""
    offered: int
    """The share of it."""
    raw: int
    """Less the segment kept back."""
    window: int
    """Rounded: what a capture shows."""
    scale: int | None
    """Negotiated; None where another setting decides it."""
    syn: int | None
    """The window of the SYN or SYN-ACK; None likewise."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A knob, turned to a value, in an era."""

    era: Era
    knob: Knob
    value: int

    def advertises(self, mss: int, scale: int | None = None) -> Advertised:
        """
        Run the arithmetic forward.

        Parameters
        ----------
        mss
            Payload of a full segment, its options taken off.
        scale
            The negotiated one, where the knob does not decide it; None rounds nothing.
        """
        era = self.era
        if not era.linux:
            return Advertised(self.value, self.value, self.value, self.value, None, None)
        if self.knob is not Knob.OPTION:
            offered = era.offered(self.value)
            raw = _kept_back(offered, mss) if self.knob is Knob.DEFAULT else offered
            return Advertised(self.value, offered, raw, _aligned(raw, scale or 0), None, None)
        buffer = max(2 * self.value, SOCK_MIN_RCVBUF)
        initial = era.offered(buffer, initial=True)
        own = scale_for(initial)
        offered = era.offered(buffer)
        raw = offered if era.charged_bytes else _kept_back(offered, mss)
        window = min(_aligned(raw, own) if own else max(raw // mss * mss, mss), FIELD_MAX << own)
        return Advertised(buffer, offered, raw, window, own, min(FIELD_MAX, initial // mss * mss))


def scale_for(space: int) -> int:
    """Return the window scale that tcp_select_initial_window() takes for so much space."""
    return min(SCALE_MAX, max(0, space.bit_length() - 16))


def sayable(window: int, scale: int | None = None) -> bool:
    """Tell whether a window field can say a window: by one scale, or by any where it is not known."""
    scales = range(SCALE_MAX + 1) if scale is None else [scale]
    return any(window >> one <= FIELD_MAX and window >> one << one == window for one in scales)


def least_setting(era: Era, window: int, mss: int) -> int:
    """Return the smallest SO_RCVBUF whose socket advertises at least a window."""
    return bisect_left(
        range(8 * window + 8 * mss),
        True,
        key=lambda value: Setting(era, Knob.OPTION, value).advertises(mss).window >= window,
    )


def version(text: str) -> Version:
    """Parse the first two numbers of a kernel version: ``6.1.176-amd64`` is ``(6, 1)``."""
    major, _, rest = text.partition(".")
    minor = rest.partition(".")[0].partition("-")[0]
    if not (major.isdecimal() and minor.isdecimal()):
        raise ValueError(f"{text!r} is no kernel version: give one like 6.1")
    return int(major), int(minor)


def eras_of(kernel: Version | None = None, adv_win_scale: int | None = None) -> list[tuple[Era, bool]]:
    """
    Return the eras that facts leave, and whether each is what the kernel does by default.

    Parameters
    ----------
    kernel
        Version of the receiver's Linux.
    adv_win_scale
        Its net.ipv4.tcp_adv_win_scale; without effect since 6.6.
    """
    left = []
    for era in ERAS:
        usual = kernel is None or (
            era.linux
            and era.first is not None
            and era.first <= kernel
            and (not era.last or kernel <= era.last)
        )
        possible = usual or (era.shift is not None and kernel is not None and kernel <= (6, 5))
        if adv_win_scale is not None and (kernel is None or kernel <= (6, 5)):
            possible = era.shift == adv_win_scale and (kernel is None or kernel <= (6, 5))
            usual = possible
        if possible:
            left.append((era, usual))
    if not left and adv_win_scale is not None:
        shifted = Era(
            f"linux-adv-win-scale{adv_win_scale:+d}",
            f"Linux up to 6.5 with tcp_adv_win_scale={adv_win_scale}",
            (2, 6),
            (6, 5),
            f"1 - 1/2^{adv_win_scale}" if adv_win_scale > 0 else f"1/2^{-adv_win_scale}",
            "tcp_win_from_space()",
            shift=adv_win_scale,
        )
        left.append((shifted, True))
    return left


def _kept_back(offered: int, mss: int) -> int:
    """Take off the segment that tcp_init_buffer_space() reserves."""
    return max(2 * mss, offered - mss) if offered > 2 * mss else offered


def _aligned(window: int, scale: int) -> int:
    return -(-window >> scale) << scale
