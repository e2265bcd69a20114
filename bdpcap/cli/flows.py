"""``bdpcap flows``: list one row for each direction that carried payload."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Annotated, Final

import typer

from bdpcap import tables
from bdpcap.cli import opening, options, output, privacy, rules, terminal
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
    sort: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            autocompletion=lambda: list(tables.FLOWS),
            help="Column to sort by: numbers largest first, text in alphabetical order. Default: by stream.",
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Show only the first N rows; without --sort, those with most payload_bytes.",
        ),
    ] = None,
    format_: options.OutputFormat = None,
    output_: options.Output = None,
    anonymize: options.Anonymize = False,
    anonymize_key: options.AnonymizeKey = None,
    fail_on: options.FailOn = None,
    junit: options.JUnit = None,
    annotations: options.AnnotationsOf = None,
) -> int:
    """List the flows: bytes, throughput and limit of each."""
    gate = rules.Gate(fail_on, junit, annotations)
    opening.distinct([path for path in (output_, junit) if path is not None])
    column = _column(sort) if sort or not top else "payload_bytes"
    names = privacy.pseudonyms(anonymize, anonymize_key)
    chosen = output.chosen(format_, output_)
    capture = opening.capture(
        captures,
        read,
        filter_,
        names,
        outputs=[output_, junit],
        jobs=jobs,
        budget=budget,
        summarize=True,
    )
    all_bytes = int(capture._contents.streams.carriers["payload_bytes"].sum()) if gate.rules else 0

    def pieces() -> Iterator[pd.DataFrame]:
        for piece in capture.pieces("flows"):
            flows = opening.of_streams(piece, stream, capture.info.streams)
            yield flows
            gate.check(flows, all_bytes)

    in_order = pieces()
    rows: Iterable[pd.DataFrame | Columns] = in_order
    if column is not None or top:
        rows = [_chosen(_joined(in_order), column, top)]
    elif chosen in output.CELLS and not (stream or gate.rules):
        rows = ahead(
            capture._contents.verdicts.flow_cells()
        )  # for many flows, making pandas tables takes as long as classifying
    output.write("flows", rows, chosen, output_, _human)
    code = gate.finish(capture)
    return opening.exit_code(capture.damages) or code


_NUMBERS: Final = [
    Column("stream", 6, "stream", str),
    Column("bytes", 7, "payload_bytes", units.data_size),
    Column("throughput", 11, "active_throughput_bps", units.rate),
    Column("RTT", 7, "rtt_median_ns", units.duration),
    Column("window", 7, "window_max_bytes", units.data_size),
    Column("limit", -7, "limit"),
    Column("share", 6, "share", units.share),
    Column("conf.", -5, "confidence", units.confidence, at=64),
]


_SHOWN: Final = {column.title.lower(): column.source for column in _NUMBERS if column.source in tables.FLOWS}
"""Columns of the ``flows`` table by their headings in the table for people."""


def _column(typed: str | None) -> str | None:
    """Return the column with that name, or with that heading in the table for people."""
    if typed is None or typed in tables.FLOWS:
        return typed
    if typed.lower() not in _SHOWN:
        raise typer.BadParameter(
            f"no column {typed!r}: there are {', '.join(tables.FLOWS)}", param_hint="--sort"
        )
    return _SHOWN[typed.lower()]


def _joined(frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415 - pandas is slow to import, and flows written as cells need none

    return pd.concat(frames, ignore_index=True)


def _chosen(flows: pd.DataFrame, column: str | None, top: int | None) -> pd.DataFrame:
    """Return the first `top` flows, sorted by a column: numbers largest first, text in alphabetical order.

    Missing values come last, and flows with equal values keep their order.
    """
    if column is not None:
        rising = tables.FLOWS[column].dtype == "str"
        flows = flows.sort_values(column, ascending=rising, kind="stable", ignore_index=True)
    return flows.head(top or len(flows))


def _human(frames: Iterable[pd.DataFrame], file: IO[str]) -> None:
    """Write each flow's numbers with its endpoints in the same line, or below if a line of the piece is too short."""
    lines = Lines(_NUMBERS, file)
    room = lines.console.width - sum(abs(column.width) + 1 for column in lines.columns)
    headed = False
    for frame in frames:
        if frame.empty:
            continue
        ends = [
            (units.printable(sender), units.printable(receiver))
            for sender, receiver in zip(frame["sender"], frame["receiver"], strict=True)
        ]
        share = [getattr(flow, f"{flow.limit}_share") for flow in frame.itertuples()]
        shown = frame.assign(share=share, ends=[f"{sender} → {receiver}" for sender, receiver in ends])
        fits = shown["ends"].map(len).max() <= room
        if not headed:
            lines.columns += [Column("sender → receiver", -room, "ends")] if fits else []
            lines.head()
            headed = True
        if fits and lines.columns[-1].source == "ends":
            lines.rows(shown)
            continue
        for index, (sender, receiver) in enumerate(ends):
            lines.rows(shown.iloc[index : index + 1])
            together = f"{' ' * 7}{sender} → {receiver}"
            if len(together) <= lines.console.width:
                lines.note(together)
            else:
                lines.note(f"{' ' * 7}{sender}")
                lines.note(f"{' ' * 5}→ {receiver}")
    if not headed:
        lines.note(f"No flow: {terminal.NO_PAYLOAD}")
