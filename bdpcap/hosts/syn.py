"""A SYN or SYN-ACK as far as it shows the system that sent it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bdpcap import _core

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Syn", "is_bare", "is_crafted"]

_CODES: Final = 13
"""Codes of four bits in the core's word ``syn_layout``, from the lowest bit; the bits after them follow here."""
_PADDING: Final = 52
_DONT_FRAGMENT: Final = 1 << 56
_IPV4: Final = 1 << 57
_IDENTIFICATION_ZERO: Final = 1 << 58
_PAYLOAD: Final = 1 << 59


@dataclass(frozen=True)
class Syn:
    """What a SYN or SYN-ACK shows of its sender.

    Attributes
    ----------
    layout
        The options in their order, one letter each. The letter is the initial of no operation, MSS, window scale,
        SACK permitted, timestamps, Fast Open or multipath. ``K`` is SACK blocks, ``?`` any other option. ``E`` is the
        end of the list, and every byte of padding after it. ``!`` is a list that is malformed or cut by the snaplen;
        ``+`` stands for options beyond those that are kept.
    ttl
        Time to live or hop limit where it was captured; None if unknown.
    window_bytes
        The window field, which a SYN never scales.
    scale
        Window scale option as a shift; None without one.
    mss_bytes
        MSS option; None without one.
    dont_fragment
        The flag of IPv4; None over IPv6.
    identification_zero
        Is the identification of IPv4 zero? None over IPv6.
    has_payload
        Does the SYN carry payload?
    """

    layout: str
    ttl: int | None
    window_bytes: int
    scale: int | None = None
    mss_bytes: int | None = None
    dont_fragment: bool | None = None
    identification_zero: bool | None = None
    has_payload: bool = False

    @classmethod
    def of_core(cls, word: int, ttl: int, window_bytes: int, scale: int, mss_bytes: int) -> Syn | None:
        """Return the SYN of one direction; None if it was not captured.

        Parameters
        ----------
        word, ttl, scale, mss_bytes
            ``syn_layout``, ``ttl``, ``syn_scale`` and ``syn_mss_bytes`` of `bdpcap._core.Analysis.directions`.
        window_bytes
            ``syn_window_bytes`` of the other direction, which this SYN limits.
        """
        if _core.NULL in (word, window_bytes):
            return None
        letters = "".join(_core.SYN_OPTIONS[word >> 4 * place & 15] for place in range(_CODES))
        is_ipv4 = bool(word & _IPV4)
        return cls(
            layout=letters + "E" * (word >> _PADDING & 15),
            ttl=_known(ttl),
            window_bytes=window_bytes,
            scale=_known(scale),
            mss_bytes=_known(mss_bytes),
            dont_fragment=bool(word & _DONT_FRAGMENT) if is_ipv4 else None,
            identification_zero=bool(word & _IDENTIFICATION_ZERO) if is_ipv4 else None,
            has_payload=bool(word & _PAYLOAD),
        )


def is_bare(words: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
    """Return which SYNs have no option, or only the MSS, by their words ``syn_layout``; False where unknown.

    Systems since 2000 send more (`bdpcap/hosts/systems.csv`), but for some of small devices. Scanners make their SYNs
    themselves: masscan sends no option, ``nmap -sS`` only the MSS.
    """
    layout = words & (1 << _PADDING) - 1
    few = (layout == 0) | (layout == _core.SYN_OPTIONS.index("M"))
    bare: NDArray[np.bool_] = few & (words != _core.NULL)
    return bare


def is_crafted(words: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
    """Return which SYNs begin with the window scale, by their words ``syn_layout``; False where unknown.

    No system does (`bdpcap/hosts/systems.csv`); ``nmap -O`` does, to see how a system answers such SYNs.
    """
    first = words & 15 == _core.SYN_OPTIONS.index("W")
    crafted: NDArray[np.bool_] = first & (words != _core.NULL)
    return crafted


def _known(value: int) -> int | None:
    return None if value == _core.NULL else value
