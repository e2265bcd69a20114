"""
Advice that makes a receiver's window large enough, by system, program and owner of the receiver.

Autotuning needs no setting where the need is below its maximum, so that advice comes first. Commands are for hosts that
the reader can change and whose system is known. They keep the current value if it is larger.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from bdpcap.explain.buffers import RMEM_MAX, least_setting, scale_for
from bdpcap.explain.kernels import LAST_SYSCTL
from bdpcap.explain.remedies import programs
from bdpcap.explain.remedies.remedy import Remedy, guarded, raised, third_raised
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bdpcap.explain.eras import Era
    from bdpcap.explain.remedies.host import Host

__all__ = ["autotuned_default", "fixed_buffer", "is_autotuned", "memory", "receive_buffer"]

_RMEM_DEFAULTS: Final = (((6, 16), 33_554_432), ((3, 2), 6_291_456), ((0, 0), 4_194_304))
"""Default of net.ipv4.tcp_rmem[2] by version, newest first: commits 572be9bf9d0d and b49960a05e32 (also in 3.2.18)."""
_MAXSOCKBUF_DEFAULT: Final = 2_097_152
"""Default of kern.ipc.maxsockbuf on 64-bit FreeBSD (SB_MAX); macOS has more."""
_CLUSTER_BYTES: Final = 2048
"""Payload of a cluster of FreeBSD's and macOS' network memory (MCLBYTES)."""
_HEAD_BYTES: Final = 256
"""Bookkeeping that kern.ipc.maxsockbuf counts for each cluster (MSIZE)."""


_ROUNDING: Final = 14
"""Right shift of a window that gives a margin: twice what rounding up to the scale adds, 1/2^15 of the window."""
_CONNECTIONS: Final = 100
"""Connections of a busy server, for which the memory of full buffers is given; an example."""
_MUCH_BYTES: Final = 10**9
"""Memory of full buffers from which on it is mentioned; a choice."""


def autotuned_default(era: Era) -> tuple[int, int]:
    """Return the smallest and the largest default of tcp_rmem[2] among the kernels of a Linux era, in bytes."""
    # tcp_adv_win_scale makes any kernel up to 6.5 look like one of an earlier era.
    last = LAST_SYSCTL if era.shift is not None else max(last for _, last in era.kernels)[:2]
    first = min(first for first, _ in era.kernels)[:2]
    least, most = (next(value for since, value in _RMEM_DEFAULTS if since <= one) for one in (first, last))
    return least, most


def is_autotuned(window: int, mss: int, scale: int | None) -> bool:
    """
    Return whether a window scale shows that no SO_RCVBUF was set before the handshake. One set later does not show.

    tcp_select_initial_window() takes the scale from tcp_rmem[2] and rmem_max; with SO_RCVBUF, from that buffer. With
    SO_RCVBUF the scale is at most two more than the window needs: two if the kernel later offers the smallest share.
    """
    return scale is not None and scale > scale_for(window + mss) + 2


def receive_buffer(
    need: int,
    mss: int,
    eras: Sequence[Era],
    host: Host,
    *,
    autotuned: bool = False,
    was_limit: bool = True,
    stopped: bool = False,
    starts: bool = False,
    most: int | None = None,
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
        Eras that the receiver's stack may belong to.
    host
        The receiver.
    autotuned
        Whether the receiver is known to have set no SO_RCVBUF before the handshake.
    was_limit
        Whether the receive window was the limit. If not, an autotuned window grew only as far as the flow needed.
    stopped
        Whether autotuning may be off, or may have stopped because SO_RCVBUF was set after the handshake.
    starts
        Whether the window most likely is one with which autotuning starts.
    most
        The receiver's net.ipv4.tcp_rmem[2] in bytes; None takes the default of these eras.
    """
    if not host.ours:
        return Remedy(f"{programs.unset(host, 'SO_RCVBUF')} A window of {units.exact_bytes(need)} is needed.")
    linux = [era for era in eras if era.linux]
    # Arithmetic that only Linux has names the system as well as a SYN does.
    system = host.system or (
        "linux" if len(linux) == len(eras) else "solaris" if eras[0].whole_segments else ""
    )
    told = None
    if system == "linux" and linux:
        told = _linux(
            need, mss, linux, host, autotuned=autotuned, was_limit=was_limit, stopped=stopped, most=most
        )
    elif system == "windows":
        told = _windows(host, starts=starts)
    elif system in _BY_SYSTEM:
        told = _BY_SYSTEM[system](need, mss, host)
    if told is not None:
        return told if host.takes_commands else Remedy(told.words)
    kept = max(least_setting(era, need, mss) for era in eras)
    return Remedy(
        f"{programs.unset(host, 'SO_RCVBUF')} If one must stay, {kept:,} bytes suffice on every system."
    )


