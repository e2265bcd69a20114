"""The comparison of both ends of a path as text of 80 columns."""

from __future__ import annotations

import textwrap
from typing import IO, TYPE_CHECKING, Final

import pandas as pd

from bdpcap.diagnosis import LIMIT_NAMES
from bdpcap.pairing import words
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bdpcap.pairing import Ends

LOSSES: Final = 20
"""Maximum number of losses that are listed one by one."""


def write(both: Ends, file: IO[str]) -> None:
    """Write all sections, each with a title."""
    for title, lines in (
        ("Captures", _captures(both)),
        ("Clocks", words.clock(both.clock)),
        ("Connections", _streams(both)),
        ("Delays between the captures", _delays(both)),
        ("Losses", _losses(both)),
        ("Options that were rewritten on the way", _options(both)),
        ("The sender's view, rebuilt from the receiver's capture", _views(both)),
    ):
        file.write(f"{title}\n")
        for line in lines:
            file.write(line if line.endswith("\n") else _wrapped(line))
        file.write("\n" * (title != "The sender's view, rebuilt from the receiver's capture"))


def _wrapped(sentence: str) -> str:
    return (
        textwrap.fill(sentence, 80, initial_indent="  ", subsequent_indent="  ", break_long_words=False)
        + "\n"
    )


def _captures(both: Ends) -> Iterator[str]:
    for name, capture in (("sender", both.sender), ("receiver", both.receiver)):
        files = units.printable(", ".join(capture.info.files))
        yield f"{name}: {files}, {units.number(capture.info.frames, 'frame')}"


def _streams(both: Ends) -> Iterator[str]:
    table = both.streams
    shown = table[table["compared"]]
    for row in words.rows(shown):
        yield words.connection(row)
    if len(shown) < len(table):
        yield f"{units.number(len(table) - len(shown), 'smaller connection')} passed both captures, too; not compared."


def _delays(both: Ends) -> Iterator[str]:
    if both.delays.empty:
        yield "No flow's data are in both captures."
        return
    rows = [["flow", "least", "median", "95 %", "back", "median", "queue"]]
    rows += [
        [
            units.printable(row.sender),
            *(
                units.duration(value)
                for value in (
                    row.forward_min_ns, row.forward_median_ns, row.forward_p95_ns,
                    row.reverse_min_ns, row.reverse_median_ns,
                )
            ),
            units.printable(row.queue),
        ]
        for row in words.rows(both.delays)
    ]  # fmt: skip
    yield from _aligned(rows)
    for row in words.rows(both.delays):
        yield words.queue(row)


def _losses(both: Ends) -> Iterator[str]:
    yield from words.losses(both.losses, both.delays)
    if both.losses.empty:
        return
    start = both.sender.info.first_ns or 0
    rows = [["time (s)", "flow", "place", "sequence", "bytes", "near", "far"]]
    rows += [
        [
            f"{(row.time_ns - start) / 1e9:.6f}",
            units.printable(row.sender),
            row.place,
            units.count(row.sequence),
            units.count(row.length),
            units.count(None if pd.isna(row.near_frame) else row.near_frame),
            units.count(None if pd.isna(row.far_frame) else row.far_frame),
        ]
        for row in words.rows(both.losses.head(LOSSES))
    ]
    yield from _aligned(rows)
    yield "near and far: frame in the capture next to the bytes' sender, and in the other one."
    if len(both.losses) > LOSSES:
        yield f"{units.count(len(both.losses) - LOSSES)} more are in the JSON (--format json)."


def _options(both: Ends) -> Iterator[str]:
    if both.options.empty:
        yield "No handshake is in both captures."
        return
    rewritten = both.options[both.options["rewritten"]]
    if rewritten.empty:
        yield "None: addresses, sequence numbers and options are the same in both captures."
        return
    rows = [["stream", "segment", "field", "at the sender", "at the receiver"]]
    rows += [
        [
            str(row.stream),
            row.segment,
            row.field,
            *("-" if pd.isna(tap) else units.printable(tap) for tap in (row.sender_tap, row.receiver_tap)),
        ]
        for row in words.rows(rewritten)
    ]
    yield from _aligned(rows)


def _views(both: Ends) -> Iterator[str]:
    for row in words.rows(both.views):
        yield words.view(row, LIMIT_NAMES)


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        yield f"  {'  '.join(cells)}".rstrip() + "\n"
