"""
Window arithmetic forward: the window that a setting of the receive buffer leads to, in every era.

A setting is a knob, its value and an era. The window is the era's share of the buffer up to where growth stops, rounded,
and cut to what the window field holds. `bdpcap.explain.solver` inverts this one function. All sizes are in bytes.

Linux doubles SO_RCVBUF (sock_setsockopt), and tcp_win_from_space() takes a share of the result.
tcp_init_buffer_space() keeps one segment back. __tcp_select_window() rounds up to the window scale, or down to the MSS
where there is no scale.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from bdpcap.explain.eras import MSS_UNMEASURED, OLD_SHIFT

if TYPE_CHECKING:
    from bdpcap.explain.eras import Era

__all__ = [
    "FIELD_BITS",
    "FIELD_MAX",
    "FULL",
    "RMEM_DEFAULT",
    "RMEM_DEFAULT_OLD",
    "RMEM_MAX",
    "SCALE_MAX",
    "STOPS",
    "UNSCALED",
    "WELL_KNOWN",
    "Advertised",
    "Knob",
    "Setting",
    "first_windows",
    "least_setting",
    "sayable",
    "scale_for",
]

FIELD_MAX: Final = 65535
"""Largest value of the 16-bit window field (RFC 9293 section 3.1)."""
FIELD_BITS: Final = 16
"""Bits of the window field (RFC 9293 section 3.1)."""
SCALE_MAX: Final = 14
"""Largest window scale (RFC 7323 section 2.3)."""
UNSCALED: Final = "declined"
"""Value of ``window_scale_source`` when no window scale is in force: a SYN lacked the option."""
RMEM_MAX: Final = 212_992
"""Kernel default of net.core.rmem_max and wmem_max: 256 x SKB_TRUESIZE(256) on x86-64."""
RMEM_DEFAULT: Final = 131_072
"""Default of net.ipv4.tcp_rmem[1] since Linux 4.20, commit a337531b942b."""
RMEM_DEFAULT_OLD: Final = 87_380
"""Default of net.ipv4.tcp_rmem[1] before Linux 4.20."""
SOCK_MIN_RCVBUF: Final = 2304
"""Smallest receive buffer on x86-64: 2048 + sizeof(struct sk_buff), aligned."""
FULL: Final = Fraction(1)
"""All of the share."""
STOPS: Final = (FULL, Fraction(1, 2), Fraction(1, 4))
"""Parts of the share past which the window stops to grow where packets take more memory than they carry."""
_FIRST_SEGMENTS: Final = (4, 10, 20)
"""Most segments of a scaled connection's first window before Linux 4.20: tcp_default_init_rwnd() and before it."""


class Knob(StrEnum):
    """Setting that the size of a window comes from."""

    OPTION = "SO_RCVBUF"
    """Option that the application set before the handshake."""
    AFTER = "SO_RCVBUF after the handshake"
    """Option that the application set on the connection. It stops autotuning; the scale is autotuning's."""
    DEFAULT = "net.ipv4.tcp_rmem[1]"
    """Default of a buffer that was never set and has not grown; one segment is kept back."""
    GROWN = "net.ipv4.tcp_rmem[2]"
    """Maximum that autotuning grew the buffer to; no segment is kept back any more."""
    FIRST = "net.ipv4.tcp_rmem[1], first window"
    """Default of a buffer as the first windows show it, before a segment is kept back."""
    CLAMP = "window clamp"
    """Most that a route (``ip route ... window N``) or TCP_WINDOW_CLAMP allows."""
    HIWAT = "tcp_recv_hiwat"
    """Default receive buffer of Solaris."""
    STACK = "TCP_WND"
    """Window that a small stack was built with."""
    START = "Receive Window Auto-Tuning"
    """Window with which Windows' autotuning begins, up to whole segments."""


