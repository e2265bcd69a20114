"""
Window arithmetic forward: the window that a receive buffer lets a socket advertise, by kernel era.

Each setting has one monotonic function; `bdpcap.explain.solver` inverts it. All sizes are in bytes.
`bdpcap.explain.kernels` maps a kernel version to its era.

Linux doubles SO_RCVBUF (sock_setsockopt), and tcp_win_from_space() takes a share of the result.
tcp_init_buffer_space() keeps one segment back. __tcp_select_window() rounds up to the window scale, or down to the MSS
where there is no scale.
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
"""Largest value of the 16-bit window field (RFC 9293 section 3.1)."""
SCALE_MAX: Final = 14
"""Largest window scale (RFC 7323 section 2.3)."""
UNSCALED: Final = "declined"
"""Value of ``window_scale_source`` when no window scale is in force: a SYN lacked the option."""
RMEM_MAX: Final = 212_992
"""Kernel default of net.core.rmem_max and wmem_max: 256 x SKB_TRUESIZE(256) on x86-64."""
SOCK_MIN_RCVBUF: Final = 2304
"""Smallest receive buffer on x86-64: 2048 + sizeof(struct sk_buff), aligned."""

MSS_UNMEASURED: Final = 536
"""Largest segment that leaves the share of the handshake in force, TCP_MSS_DEFAULT: tcp_measure_rcv_mss()."""
FULL_PACKETS: Final = (Fraction(60, 100), Fraction(67, 100))
"""Smallest and largest measured share of the buffer that becomes window, for unmerged full packets of MTU 1500.

Observed were 0.62 to 0.66 over veth and TAP (tests/data/linux618_windows.csv).
"""
MEASURED_SHARES: Final = (Fraction(1, 4), Fraction(1))
"""Smallest and largest measured share for any packets. Memory exceeds payload: it comes in powers of two, or in pages."""

Version = tuple[int, int, int]
_ANY: Final = 999


@dataclass(frozen=True, slots=True)
class Era:
    """
    Arithmetic by which a TCP stack derives the window from the receive buffer.

    Attributes
    ----------
    key, name
        Identifier for programs, and name for people.
    kernels
        First and last Linux versions, patch level included, with this arithmetic by default; empty for other stacks.
    shift
        Value of net.ipv4.tcp_adv_win_scale. If positive, ``buffer - (buffer >> shift)`` is offered, else
        ``buffer >> -shift``. None in other eras.
    ratio
        Where `shift` is None: 256ths of the buffer that are offered in the long run.
    initial_ratio
        256ths of the buffer at the handshake, which determine the window scale and the first window.
    charged_bytes
        Where the kernel measures the share: memory in use when the window last grew. This is an empirical value.
    factor
        Share of the buffer, as text.
    source
        Kernel function, commit or document that defines the arithmetic.
    whole_segments
        Whether the window is the buffer rounded up to whole segments.
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
        """Whether the kernel measures the share from the memory that received packets take."""
        return self.charged_bytes > 0

    @property
    def share(self) -> Fraction:
        """Share of the buffer that is offered in the long run, before rounding and reserve take off a segment or two."""
        return Fraction(self.ratio, 256) if self.shift is None else 1 - Fraction(1, 1 << self.shift)

    def offered(self, buffer: int, *, initial: bool = False) -> int:
        """Return the bytes of a buffer that may become window, at the handshake if `initial`: tcp_win_from_space()."""
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
"""Eras, oldest first. Stable kernels changed within a series. Backports of distributions are not covered."""


class Knob(StrEnum):
    """Setting that the size of a buffer comes from."""

    OPTION = "SO_RCVBUF"
    """Option that the application set before the handshake."""
    DEFAULT = "net.ipv4.tcp_rmem[1]"
    """Default of a buffer that was never set and has not grown; one segment is kept back."""
    GROWN = "net.ipv4.tcp_rmem[2]"
    """Maximum that autotuning grew the buffer to; no segment is kept back any more."""
    FIRST = "net.ipv4.tcp_rmem[1], first window"
    """Default of a buffer as the first windows show it, before a segment is kept back."""
    HIWAT = "tcp_recv_hiwat"
    """Default receive buffer of Solaris."""


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
"""Origin of buffer sizes that nobody had to choose, by knob and size."""


@dataclass(frozen=True, slots=True)
class Advertised:
    """Buffer, window and handshake fields that a setting leads to; sizes in bytes."""

    buffer: int
    """Size of the buffer; sk_rcvbuf on Linux."""
    offered: int
    """Share of the buffer that may become window."""
    raw: int
    """`offered` less the segment that is kept back."""
    window: int
    """`raw` after rounding: the window that a capture shows."""
    scale: int | None
    """Window scale that the setting negotiates; None where another setting determines it."""
    syn: int | None
    """Window of the SYN or SYN-ACK; None where another setting determines it."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Buffer setting: the knob, its value in bytes, and the era of the stack."""

    era: Era
    knob: Knob
    value: int

    def advertises(self, mss: int, scale: int | None = None) -> Advertised:
        """
        Return the window and the handshake fields that the setting leads to.

        Parameters
        ----------
        mss
            Payload bytes of a full segment: the MSS less TCP options.
        scale
            Negotiated window scale, used where the knob does not determine it; None skips the rounding.
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
    """Return the window scale that tcp_select_initial_window() chooses for a buffer space in bytes."""
    return min(SCALE_MAX, max(0, space.bit_length() - 16))


def sayable(window: int, scale: int | None = None) -> bool:
    """Return whether the window field can express a window at a scale; None accepts any scale."""
    scales = range(SCALE_MAX + 1) if scale is None else [scale]
    return any(window >> one <= FIELD_MAX and window >> one << one == window for one in scales)


def least_setting(era: Era, window: int, mss: int) -> int:
    """Return the smallest SO_RCVBUF in bytes whose socket advertises at least `window` bytes."""
    return bisect_left(
        range(8 * window + 8 * mss),
        True,
        key=lambda value: Setting(era, Knob.OPTION, value).advertises(mss).window >= window,
    )


def _kept_back(offered: int, mss: int) -> int:
    """Deduct the segment that tcp_init_buffer_space() reserves, but go no lower than two segments."""
    return max(2 * mss, offered - mss) if offered > 2 * mss else offered


def _aligned(window: int, scale: int) -> int:
    return -(-window >> scale) << scale


def _whole(space: int, mss: int) -> int:
    """Round down to whole segments; less than one segment is not rounded (tcp_select_initial_window())."""
    return space // mss * mss or space