def _linux(
    need: int,
    mss: int,
    eras: Sequence[Era],
    host: Host,
    *,
    autotuned: bool,
    was_limit: bool,
    stopped: bool,
    most: int | None,
) -> Remedy:
    # Rounding up to the scale adds at most 1/2^15 of the window; the required size must not rely on it.
    held = {era: 2 * least_setting(era, need + (need >> _ROUNDING), mss) for era in eras}
    defaults = [autotuned_default(era) if most is None else (most, most) for era in eras]
    several = len(eras) > 1
    reached = (
        f"tcp_rmem[2], {'at least ' if several and most is None else ''}{units.data_size(min(defaults)[0])}"
        f"{' by default' if most is None else ''}; "
        f"needed are {units.data_size(max(held.values()))} of memory{' at most' if several else ''}"
    )
    enough = all(held[era] <= default for era, (default, _) in zip(eras, defaults, strict=True))
    if autotuned and enough and not was_limit:
        return Remedy(f"The receiver's window grows as data arrives. Linux's autotuning reaches {reached}.")
    if autotuned and stopped and enough:
        return Remedy(f"{_STOPPED} Linux's autotuning reaches {reached}.", (_READ_RMEM, _AUTOTUNING_ON))
    unset = programs.unset(host, "SO_RCVBUF")
    if enough and not autotuned:
        return Remedy(f"{unset} Linux's autotuning reaches {reached}.", (_READ_RMEM, _AUTOTUNING_ON))
    # Never advise less than the default of any kernel of these eras.
    value = max(*held.values(), *(default for _, default in defaults))
    how = (
        "Raise autotuning's maximum, tcp_rmem[2]; if the program sets SO_RCVBUF after the handshake, remove that first."
        if autotuned
        else f"{unset} Then raise autotuning's maximum."
    )
    # A window that autotuning grew shows that it is on.
    turned_on = () if autotuned and not stopped else (_AUTOTUNING_ON,)
    return Remedy(
        f"{how} That is {reached}.",
        (_READ_RMEM, *turned_on, third_raised("net.ipv4.tcp_rmem", value, "receiver")),
    )


def fixed_buffer(setting: int, host: Host) -> Remedy:
    """Return advice for a program that must set its buffer itself: SO_SNDBUF of the sender, or SO_RCVBUF."""
    option, most = ("SO_SNDBUF", "wmem_max") if host.end == "sender" else ("SO_RCVBUF", "rmem_max")
    if not host.ours:
        return Remedy("")
    words = f"If an {option} must stay, it takes {setting:,} or more."
    if setting <= RMEM_MAX or host.system not in ("linux", ""):
        return Remedy(words)
    words = f"{words} Linux's net.core.{most} must allow that."
    return Remedy(
        words,
        host.linux(
            f"sysctl net.core.{most}   # {host.end}: today's value, if {option} must stay",
            raised(f"net.core.{most}", setting, f"{host.end}, in the host's main namespace"),
        ),
    )


def memory(bytes_each: int, connections: int = _CONNECTIONS) -> str:
    """Return a sentence on the memory that many connections with full buffers take; empty below 1 GB."""
    total = bytes_each * connections
    if total < _MUCH_BYTES:
        return ""
    return f"Full buffers of {connections} connections take {units.data_size(total)} of memory."


_STOPPED: Final = (
    "Autotuning does not grow this window: tcp_moderate_rcvbuf is 0, or the program sets SO_RCVBUF after the "
    "handshake."
)
_READ_RMEM: Final = "sysctl net.ipv4.tcp_moderate_rcvbuf net.ipv4.tcp_rmem   # receiver: today"
_AUTOTUNING_ON: Final = "sysctl -w net.ipv4.tcp_moderate_rcvbuf=1   # receiver: if the first was 0"


_UNRESTRICTED: Final = {8: "normal", 14: "experimental"}
"""Auto-tuning levels of Windows that do not restrict the window, by the window scale of the handshake.

Microsoft, Performance tuning network adapters: restricted has scale 4, highly restricted 2, disabled none.
"""


def _level(host: Host) -> str:
    """Return a sentence, without its end, on a level that does not restrict the window; empty for any other level."""
    scale = host.window_scale
    if scale not in _UNRESTRICTED:
        return ""
    return f"Receive Window Auto-Tuning is {_UNRESTRICTED[scale]}, by window scale {scale}"


