"""``bdpcap events``: one row for each segment and flow it concerns."""

from __future__ import annotations

import sys
from typing import IO, TYPE_CHECKING, Any

import pandas as pd

from bdpcap import units
from bdpcap.cli import options, output, privacy, source
from bdpcap.cli.terminal import Column, Lines

if TYPE_CHECKING:
    from collections.abc import Iterable


def command(
    captures: options.Captures = None,
    *,
    read: options.Read = None,
    filter_: options.Filter = None,
    stream: options.Streams = None,
    format_: options.OutputFormat = None,
    output_: options.Output = None,
    anonymize: options.Anonymize = False,
    anonymize_key: options.AnonymizeKey = None,
) -> int:
    """List the segments, as each flow saw them.

    A segment is a row of the flow that it sends data for, and one of the flow that it acknowledges.
    In the table, times count from the capture's first frame.
    """
    # Rows and progress on the same terminal would write over each other.
    apart = output_ is not None or not sys.stdout.isatty()
    names = privacy.pseudonyms(anonymize, anonymize_key)
    pieces = source.Pieces(captures, read, filter_, stream, names, output=output_, progress=apart)
    output.write("events", pieces, output.chosen(format_, output_), output_, _human)
    return pieces.exit_code()


def _human(frames: Iterable[pd.DataFrame], file: IO[str]) -> None:
    lines: Lines | None = None
    for frame in frames:
        if lines is None:
            lines = Lines(_columns(frame.attrs.get("first_ns") or 0), file)
            if frame.empty:  # only the single piece of a capture without events is
                lines.note("No event: no such TCP segment was found. `bdpcap info` shows what was.")
                continue
            lines.head()
        lines.rows(frame.assign(segment=_segments(frame)))


def _columns(origin_ns: int) -> list[Column]:
    def time(time_ns: int) -> str:
        return f"{(time_ns - origin_ns) / 1e9:.6f}"

    return [
        Column("time (s)", 12, "time_ns", time),
        Column("frame", 7, "frame", str),
        Column("stream", 6, "stream", str),
        Column("sender", -21, "sender", at=110),
        Column("kind", -14, "kind"),
        Column("segment", -16, "segment"),
        Column("window", 7, "window_bytes", units.data_size, at=80),
        Column("in flight", 9, "in_flight_bytes", units.data_size, at=70),
        Column("RTT", 7, "rtt_ns", units.duration, at=86),
    ]


def _segments(frame: pd.DataFrame) -> list[str]:
    """Return ``sequence+length`` of what was sent, ``ack number`` of what came back."""
    return [
        f"ack {_known(acknowledged)}" if pd.isna(sequence) else f"{sequence}+{_known(length)}"
        for sequence, length, acknowledged in zip(
            frame["sequence"], frame["length"], frame["acknowledged"], strict=True
        )
    ]


def _known(value: Any) -> str:
    return "?" if pd.isna(value) else str(value)
