"""
Eras: the share of a receive buffer that TCP stacks offer as window, by kernel version and by system.

`bdpcap.explain.buffers` computes windows from them, and `bdpcap.explain.kernels` maps a kernel version to its era.
Linux takes the share in tcp_win_from_space().
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

__all__ = [
    "ANY_VERSION",
    "ERAS",
    "FULL_PACKETS",
    "MEASURED_SHARES",
    "MSS_UNMEASURED",
    "OLD_SHIFT",
    "Era",
    "Version",
]

MSS_UNMEASURED: Final = 536
"""Largest segment that leaves the share of the handshake in force, TCP_MSS_DEFAULT: tcp_measure_rcv_mss()."""
FULL_PACKETS: Final = (Fraction(60, 100), Fraction(67, 100))
"""Smallest and largest measured share of the buffer that becomes window, for unmerged full packets of MTU 1500.

Observed were 0.62 to 0.66 over veth and TAP (tests/data/linux618_windows.csv).
"""
MEASURED_SHARES: Final = (Fraction(1, 4), Fraction(1))
"""Smallest and largest measured share for any packets. Memory exceeds payload: it comes in powers of two, or in pages."""

Version = tuple[int, int, int]
OLD_SHIFT: Final = 2
"""Value of net.ipv4.tcp_adv_win_scale before Linux 3.4 by default: three quarters."""
ANY_VERSION: Final = 999
"""A number above every part of a Linux version: no patch level reached 400."""
_RATIO_BITS: Final = 8
"""Binary digits of a share of the buffer: TCP_RMEM_TO_WIN_SCALE of Linux."""
_WHOLE: Final = 1 << _RATIO_BITS
"""The whole buffer as such a share."""


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
    use
        Prior probability that a receiver has this arithmetic. An estimate of today's hosts, not a measurement: only its
        order of magnitude matters.
    systems
        Keys of the systems with this arithmetic, as ``receiver_system`` of the ``flows`` table has them.
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
    use: float
    systems: tuple[str, ...] = ("linux",)
    shift: int | None = None
    ratio: int = _WHOLE
    initial_ratio: int = _WHOLE
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
        return Fraction(self.ratio, _WHOLE) if self.shift is None else 1 - Fraction(1, 1 << self.shift)

    def offered(self, buffer: int, share: Fraction | None = None, *, initial: bool = False) -> int:
        """
        Return the bytes of a buffer that may become window, at the handshake if `initial`: tcp_win_from_space().

        `share` is the measured one, which takes the place of `ratio`. It is of no effect where none is measured.
        """
        if self.shift is not None:
            return buffer - (buffer >> self.shift) if self.shift > 0 else buffer >> -self.shift
        if initial:
            return buffer * self.initial_ratio >> _RATIO_BITS
        if share is None or not self.is_measured:
            return max(0, buffer - self.charged_bytes) * self.ratio >> _RATIO_BITS
        return int(max(0, buffer - self.charged_bytes) * share)


ERAS: Final = (
    Era(
        "linux-2.6-3.3",
        "Linux up to 3.3, or tcp_adv_win_scale=2",
        (((2, 6, 0), (3, 2, 17)), ((3, 3, 0), (3, 3, 4))),
        "3/4",
        "tcp_win_from_space(): space - (space >> 2)",
        use=0.08,
        shift=2,
    ),
    Era(
        "linux-3.4-6.5",
        "Linux 3.4 to 6.5",
        (((3, 2, 18), (3, 2, ANY_VERSION)), ((3, 3, 5), (6, 5, ANY_VERSION))),
        "1/2",
        "tcp_win_from_space(), commit b49960a05e32: space - (space >> 1)",
        use=0.37,
        shift=1,
    ),
    Era(
        "linux-6.6-6.9",
        "Linux 6.7 to 6.9.2, and 6.6 to 6.6.32",
        (((6, 6, 0), (6, 6, 32)), ((6, 7, 0), (6, 8, 11)), ((6, 9, 0), (6, 9, 2))),
        "65/256",
        "commit dfa2f0483360: 1200 / SKB_TRUESIZE(4096), kept where SO_RCVBUF is set",
        use=0.04,
        ratio=65,
        initial_ratio=65,
    ),
    Era(
        "linux-6.10-6.11",
        "Linux 6.9.3 to 6.10.3, and 6.6.33 to 6.6.44",
        (((6, 6, 33), (6, 6, 44)), ((6, 8, 12), (6, 8, ANY_VERSION)), ((6, 9, 3), (6, 10, 3))),
        "128/256",
        "commit 697a6c8cec03: TCP_DEFAULT_SCALING_RATIO",
        use=0.03,
        ratio=128,
        initial_ratio=128,
    ),
    Era(
        "linux-6.12-on",
        "Linux since 6.10.4, and 6.6 since 6.6.45",
        (((6, 6, 45), (6, 6, ANY_VERSION)), ((6, 10, 4), (ANY_VERSION, ANY_VERSION, ANY_VERSION))),
        "the share that its packets' memory leaves, 0.60 to 0.67 for full ones,",
        "tcp_measure_rcv_mss(), commit 05f76b2d634e: payload / memory of the packets that arrive",
        use=0.34,
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
        use=0.04,
        systems=("freebsd", "macos", "openbsd"),
    ),
    Era(
        "solaris",
        "Solaris",
        (),
        "1",
        "Solaris Tunable Parameters: tcp_recv_hiwat; whole segments, rounded up, as observed",
        use=0.01,
        systems=("solaris",),
        whole_segments=True,
    ),
    Era(
        "windows",
        "Windows",
        (),
        "1",
        "Microsoft, SO_RCVBUF and TcpWindowSize: the buffer is the window",
        use=0.06,
        systems=("windows",),
    ),
    Era(
        "netstack",
        "gVisor netstack",
        (),
        "1/2",
        "gVisor pkg/tcpip/transport/tcp: wndFromSpace(), half of the buffer",
        use=0.01,
        systems=("netstack",),
        ratio=128,
        initial_ratio=128,
    ),
    Era(
        "embedded",
        "lwIP and other small stacks",
        (),
        "1",
        "lwIP opt.h: TCP_WND, a multiple of TCP_MSS",
        use=0.02,
        systems=("embedded", "lwip", "embedded/lwip"),
    ),
)
"""Eras: Linux's from the oldest to the newest, then other systems.

Stable kernels changed within a series. Backports of distributions are not covered.
"""
