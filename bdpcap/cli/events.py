"""``bdpcap events``: list one row for each segment."""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import IO, TYPE_CHECKING, Annotated

import typer

from bdpcap.cli import opening, options, output, privacy
from bdpcap.cli.terminal import Column, Lines
from bdpcap.tables.events import Events
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pandas as pd


def command(
    captures: options.Captures = None,
    *,
    read: options.Read = None,
    filter_: options.Filter = None,
    jobs: options.Jobs = None,
    budget: options.Budget = None,
    stream: options.Streams = None,
    per_flow: Annotated[
        bool,
        typer.Option(
            "--per-flow",
            help="Write a row for each flow that a segment concerns: its sender's flow for the data, and its receiver's "
            "flow for the acknowledgment.",
        ),
    ] = False,
    format_: options.OutputFormat = None,
    output_: options.Output = None,
    anonymize: options.Anonymize = False,
    anonymize_key: options.AnonymizeKey = None,
) -> int:
    """List the TCP segments, with the role of each in its flow.

    A segment with data is a row of its sender's flow; any other segment is a row of the flow that it acknowledges.
    In the table, times count from the capture's first frame, and > and < show the direction.
    """
    # No progress if the rows go to the terminal: the two would overwrite each other.
    apart = output_ is not None or not sys.stdout.isatty()
    names = privacy.pseudonyms(anonymize, anonymize_key)
    chosen = output.chosen(format_, output_)
    pieces = opening.Pieces(
        captures,
        read,
        filter_,
        stream,
        names,
        output=output_,
        progress=apart,
        jobs=jobs,
        budget=budget,
    )
    rows = pieces if per_flow else map(Events.per_segment, pieces)
    made = Events.cells if chosen in output.CELLS else Events.frame
    output.write("events", map(made, rows), chosen, output_, _human)
    return pieces.exit_code()


def _human(frames: Iterable[pd.DataFrame], file: IO[str]) -> None:
    lines: Lines | None = None
    ends: dict[int, str] = {}
    for frame in frames:
        if lines is None:
            lines = Lines(_columns(frame.attrs.get("first_ns") or 0), file)
            if frame.empty:  # only a capture without events has an empty piece
                lines.note("No event: no such TCP segment was found. `bdpcap info` shows what was.")
                continue
            lines.head()
        source_ = frame["sender"].where(frame["sequence"].notna(), frame["receiver"])
        for part in _split_at_new_streams(frame.assign(source=source_, segment=_segments(frame))):
            stream, sender = part["stream"].iloc[0], part["source"].iloc[0]
            if stream not in ends:
                ends[stream] = sender
                other = (
                    part["receiver"].iloc[0] if part["sender"].iloc[0] == sender else part["sender"].iloc[0]
                )
                lines.note(f"stream {stream}: {sender} > {other}")
            ways = part["source"] == part["stream"].map(ends)
            lines.rows(part.assign(way=ways.map({True: ">", False: "<"})))


def _split_at_new_streams(frame: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Split a piece before the first row of every stream."""
    firsts = [*(~frame["stream"].duplicated()).to_numpy().nonzero()[0], len(frame)]
    for first, following in pairwise(firsts):
        yield frame.iloc[first:following]


def _columns(origin_ns: int) -> list[Column]:
    def time(time_ns: int) -> str:
        return f"{(time_ns - origin_ns) / 1e9:.6f}"

    return [
        Column("time (s)", 12, "time_ns", time),
        Column("frame", 7, "frame", str),
        Column("stream", 6, "stream", str),
        Column("", 1, "way"),
        Column("kind", -14, "kind"),
        Column("segment", -16, "segment"),
        Column("window", 7, "window_bytes", units.data_size, at=80),
        Column("in flight", 9, "in_flight_bytes", units.data_size, at=72),
        Column("RTT", 7, "rtt_ns", units.duration, at=88),
    ]


def _segments(frame: pd.DataFrame) -> list[str]:
    """Return ``sequence+length`` for the sender's segments, and ``ack number`` for the receiver's."""
    sequences, lengths, acknowledged = (
        frame[name].astype("str").fillna("?") for name in ("sequence", "length", "acknowledged")
    )
    return [
        f"ack {number}" if sequence == "?" else f"{sequence}+{length}"
        for sequence, length, number in zip(sequences, lengths, acknowledged, strict=True)
    ]
