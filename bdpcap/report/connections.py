"""Sentences about connections that failed or opened late, and about resets of an end that was done."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Final

from bdpcap.explain.once import once
from bdpcap.report import failed_words
from bdpcap.report.failed_advice import BY_CHANCE, advice, of_several, shortly
from bdpcap.report.failed_around import around
from bdpcap.report.failed_lines import FAILED, WITHOUT_DATA, lines
from bdpcap.report.failed_sentence import sentence
from bdpcap.report.failures import (
    DONE,
    HTTP_UNANSWERED,
    LATE,
    ON_THE_WAY,
    TLS_FAILED,
    TLS_UNANSWERED,
    TOO_LATE,
    blocks,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bdpcap.capture import Capture
    from bdpcap.report.failed_around import Around
    from bdpcap.report.failed_line import Line

__all__ = ["counted", "ends", "failed", "in_vain", "late", "sentences", "title"]

_WANTED: Final = ("withdrawn", TOO_LATE, "unclosed", "unused")
"""Kinds that an end may have wanted: no count of failures has them, nor path traces."""
_WITH_DATA: Final = tuple(kind for kind in FAILED if kind not in (*WITHOUT_DATA, *_WANTED))
"""Kinds of failures of connections that may have carried data."""


def sentences(capture: Capture) -> list[str]:
    """Return sentences about failed connections with advice, gravest first; empty if none failed."""
    return [said for said, _ in counted(capture)]


@once
def counted(capture: Capture) -> list[tuple[str, int]]:
    """Return the same sentences as `sentences`, each with the number of its connections."""
    return _with_advice(capture, FAILED)


@once
def late(capture: Capture) -> list[tuple[str, int]]:
    """Return sentences about connections that opened late, with advice, each with the number of its connections."""
    return _with_advice(capture, (LATE,))


def _with_advice(capture: Capture, kinds: Iterable[str]) -> list[tuple[str, int]]:
    beside = around(capture)
    found, before = [], ""
    for kind in kinds:
        advised = ((line, advice(line, kind, beside)) for line in lines(capture)[kind])
        for line, each in _joined(advised, beside):
            words = of_several(line, each, beside)
            said = shortly(words) if words == before else words
            found.append((f"{sentence(line, kind)} {said}", line.connections))
            before = words
    return found


def _joined(advised: Iterable[tuple[Line, str]], beside: Around) -> list[tuple[Line, str]]:
    """Return lines with their advice; one line has all that strangers tried, as each of them tries a port or two.

    One line also has all SYNs of a client that nobody answered, if the advice is on the client's side of the path.
    """
    found: list[tuple[Line, str]] = []
    joined: dict[tuple[str, str], Line] = {}
    for line, words in advised:
        client = line.clients.one if len(line.clients) == 1 else ""
        of_client = {failed_words.UNREACHABLE.format(client), beside.without_ipv6.get(client)}
        at_client = client and words in {*failed_words.AT_CLIENT, *of_client}
        if words not in failed_words.OF_STRANGERS and not at_client:
            found.append((line, words))
            continue
        key = (client if at_client else "", words)
        if key in joined:
            joined[key].join(line)
        else:
            # `lines` keeps its own.
            joined[key] = deepcopy(line)
            found.append((joined[key], words))
    return found


def title(capture: Capture) -> str:
    """Return the title above `sentences`: it names those that an end may have wanted, which `failed` does not count."""
    wanted = any(lines(capture)[kind] for kind in _WANTED)
    return f"Connections that failed{' or ended early' if wanted else ''}"


def failed(capture: Capture) -> int:
    """Return the number of connections that failed, without those that an end may have wanted so."""
    made = lines(capture)
    wanting = [line for kind in FAILED if kind not in _WANTED for line in made[kind] if not line.is_trace]
    return sum(line.connections for line in wanting)


def fail_or_wait(capture: Capture) -> bool:
    """Return whether a connection failed or opened late."""
    return failed(capture) > 0 or bool(lines(capture)[LATE])


def broke(capture: Capture) -> bool:
    """Return whether a connection failed that may have carried data."""
    return any(lines(capture)[kind] for kind in _WITH_DATA)


def broken(capture: Capture) -> set[int]:
    """Return the streams of connections that failed and may have carried data."""
    if not broke(capture):
        return set()
    return {stream for block in blocks(capture, _WITH_DATA) for stream in block["stream"].tolist()}


def in_vain(capture: Capture) -> bool:
    """Return whether a client asked for a connection, TLS or a page in vain, or a device reset its connection."""
    made = lines(capture)
    asking = made["never answered"] + made["challenged"]
    wanting = (line for line in asking if not (line.of_strangers or line.of_updates or line.is_trace))
    left = any(made[kind] for kind in (TLS_FAILED, TLS_UNANSWERED, HTTP_UNANSWERED, ON_THE_WAY))
    return left or any(line.least_syns > BY_CHANCE for line in wanting)


def ends(capture: Capture) -> list[str]:
    """Return sentences about connections that an end reset once it was done; empty if there are none."""
    return [sentence(line, DONE) for line in lines(capture)[DONE]]
