"""``bdpcap rtts``: list one row for each round trip of each flow."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from bdpcap.cli import opening, options, output, privacy, terminal
from bdpcap.cli.terminal import Column, Lines
from bdpcap.read.ahead import ahead
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pandas as pd

    from bdpcap.tables.cells import Columns


def command(
    captures: options.Captures = None,
    *,
    read: options.Read = None,
    filter_: options.Filter = None,
    jobs: options.Jobs = None,
    budget: options.Budget = None,
    stream: options.Streams = None,
    format_: options.OutputFormat = None,
    output_: options.Output = None,
    anonymize: options.Anonymize = False,
    anonymize_key: options.AnonymizeKey = None,
) -> int:
    """List the round trips of every flow.

    Each row has the limit of its round trip, and the evidence for this limit.
    """
    names = privacy.pseudonyms(anonymize, anonymize_key)
    chosen = output.chosen(format_, output_)
    capture = opening.capture(
        captures,
        read,
        filter_,
        names,
        outputs=[output_],
        jobs=jobs,
        budget=budget,
        summarize=True,
    )
    pieces: Iterator[pd.DataFrame | Columns] = (
        ahead(capture._contents.verdicts.rtt_cells())
        if chosen in output.CELLS and not stream
        else (opening.of_streams(piece, stream, capture.info.streams) for piece in capture.pieces("rtts"))
    )
    origin = capture.info.first_ns or 0

    def human(frames: Iterable[pd.DataFrame], file: IO[str]) -> None:
        lines = Lines(_columns(origin), file)
        empty = True
        for frame in frames:
            empty &= frame.empty
            for (number, sender, receiver), rows in frame.groupby(
                ["stream", "sender", "receiver"], sort=False
            ):
                lines.note(f"stream {number}: {sender} → {receiver}")
                lines.head()
                lines.rows(rows)
                lines.note("")
        if empty:
            lines.note(f"No round: {terminal.NO_PAYLOAD}")

    output.write("rtts", pieces, chosen, output_, human)
    return opening.exit_code(capture.damages)


def _columns(origin_ns: int) -> list[Column]:
    def start(time_ns: int) -> str:
        return f"{(time_ns - origin_ns) / 1e9:.6f}"

    return [
        Column("round", 5, "round", str),
        Column("start (s)", 12, "start_ns", start),
        Column("RTT", 7, "rtt_ns", units.duration),
        Column("acked", 7, "acked_bytes", units.data_size, at=100),
        Column("throughput", 11, "throughput_bps", units.rate, at=80),
        Column("in flight", 9, "in_flight_max_bytes", units.data_size),
        Column("window", 7, "window_max_bytes", units.data_size),
        Column("limit", -7, "limit"),
        Column("detail", -11, "detail", _text, at=70),
        Column("conf.", -5, "confidence", units.confidence, at=90),
        Column("evidence", -90, "evidence", _text, at=110),
    ]


def _text(value: object) -> str:
    return units.printable(value) if isinstance(value, str) else ""