def _windows(host: Host, *, starts: bool) -> Remedy:
    """Advise on Windows' Receive Window Auto-Tuning Level: learn.microsoft.com, netsh interface tcp."""
    level, unset = _level(host), programs.unset(host, "SO_RCVBUF")
    if level and starts:
        return Remedy(
            f"{level}: the window doubles while data arrive, so a kept connection has a larger one. Where it keeps its "
            "size for seconds, see that the program sets no SO_RCVBUF."
        )
    if level:
        return Remedy(f"{unset} {level}.")
    show, normal = "netsh int tcp show global", "netsh int tcp set global autotuninglevel=normal"
    lowered = f'{show} | findstr Auto-Tuning | findstr "disabled restricted"'
    return Remedy(
        f"{unset} Then see that Receive Window Auto-Tuning is normal: disabled keeps every window at 65,535 bytes.",
        (
            f"{show}   # receiver, Windows: Receive Window Auto-Tuning Level",
            f"{lowered} && {normal}   # receiver, Windows, as administrator",
        ),
    )


def _room(setting: int) -> int:
    """Return the kern.ipc.maxsockbuf that allows a buffer: it counts the bookkeeping of clusters, too (sbreserve())."""
    return max(_MAXSOCKBUF_DEFAULT, math.ceil(setting * (_HEAD_BYTES + _CLUSTER_BYTES) / _CLUSTER_BYTES))


def _macos(need: int, mss: int, host: Host) -> Remedy:
    """Advise on XNU's maximum of autotuning: bsd/netinet/tcp_subr.c, tcp_autorcvbuf_max."""
    del mss
    return _grown(
        need, host, "macOS", ("kern.ipc.maxsockbuf", _room(need)), ("net.inet.tcp.autorcvbufmax", need)
    )


def _freebsd(need: int, mss: int, host: Host) -> Remedy:
    """Advise on FreeBSD's maximum of autotuning: tcp(4), net.inet.tcp.recvbuf_max."""
    del mss
    return _grown(
        need, host, "FreeBSD", ("kern.ipc.maxsockbuf", _room(need)), ("net.inet.tcp.recvbuf_max", need)
    )


def _grown(need: int, host: Host, system: str, *limits: tuple[str, int]) -> Remedy:
    names = " ".join(name for name, _ in limits)
    return Remedy(
        f"{programs.unset(host, 'SO_RCVBUF')} {system}'s autotuning must reach {units.exact_bytes(need)}.",
        (
            f"sysctl {names}   # receiver, {system}: today's values",
            *(raised(name, value, f"receiver, {system}", write="") for name, value in limits),
        ),
    )


def _solaris(need: int, mss: int, host: Host) -> Remedy:
    """Advise on Solaris' default window: Tunable Parameters Reference Manual, tcp_recv_hiwat and recv_buf."""
    del host
    setting = math.ceil(need / mss) * mss
    up_to_10, later = "receiver, Solaris up to 10", "receiver, Solaris 11"
    ndd, ipadm = "/dev/tcp tcp_recv_hiwat", "ipadm show-prop -co current -p"
    return Remedy(
        f"Raise the default receive buffer to {setting:,} bytes, or let the program ask for it before it listens.",
        (
            f"ndd -get /dev/tcp tcp_max_buf   # {up_to_10}: the most that a program may ask for",
            guarded(f"ndd -get {ndd}", setting, f"ndd -set {ndd} {setting}", up_to_10),
            guarded(f"{ipadm} recv_buf tcp", setting, f"ipadm set-prop -p recv_buf={setting} tcp", later),
        ),
    )


def _embedded(need: int, mss: int, host: Host) -> Remedy:
    """Advise on lwIP's window, which is fixed when the stack is built: lwIP opt.h, TCP_WND."""
    del host
    setting = math.ceil(need / mss) * mss
    return Remedy(
        f"Raise the window where the stack is built: lwIP's TCP_WND, to {setting:,} bytes or more, with its pools. Above "
        "65,535 bytes it needs LWIP_WND_SCALE."
    )


def _netstack(need: int, mss: int, host: Host) -> Remedy:
    """Advise on gVisor's stack, which offers half of its buffer: pkg/tcpip, TCPReceiveBufferSizeRangeOption."""
    del mss
    return Remedy(
        f"{programs.unset(host, 'SO_RCVBUF')} gVisor's receive buffer must be able to grow to "
        f"{units.exact_bytes(2 * need)}."
    )


def _virtual_nat(need: int, mss: int, host: Host) -> Remedy:
    """Advise on the NAT of a virtual machine, which ends TCP itself."""
    del need, mss, host
    return Remedy(
        "A virtual machine's NAT ends TCP here, so its window is not the guest's. Give the machine a bridged adapter."
    )


_BY_SYSTEM: Final[dict[str, Callable[[int, int, Host], Remedy]]] = {
    "macos": _macos,
    "freebsd": _freebsd,
    "solaris": _solaris,
    "embedded": _embedded,
    "netstack": _netstack,
    "virtual-nat": _virtual_nat,
}
"""Functions that return the advice for a system other than Linux and Windows, by family."""
