"""
Window arithmetic forward: what a receive buffer lets a socket advertise, by kernel era.

One monotone function a setting; `bdpcap.explain.solver` turns it round. Bytes everywhere. `bdpcap.explain.kernels`
says which era a kernel is of.

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
    "FULL_PACKETS",
    "MEASURED_SHARES",
    "MSS_UNMEASURED",
    "RMEM_MAX",
    "SCALE_MAX",
    "UNSCALED",
    "WELL_KNOWN",
    "Advertised",
    "Era",
    "Knob",
    "Setting",
    "Version",
    "least_setting",
    "sayable",
    "scale_for",
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

MSS_UNMEASURED: Final = 536
"""Segments no longer than TCP_MSS_DEFAULT leave the share of the handshake in force: tcp_measure_rcv_mss()."""
FULL_PACKETS: Final = (Fraction(60, 100), Fraction(67, 100))
"""Share of the buffer that becomes window where it is measured, for full packets of MTU 1500 that nothing merged:
0.62 to 0.66 over veth and TAP (tests/data/linux618_windows.csv)."""
MEASURED_SHARES: Final = (Fraction(1, 4), Fraction(1))
"""The same for any packets: memory is more than the payload, and the kernel takes it in powers of two, or in pages."""

Version = tuple[int, int, int]
_ANY: Final = 999


@dataclass(frozen=True, slots=True)
class Era:
    """
    How a stack makes a window of a buffer.

    Attributes
    ----------
    key, name
        For programs, for people.
    kernels
        First and last versions of Linux, patch level included, that do so by default; empty for another stack.
    shift
        net.ipv4.tcp_adv_win_scale: the buffer less this shift of it is offered.
    ratio
        Where there is no shift: 256ths of the buffer that are offered in the end.
    initial_ratio
        256ths at the handshake, which settle the window scale and the first window.
    charged_bytes
        Memory in use when the window last grew, where the share is measured; measured, no constant of nature.
    factor
        The share in words.
    source
        Where this is from.
    """

    key: str
    name: str
    kernels: tuple[tuple[Version, Version], ...]
    factor: str
    source: str
    shift: int | None = None
    ratio: int = 256
    initial_ratio: int = 256
    charged_bytes: int = 0
    whole_segments: bool = False

    @property
    def linux(self) -> bool:
        """Whether the stack is Linux, which doubles SO_RCVBUF."""
        return bool(self.kernels)

    @property
    def is_measured(self) -> bool:
        """Whether the share follows from the memory that the device's packets take."""
        return self.charged_bytes > 0

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
        (((2, 6, 0), (3, 2, 17)), ((3, 3, 0), (3, 3, 4))),
        "3/4",
        "tcp_win_from_space(): space - (space >> 2)",
        shift=2,
    ),
    Era(
        "linux-3.4-6.5",
        "Linux 3.4 to 6.5",
        (((3, 2, 18), (3, 2, _ANY)), ((3, 3, 5), (6, 5, _ANY))),
        "1/2",
        "tcp_win_from_space(), commit b49960a05e32: space - (space >> 1)",
        shift=1,
    ),
    Era(
        "linux-6.6-6.9",
        "Linux 6.7 to 6.9.2, and 6.6 to 6.6.32",
        (((6, 6, 0), (6, 6, 32)), ((6, 7, 0), (6, 8, 11)), ((6, 9, 0), (6, 9, 2))),
        "65/256",
        "commit dfa2f0483360: 1200 / SKB_TRUESIZE(4096), kept where SO_RCVBUF is set",
        ratio=65,
        initial_ratio=65,
    ),
    Era(
        "linux-6.10-6.11",
        "Linux 6.9.3 to 6.10.3, and 6.6.33 to 6.6.44",
        (((6, 6, 33), (6, 6, 44)), ((6, 8, 12), (6, 8, _ANY)), ((6, 9, 3), (6, 10, 3))),
        "128/256",
        "commit 697a6c8cec03: TCP_DEFAULT_SCALING_RATIO",
        ratio=128,
        initial_ratio=128,
    ),
    Era(
        "linux-6.12-on",
        "Linux since 6.10.4, and 6.6 since 6.6.45",
        (((6, 6, 45), (6, 6, _ANY)), ((6, 10, 4), (_ANY, _ANY, _ANY))),
        "the share that its packets' memory leaves, 0.60 to 0.67 for full ones,",
        "tcp_measure_rcv_mss(), commit 05f76b2d634e: payload / memory of the packets that arrive",
        ratio=160,
        initial_ratio=128,
        charged_bytes=1280,
    ),
    Era(
        "freebsd",
        "FreeBSD, macOS",
        (),
        "1",
        "FreeBSD tcp_output(): min(sbspace(so_rcv), 65535 << rcv_scale)",
    ),
    Era(
        "solaris",
        "Solaris",
        (),
        "1",
        "Solaris Tunable Parameters: tcp_recv_hiwat; whole segments, rounded up, as observed",
        whole_segments=True,
    ),
)
"""Oldest first. Stable kernels changed within a series; what a distribution's kernel took over is its own matter."""


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
    HIWAT = "tcp_recv_hiwat"
    """The default of Solaris."""


WELL_KNOWN: Final = {
    (Knob.HIWAT, 24_576): "the default of Solaris 8",
    (Knob.HIWAT, 49_152): "the default of Solaris 9 and 10",
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
            window = -(-self.value // mss) * mss if era.whole_segments else self.value
            return Advertised(self.value, self.value, self.value, window, None, min(FIELD_MAX, window))
        if self.knob is not Knob.OPTION:
            offered = era.offered(self.value)
            raw = _kept_back(offered, mss) if self.knob is Knob.DEFAULT else offered
            return Advertised(self.value, offered, raw, _aligned(raw, scale or 0), None, None)
        buffer = max(2 * self.value, SOCK_MIN_RCVBUF)
        initial = era.offered(buffer, initial=True)
        own = scale_for(initial)
        measures = era.is_measured and mss > MSS_UNMEASURED
        offered = era.offered(buffer, initial=not measures)
        raw = offered if measures else _kept_back(offered, mss)
        window = min(_aligned(raw, own) if own else _whole(raw, mss), FIELD_MAX << own)
        return Advertised(buffer, offered, raw, window, own, min(FIELD_MAX, _whole(initial, mss)))


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


def _kept_back(offered: int, mss: int) -> int:
    """Take off the segment that tcp_init_buffer_space() reserves."""
    return max(2 * mss, offered - mss) if offered > 2 * mss else offered


def _aligned(window: int, scale: int) -> int:
    return -(-window >> scale) << scale


def _whole(space: int, mss: int) -> int:
    """Round down to whole segments; less than one is offered as it is (tcp_select_initial_window())."""
    return space // mss * mss or space
