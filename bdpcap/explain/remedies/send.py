"""Advice on a send buffer that holds enough bytes in flight, by system, program and owner of the sender."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.explain import sendbuf
from bdpcap.explain.remedies import programs
from bdpcap.explain.remedies.remedy import Remedy, raised, third_raised
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.explain.remedies.host import Host

__all__ = ["WMEM_DEFAULT", "send_buffer"]

WMEM_DEFAULT: Final = 4_194_304
"""Default of net.ipv4.tcp_wmem[2] in every era (tcp_init(): at most 4 MiB)."""
_AUTOTUNED: Final = {
    "macos": ("macOS", "net.inet.tcp.autosndbufmax"),
    "freebsd": ("FreeBSD", "net.inet.tcp.sendbuf_max"),
}
"""Maximum of the send buffer's autotuning by system: XNU's tcp_subr.c, and FreeBSD's tcp(4)."""


def send_buffer(need: int, host: Host, *, was_limit: bool = False, most: int | None = None) -> Remedy:
    """
    Return advice on a send buffer that holds enough bytes in flight.

    Parameters
    ----------
    need
        Required bytes in flight.
    host
        The sender.
    was_limit
        Whether the send buffer was the limit: either SO_SNDBUF is set, or autotuning's maximum was lowered.
    most
        The sender's net.ipv4.tcp_wmem[2] in bytes; None takes the default.
    """
    unset = programs.unset(host, "SO_SNDBUF")
    if not host.ours:
        return Remedy(f"{unset} It must hold {units.exact_bytes(need)} in flight.")
    if host.system == "linux":
        return _linux(need, unset, host, was_limit=was_limit, most=most)
    if host.system in _AUTOTUNED:
        name, maximum = _AUTOTUNED[host.system]
        return Remedy(
            f"{unset} {name}'s autotuning must reach {units.exact_bytes(need)}.",
            (
                f"sysctl {maximum}   # sender, {name}: today's value",
                raised(maximum, need, f"sender, {name}", write=""),
            )
            if host.takes_commands
            else (),
        )
    if host.system:
        return Remedy(unset)
    return Remedy(
        f"{unset} On Linux, autotuning reaches tcp_wmem[2]; needed are "
        f"{units.data_size(2 * sendbuf.least_setting(need))} of memory."
    )


def _linux(need: int, unset: str, host: Host, *, was_limit: bool, most: int | None) -> Remedy:
    held = 2 * sendbuf.least_setting(need)
    reached = WMEM_DEFAULT if most is None else most
    by = " by default" if most is None else ""
    words = (
        f"{unset} Autotuning reaches tcp_wmem[2], {units.data_size(reached)}{by}; needed are {units.data_size(held)} of "
        "memory."
    )
    if was_limit:
        words += " If none was set, tcp_wmem[2] is too small."
    if most is not None and held <= most and not was_limit:
        return Remedy(words)
    # The capture does not show tcp_wmem, so it is read and, where it was lowered, raised.
    return Remedy(
        words,
        host.linux(
            "sysctl net.ipv4.tcp_wmem   # sender: today's values; the third is autotuning's maximum",
            third_raised("net.ipv4.tcp_wmem", max(held, reached), "sender"),
        ),
    )
