"""Capture filters in tcpdump's syntax: libpcap compiles them, the core executes them."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib.util
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

from bdpcap._core import FilterError

if TYPE_CHECKING:
    from collections.abc import Iterable

Instruction: TypeAlias = tuple[int, int, int, int]
"""``(code, jt, jf, k)``, as libpcap's ``bpf_insn``."""

SNAPLEN_BYTES = 262144

# libpcap compiles for DLT_ values, but captures hold LINKTYPE_ values. Only these differ (libpcap, pcap-common.c);
# 14 is raw IP on OpenBSD.
_DLT = {14: 12, 100: 11, 101: 12, 102: 15, 103: 16, 106: 19}


def compile_filter(expression: str, link_types: Iterable[int]) -> dict[int, list[Instruction] | str]:
    """Compile a capture filter for every link type of a capture.

    Parameters
    ----------
    expression
        A filter in the syntax of pcap-filter(7). Host names in the filter are looked up, addresses are not. The empty
        filter accepts every frame.
    link_types
        LINKTYPE_ values.

    Returns
    -------
    dict
        The program for each link type, or libpcap's error message; ``wlan``, for example, has no meaning on Ethernet.

    Raises
    ------
    FilterError
        The filter compiles for none of the link types.
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
    handle = pcap.pcap_open_dead(_DLT.get(link_type, link_type), SNAPLEN_BYTES)
    program = _Program()
    try:
        text = expression.encode(errors="replace")
        if pcap.pcap_compile(handle, ctypes.byref(program), text, 1, _NETMASK_UNKNOWN) != 0:
            return str(pcap.pcap_geterr(handle).decode(errors="replace"))
        return [(step.code, step.jt, step.jf, step.k) for step in program.steps[: program.length]]
    finally:
        pcap.pcap_freecode(ctypes.byref(program))
        pcap.pcap_close(handle)


class _Step(ctypes.Structure):
    """``struct bpf_insn``."""

    _fields_: ClassVar = [
        ("code", ctypes.c_ushort),
        ("jt", ctypes.c_ubyte),
        ("jf", ctypes.c_ubyte),
        ("k", ctypes.c_uint32),
    ]


class _Program(ctypes.Structure):
    """``struct bpf_program``."""

    _fields_: ClassVar = [("length", ctypes.c_uint), ("steps", ctypes.POINTER(_Step))]


_NETMASK_UNKNOWN: Final = 0xFFFFFFFF  # PCAP_NETMASK_UNKNOWN
_NAMES: Final = ("libpcap.so.1", "libpcap.so.0.8", "libpcap.A.dylib")
"""Names of the library on most Linux systems, on Debian, and on macOS, which always has it."""


@functools.cache
def _libpcap() -> ctypes.CDLL:
    """Load the system's libpcap, which tcpdump uses; if there is none, the copy of the ``filter`` extra."""
    for name in _NAMES:
        with contextlib.suppress(OSError):
            return _declared(ctypes.CDLL(name))
    for path in _copies():
        with contextlib.suppress(OSError):
            return _declared(ctypes.CDLL(str(path)))
    raise FilterError(
        "a capture filter needs libpcap, and none is installed: install tcpdump, "
        "or pip install 'bdpcap[filter]'"
    )


def _copies() -> list[Path]:
    """Return the copy in the libpcap wheel for this machine; none without that wheel.

    Its package cannot be imported where the system has no libpcap: it looks for that one first.
    """
    wheel = importlib.util.find_spec("libpcap")
    if wheel is None or wheel.origin is None:
        return []
    system = {"darwin": "macos", "win32": "windows"}.get(sys.platform, "linux")
    machine = platform.machine().lower().replace("amd64", "x86_64")
    return sorted((Path(wheel.origin).parent / "_platform" / system / machine / "tcpdump").glob("libpcap.*"))


def _declared(library: ctypes.CDLL) -> ctypes.CDLL:
    """Declare which values are pointers: ctypes takes them for 32-bit integers by default and truncates them."""
    library.pcap_open_dead.restype = ctypes.c_void_p
    library.pcap_geterr.restype = ctypes.c_char_p
    library.pcap_geterr.argtypes = library.pcap_close.argtypes = [ctypes.c_void_p]
    library.pcap_freecode.argtypes = [ctypes.c_void_p]
    library.pcap_compile.argtypes = [
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_uint32,
    ]
    return library