WELL_KNOWN: Final = {
    (Knob.HIWAT, 24_576): "the default of Solaris 8",
    (Knob.HIWAT, 49_152): "the default of Solaris 9 and 10",
    (Knob.START, 65_536): "where Windows' autotuning starts",
    (Knob.START, 131_072): "twice the 64 KiB where Windows' autotuning starts",
    (Knob.START, 262_144): "four times the 64 KiB where Windows' autotuning starts",
    (Knob.OPTION, RMEM_MAX): "the default of net.core.rmem_max, which cuts larger requests",
    (Knob.DEFAULT, RMEM_DEFAULT_OLD): "the default before Linux 4.20",
    (Knob.FIRST, RMEM_DEFAULT_OLD): "the default before Linux 4.20",
    (Knob.DEFAULT, RMEM_DEFAULT): "the default since Linux 4.20",
    (Knob.FIRST, RMEM_DEFAULT): "the default since Linux 4.20",
    (Knob.GROWN, 4_194_304): "the default before Linux 3.4",
    (Knob.GROWN, 6_291_456): "the default from Linux 3.4 to 6.15",
    (Knob.GROWN, 33_554_432): "the default since Linux 6.16",
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
    """`offered` less the segment that is kept back, or the step at which growth stopped."""
    window: int
    """`raw` after rounding, at most what the field holds: the window that a capture shows."""
    scale: int | None
    """Window scale that the setting negotiates; None where another setting determines it."""
    syn: int | None
    """Window of the SYN or SYN-ACK; None where another setting determines it."""


@dataclass(frozen=True, slots=True)
class Setting:
    """
    What the size of a window comes from.

    Attributes
    ----------
    era, knob, value
        Era of the stack, the knob and its value in bytes.
    stop
        One of `STOPS`: the part of the share past which the window stops to grow. __tcp_grow_window() halves the space
        until a packet's memory fits its payload, and adds two segments only below that.
    """

    era: Era
    knob: Knob
    value: int
    stop: Fraction = FULL

    def advertises(
        self,
        mss: int,
        scale: int | None = None,
        *,
        unscaled: bool = False,
        share: Fraction | None = None,
        default: int = RMEM_DEFAULT,
    ) -> Advertised:
        """
        Return the window and the handshake fields that the setting leads to.

        Parameters
        ----------
        mss
            Payload bytes of a full segment: the MSS less TCP options.
        scale
            Negotiated window scale, used where the knob does not determine it; None skips the rounding.
        unscaled
            Whether the handshake declined window scaling.
        share
            Share of the buffer that the kernel measures, where it does; None takes that of the era.
        default
            Size of the buffer before SO_RCVBUF was set after the handshake: net.ipv4.tcp_rmem[1].
        """
        era, knob = self.era, self.knob
        scale = 0 if unscaled else scale
        if not era.linux:
            offered = era.offered(self.value)
            whole = era.whole_segments or knob is Knob.START
            window = -(-offered // mss) * mss if whole else offered
            # Stacks other than Linux shift the window right, which rounds it down.
            window = window if scale is None else min(window >> scale, FIELD_MAX) << scale
            return Advertised(self.value, offered, offered, window, None, min(FIELD_MAX, window))
        if knob is Knob.CLAMP:
            window = _rounded(self.value, mss, scale)
            return Advertised(self.value, self.value, self.value, window, None, None)
        buffer = max(2 * self.value, SOCK_MIN_RCVBUF) if knob in (Knob.OPTION, Knob.AFTER) else self.value
        measures = era.is_measured and mss > MSS_UNMEASURED
        initial = era.offered(default if knob is Knob.AFTER else buffer, initial=True)
        own = syn = None
        if knob is Knob.OPTION:
            own = 0 if unscaled else scale_for(initial)
            # Before 2.6.38 the scale came from tcp_rmem[2] and rmem_max with SO_RCVBUF, too (commit e88c64f0a425).
            own = max(own, scale or 0) if era.shift == OLD_SHIFT else own
        if knob in (Knob.OPTION, Knob.DEFAULT, Knob.AFTER):
            syn = min(FIELD_MAX, _whole(initial, mss))
        if knob is Knob.AFTER:
            # What the default's share was settled at stays the most, unless data come after the option was set.
            before = era.offered(default, share, initial=not measures)
            before = before if measures else _kept_back(before, mss)
            offered = era.offered(buffer, share, initial=not measures)
            raw = min(before, offered)
        else:
            offered = era.offered(buffer, share, initial=not measures)
            kept = knob is Knob.DEFAULT or knob is Knob.OPTION
            raw = _kept_back(offered, mss) if kept and not measures else offered
        if unscaled and not measures and knob is not Knob.FIRST:
            # tcp_select_initial_window() clamps an unscaled window to the field before it is rounded.
            raw = min(raw, FIELD_MAX)
        if self.stop < FULL:
            raw = min(raw, _stopped(int(offered * self.stop), mss))
        used = scale if own is None else own
        window = raw if knob is Knob.FIRST else _rounded(raw, mss, used)
        return Advertised(buffer, offered, raw, window, own, syn)


def scale_for(space: int) -> int:
    """Return the window scale that tcp_select_initial_window() chooses for a buffer space in bytes."""
    return min(SCALE_MAX, max(0, space.bit_length() - FIELD_BITS))


def first_windows(window: int, mss: int, era: Era) -> list[int]:
    """Return the windows that a SYN-ACK may have in bytes, if its buffer allows `window`.

    Before Linux 4.20 the first window had no more than 4, 10 or 20 segments, by version.
    """
    limited = [count * mss for count in _FIRST_SEGMENTS if count * mss < window]
    return [window, *(limited if era.shift is not None else [])]


def sayable(window: int, scale: int | None = None) -> bool:
    """Return whether the window field can express a window at a scale; None accepts any scale."""
    scales = range(SCALE_MAX + 1) if scale is None else [scale]
    return any(window >> one <= FIELD_MAX and window >> one << one == window for one in scales)


_MOST_BUFFER: Final = 8
"""Bound of the search for an SO_RCVBUF in windows: Linux doubles it, and offers a quarter or more of that."""


def least_setting(era: Era, window: int, mss: int) -> int:
    """Return the smallest SO_RCVBUF in bytes, set before the handshake, that leads to at least `window` bytes."""
    return bisect_left(
        range(_MOST_BUFFER * (window + mss)),
        True,
        key=lambda value: Setting(era, Knob.OPTION, value).advertises(mss).window >= window,
    )


def _kept_back(offered: int, mss: int) -> int:
    """Deduct the segment that tcp_init_buffer_space() reserves, but go no lower than two segments."""
    return max(2 * mss, offered - mss) if offered > 2 * mss else offered


def _stopped(most: int, mss: int) -> int:
    """Return where steps of two segments, from an even number of segments, first exceed `most`."""
    return (most // (2 * mss) + 1) * 2 * mss


def _rounded(raw: int, mss: int, scale: int | None) -> int:
    """Round as __tcp_select_window() does: up to the scale, or down to whole segments; cut to the field."""
    if scale is None:
        return raw
    return min(-(-raw >> scale) << scale if scale else _whole(raw, mss), FIELD_MAX << scale)


def _whole(space: int, mss: int) -> int:
    """Round down to whole segments; less than one segment is not rounded (tcp_select_initial_window())."""
    return space // mss * mss or space
