"""
Advice and commands that make a buffer large enough and slow nothing down.

Linux autotuning needs no setting where the need is below its maximum, so that advice comes first. A command is given
only where the need exceeds the era's default, or where only a lowered maximum explains the observation. Commands keep
the current value if it is larger, so that none lowers a tuned value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bdpcap.explain import sendbuf
from bdpcap.explain.buffers import RMEM_MAX, least_setting, scale_for
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bdpcap.explain.buffers import Era

__all__ = [
    "CONGESTION_CONTROL",
    "FAIR_QUEUE",
    "WMEM_DEFAULT",
    "Remedy",
    "autotuned_default",
    "fixed_buffer",
    "is_autotuned",
    "memory",
    "receive_buffer",
    "send_buffer",
]

WMEM_DEFAULT: Final = 4_194_304
"""Default of net.ipv4.tcp_wmem[2] in every era (tcp_init(): at most 4 MiB)."""
_RMEM_DEFAULTS: Final = (((6, 16), 33_554_432), ((3, 2), 6_291_456), ((0, 0), 4_194_304))
"""Default of net.ipv4.tcp_rmem[2] by version, newest first: commits 572be9bf9d0d and b49960a05e32 (also in 3.2.18)."""
_MAXSOCKBUF_DEFAULT: Final = 2_097_152
"""Default of kern.ipc.maxsockbuf on 64-bit FreeBSD (SB_MAX); macOS has more."""

FAIR_QUEUE: Final = ("tc qdisc replace dev eth0 root fq_codel   # bottleneck, on its outgoing interface",)
CONGESTION_CONTROL: Final = (
    "sysctl net.ipv4.tcp_congestion_control   # sender: the one in force",
    "sysctl net.ipv4.tcp_available_congestion_control   # sender: those at hand",
    "modprobe tcp_bbr   # sender: if bbr is not among them",
    "sysctl -w net.ipv4.tcp_congestion_control=bbr   # sender: if losses are random",
    "sysctl -w net.ipv4.tcp_congestion_control=cubic   # sender: if it was reno, and bbr is not wanted",
)


@dataclass(frozen=True, slots=True)
class Remedy:
    """Advice, and the commands that carry it out."""

    words: str
    commands: tuple[str, ...] = ()


def autotuned_default(era: Era) -> tuple[int, int]:
    """Return the smallest and the largest default of tcp_rmem[2] among the kernels of a Linux era, in bytes."""
    # tcp_adv_win_scale makes any kernel up to 6.5 look like one of an earlier era.
    last = (6, 5) if era.shift is not None else max(last for _, last in era.kernels)[:2]
    first = min(first for first, _ in era.kernels)[:2]
    least, most = (next(value for since, value in _RMEM_DEFAULTS if since <= one) for one in (first, last))
    return least, most


def is_autotuned(window: int, mss: int, scale: int | None) -> bool:
    """
    Return whether a window scale shows that no SO_RCVBUF was set before the handshake.

    tcp_select_initial_window() takes the scale from tcp_rmem[2] and rmem_max; with SO_RCVBUF, from that buffer. With
    SO_RCVBUF the scale is at most two more than the window needs: two if the kernel later offers the smallest share.
    """
    return scale is not None and scale > scale_for(window + mss) + 2


def receive_buffer(
    need: int, mss: int, eras: Sequence[Era], *, autotuned: bool = False, was_limit: bool = True
) -> Remedy:
    """
    Return advice on how a receiver's window reaches a size.

    Parameters
    ----------
    need
        Required window in bytes.
    mss
        Payload bytes of a full segment.
    eras
        Eras that the receiver's kernel may belong to.
    autotuned
        Whether the receiver is known to have set no SO_RCVBUF.
    was_limit
        Whether the receive window was the limit. If not, an autotuned window grew only as far as the flow needed.
    """
    linux = [era for era in eras if era.linux]
    if not linux:
        make = _solaris_receive_buffer if eras[0].whole_segments else _bsd_receive_buffer
        return make(least_setting(eras[0], need, mss))
    # Rounding up to the scale adds at most 1/2^15 of the window; the required size must not rely on it.
    held = {era: 2 * least_setting(era, need + (need >> 14), mss) for era in linux}
    defaults = [autotuned_default(era) for era in linux]
    several, unless = len(linux) > 1, "" if linux == list(eras) else ", if it is Linux"
    reached = (
        f"tcp_rmem[2], {'at least ' if several else ''}{units.data_size(min(defaults)[0])} by default; "
        f"needed are {units.data_size(max(held.values()))} of memory{' at most' if several else ''}"
    )
    enough = all(held[era] <= default for era, (default, _) in zip(linux, defaults, strict=True))
    if autotuned and enough and not was_limit:
        return Remedy(f"The receiver's window grows as data arrives. Linux's autotuning reaches {reached}.")
    if enough and not autotuned:
        return Remedy(f"{_WITHOUT_W} Linux's autotuning reaches {reached}.", (_READ_RMEM, _AUTOTUNING_ON))
    # Never advise less than the default of any kernel of these eras.
    value = max(*held.values(), *(most for _, most in defaults))
    how = (
        f"Raise autotuning's maximum on the receiver{unless}; if its program sets SO_RCVBUF after the handshake, remove "
        "that first. The window scale shows that it set none before."
        if autotuned
        else f"{_WITHOUT_W} Then raise autotuning's maximum."
    )
    return Remedy(
        f"{how} That is {reached}.",
        (_READ_RMEM, _AUTOTUNING_ON, _raise_third("net.ipv4.tcp_rmem", value, "receiver")),
    )


def fixed_buffer(setting: int, *, sending: bool = False) -> Remedy:
    """Return advice for a program that must set its buffer itself: SO_SNDBUF if `sending`, else SO_RCVBUF."""
    host, option, most = ("sender", "SO_SNDBUF", "wmem_max") if sending else ("receiver", "-w", "rmem_max")
    words = f"If {option} must stay, it takes {setting:,} or more."
    if setting <= RMEM_MAX:
        return Remedy(words)
    return Remedy(
        f"{words} net.core.{most} must allow that.",
        (
            f"sysctl net.core.{most}   # {host}: today's value, if {option} must stay",
            f"{_raised(f'net.core.{most}', setting)}   # {host}, in the host's main namespace",
        ),
    )


def send_buffer(need: int, *, was_limit: bool = False) -> Remedy:
    """
    Return advice on a send buffer that holds enough bytes in flight.

    Parameters
    ----------
    need
        Required bytes in flight.
    was_limit
        Whether the send buffer was the limit: either SO_SNDBUF is set, or tcp_wmem[2] was lowered.
    """
    held = 2 * sendbuf.least_setting(need)
    words = (
        "Let the sender set no SO_SNDBUF (iperf -c without -w): with it kept, nothing changes. Autotuning reaches "
        f"tcp_wmem[2], {units.data_size(WMEM_DEFAULT)} by default; needed are {units.data_size(held)} of memory."
    )
    if not was_limit and held <= WMEM_DEFAULT:
        return Remedy(words)
    if was_limit:
        words += " If none was set, tcp_wmem[2] is too small."
    return Remedy(
        words,
        (
            "sysctl net.ipv4.tcp_wmem   # sender: today's values; the third is autotuning's maximum",
            _raise_third("net.ipv4.tcp_wmem", max(held, WMEM_DEFAULT), "sender"),
        ),
    )


def memory(bytes_each: int, connections: int = 100) -> str:
    """Return a sentence on the memory that many connections with full buffers take; empty below 1 GB."""
    total = bytes_each * connections
    if total < 10**9:
        return ""
    return f"Full buffers of {connections} connections take {units.data_size(total)} of memory."


_WITHOUT_W: Final = "Start the server without -w (SO_RCVBUF): with it kept, nothing changes."
_READ_RMEM: Final = (
    "sysctl net.ipv4.tcp_moderate_rcvbuf net.ipv4.tcp_rmem   # receiver: today's values; 1 is autotuning on"
)
_AUTOTUNING_ON: Final = "sysctl -w net.ipv4.tcp_moderate_rcvbuf=1   # receiver: if 0 was read"


def _bsd_receive_buffer(setting: int) -> Remedy:
    # kern.ipc.maxsockbuf includes the bookkeeping of clusters: the buffer is MCLBYTES / (MSIZE + MCLBYTES) of it.
    room = max(_MAXSOCKBUF_DEFAULT, math.ceil(setting * (256 + 2048) / 2048))
    raised = (
        "sysctl kern.ipc.maxsockbuf   # receiver, FreeBSD or macOS: today's value",
        f"{_raised('kern.ipc.maxsockbuf', room, write='')}   # receiver, FreeBSD or macOS",
    )
    return Remedy(
        f"Let the server ask for a receive buffer of {setting:,} bytes or more before it listens.",
        (*(raised if room > _MAXSOCKBUF_DEFAULT else ()), f"iperf -s -w {setting}   # receiver: SO_RCVBUF"),
    )


def _solaris_receive_buffer(setting: int) -> Remedy:
    read = f"[ $(ndd -get /dev/tcp tcp_recv_hiwat) -ge {setting} ]"
    return Remedy(
        f"Let the server ask for a receive buffer of {setting:,} bytes or more before it listens.",
        (
            "ndd -get /dev/tcp tcp_max_buf   # receiver, Solaris: the most that a program may ask for",
            f"{read} || ndd -set /dev/tcp tcp_recv_hiwat {setting}   # receiver, Solaris: the default",
        ),
    )


def _raised(name: str, value: int, write: str = " -w") -> str:
    return f"[ $(sysctl -n {name}) -ge {value} ] || sysctl{write} {name}={value}"


def _raise_third(name: str, value: int, host: str) -> str:
    """Return a shell line that raises the third value if it is smaller, and keeps the first two."""
    line = f'set -- $(sysctl -n {name}); [ $3 -ge {value} ] || sysctl -w {name}="$1 $2 {value}"'
    return f"{line}   # {host}: raises the third value only if it is smaller"
