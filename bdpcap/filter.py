"""Capture filters in tcpdump's syntax: libpcap compiles them, the core executes them."""

from __future__ import annotations

import ctypes
import functools
import importlib
from typing import TYPE_CHECKING, Any, TypeAlias

from bdpcap._core import FilterError

if TYPE_CHECKING:
    from collections.abc import Iterable

Instruction: TypeAlias = tuple[int, int, int, int]
"""``(code, jt, jf, k)``, as libpcap's ``bpf_insn``."""

SNAPLEN_BYTES = 262144

# libpcap compiles for DLT_ values, captures carry LINKTYPE_ values. They differ in these only (libpcap,
# pcap-common.c); 14 is raw IP as OpenBSD numbers it.
_DLT = {14: 12, 100: 11, 101: 12, 102: 15, 103: 16, 106: 19}


def compile_filter(expression: str, link_types: Iterable[int]) -> dict[int, list[Instruction] | str]:
    """Compile a capture filter for every link type of a capture.

    Parameters
    ----------
    expression
        A filter, see the manual page pcap-filter(7). Host names in it are looked up, addresses are not. The
        empty filter accepts everything.
    link_types
        LINKTYPE_ values.

    Returns
    -------
    dict
        The program for each link type, or libpcap's word on why there is none: ``wlan`` has no meaning on
        Ethernet.

    Raises
    ------
    FilterError
        If it compiles for none of them.
    """
    programs = {link_type: _compile(expression, link_type) for link_type in link_types}
    errors = [program for program in programs.values() if isinstance(program, str)]
    if errors and len(errors) == len(programs):
        raise FilterError(
            f"bad filter {expression!r}: {errors[0]}; "
            "check its syntax with tcpdump -d, it is described in man pcap-filter"
        )
    return programs


def _compile(expression: str, link_type: int) -> list[Instruction] | str:
    if "\0" in expression:
        return "it contains a zero byte"
    pcap = _libpcap()
    handle = pcap.open_dead(_DLT.get(link_type, link_type), SNAPLEN_BYTES)
    program = pcap.bpf_program()
    try:
        text = expression.encode(errors="replace")
        if pcap.compile(handle, ctypes.byref(program), text, 1, pcap.PCAP_NETMASK_UNKNOWN) != 0:
            return str(pcap.geterr(handle).decode(errors="replace"))
        return [(step.code, step.jt, step.jf, step.k) for step in program.bf_insns[: program.bf_len]]
    finally:
        pcap.freecode(ctypes.byref(program))
        pcap.close(handle)


@functools.cache
def _libpcap() -> Any:
    """Load the copy of libpcap in the wheel, so that none need be installed.

    Loading takes a third of a second, which only those pay who filter. The choice of the copy must come
    before the first call.
    """
    pcap = importlib.import_module("libpcap")
    pcap.config(LIBPCAP="tcpdump")
    return pcap
