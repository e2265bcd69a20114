"""Systems by the layout of their SYNs: the rows of ``systems.csv``, each with its source.

A layout names a family of systems, seldom a version; a middlebox may rewrite it. Nothing is named where no row fits, or
where rows of several families fit equally well.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

from bdpcap.hosts.rewritten import restored

if TYPE_CHECKING:
    from bdpcap.hosts.syn import Syn

__all__ = ["CERTAINTIES", "System", "system_of"]

CERTAINTIES: Final = ("likely", "possible")
"""How sure a system or a program is, the surest first."""
_TTLS: Final = (64, 128, 255)
"""Times to live with which hosts send; every router on the path takes one off."""
_LARGEST_WINDOW: Final = 0xFFFF
_TIMESTAMP_BYTES: Final = 12
"""Bytes that timestamps take of each segment; Linux takes them off before it rounds the window of an answer."""


@dataclass(frozen=True)
class System:
    """A family of systems, and how sure it is.

    Attributes
    ----------
    family
        One of `bdpcap.hosts.FAMILIES`.
    certainty
        One of `CERTAINTIES`.
    version
        Versions that send such a SYN; None where it does not show them.
    is_answer
        Is it known from a SYN-ACK?
    """

    family: str
    certainty: str
    version: str | None = None
    is_answer: bool = False


@dataclass(frozen=True)
class _Row:
    """A row of ``systems.csv``: the SYNs of one system."""

    family: str
    version: str
    sent: str
    layout: str
    ttl: str
    window: str
    scale: str
    df: str
    id: str
    asked: str
    certainty: str
    source: str

    def fits(self, syn: Syn, asked: Syn | None) -> bool:
        """Return whether a SYN, or an answer to `asked`, is one of this row."""
        more = asked is not None and bool(set(asked.layout) & set("WST") - set(syn.layout))
        return (
            self.ttl in {"any", str(_initial_ttl(syn.ttl))}
            and _allows(self.scale, "none" if syn.scale is None else str(syn.scale))
            and _is(self.df, syn.dont_fragment, "yes", "no")
            and _is(self.id, syn.identification_zero, "zero", "nonzero")
            and (more or self.asked != "more")
            and self._fits_window(syn)
        )

    def _fits_window(self, syn: Syn) -> bool:
        excluded = {word[1:] for word in self.window.split() if word.startswith("!")}
        wanted = {word for word in self.window.split() if not word.startswith("!")} - {"any"}
        kinds = _windows(syn)
        return not excluded & kinds and (not wanted or bool(wanted & kinds))


def _initial_ttl(ttl: int | None) -> int | None:
    return None if ttl is None else next((first for first in _TTLS if ttl <= first), None)


def _allows(allowed: str, value: str) -> bool:
    return allowed == "any" or value in allowed.split()


def _is(wanted: str, value: bool | None, yes: str, no: str) -> bool:
    """Return whether a flag is as a row wants it; over IPv6, which has none, it may be either."""
    if value is None:
        return True
    return wanted in {"any", yes if value else no}


def _windows(syn: Syn) -> set[str]:
    """Return the words of the column ``window`` that hold for a SYN.

    ``mss`` is a whole number of segments, ``4mss`` four of them, ``most`` the most that fit a window; ``scale`` a whole
    number of units of the window scale, but not of segments.
    """
    window = syn.window_bytes
    kinds = {str(window)}
    for segment in {syn.mss_bytes or 0, (syn.mss_bytes or 0) - _TIMESTAMP_BYTES}:
        if segment > 0 and window >= segment and window % segment == 0:
            kinds |= {"mss", f"{window // segment}mss"}
            if window + segment > _LARGEST_WINDOW:
                kinds.add("most")
    if syn.scale and "mss" not in kinds and window % (1 << min(syn.scale, 15)) == 0:
        kinds.add("scale")
    return kinds


@cache
def _rows() -> dict[tuple[str, str], list[_Row]]:
    """Return the rows by ``sent`` (``syn`` or ``answer``) and layout."""
    rows: dict[tuple[str, str], list[_Row]] = {}
    text = resources.files("bdpcap.hosts").joinpath("systems.csv").read_text(encoding="utf-8")
    for values in csv.DictReader(text.splitlines()):
        row = _Row(**values)
        for sent in ("syn", "answer") if row.sent == "either" else (row.sent,):
            rows.setdefault((sent, row.layout), []).append(row)
    return rows


def system_of(syn: Syn, asked: Syn | None = None, *, is_answer: bool | None = None) -> System | None:
    """Return the system that sent a SYN; None where no row fits, or rows of several families do.

    Parameters
    ----------
    syn
        A SYN, or a SYN-ACK.
    asked
        The SYN that a SYN-ACK answers, if it was captured; some stacks differ in the options that they leave out.
    is_answer
        Is `syn` a SYN-ACK? By default it is one if `asked` is given.
    """
    answer = asked is not None if is_answer is None else is_answer
    candidates = _rows().get(("answer" if answer else "syn", restored(syn.layout)[0]), [])
    fitting = [row for row in candidates if row.fits(syn, asked)]
    for certainty in CERTAINTIES:
        found = [row for row in fitting if row.certainty == certainty]
        if found:
            one = len({row.family for row in found}) == 1
            return System(found[0].family, certainty, found[0].version or None, answer) if one else None
    return None
