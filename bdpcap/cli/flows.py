"""``bdpcap flows``: one row for each direction that carried payload."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Final

from bdpcap import units
from bdpcap.cli import options, output, privacy, rules, source, terminal
from bdpcap.cli.terminal import Column, Lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd


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
    fail_on: options.FailOn = None,
) -> int:
    """List the flows: what each carried, how fast, and what limited it."""
    broken = rules.parse(fail_on)
    names = privacy.pseudonyms(anonymize, anonymize_key)
    capture = source.capture(captures, read, filter_, names, outputs=[output_])
    flows = source.of_streams(capture.flows, stream, capture.info.streams)
    output.write("flows", [flows], output.chosen(format_, output_), output_, _human)
    return source.exit_code(capture.damage) or rules.exit_code(broken, flows)


_NUMBERS: Final = [
    Column("stream", 6, "stream", str),
    Column("bytes", 7, "payload_bytes", units.data_size),
    Column("throughput", 11, "throughput_bps", units.rate),
    Column("RTT", 7, "rtt_median_ns", units.duration),
    Column("window", 7, "window_max_bytes", units.data_size),
    Column("limit", -7, "limit"),
    Column("share", 6, "share", units.share),
    Column("conf.", -5, "confidence", units.confidence, at=64),
]


def _human(frames: Iterable[pd.DataFrame], file: IO[str]) -> None:
    """Write the ends of a flow after its numbers; below them, where the lines are too short for all."""
    lines = Lines(_NUMBERS, file)
    before = sum(abs(column.width) + 1 for column in lines.columns)
    for frame in frames:
        if frame.empty:
            lines.note(f"No flow: {terminal.NO_PAYLOAD}")
            continue
        ends = [
            (units.printable(sender), units.printable(receiver))
            for sender, receiver in zip(frame["sender"], frame["receiver"], strict=True)
        ]
        share = [getattr(flow, f"{flow.limit}_share") for flow in frame.itertuples()]
        shown = frame.assign(share=share, ends=[f"{sender} → {receiver}" for sender, receiver in ends])
        longest = max(map(len, shown["ends"]))
        if before + longest <= lines.console.width:
            lines.columns.append(Column("sender → receiver", -max(longest, 17), "ends"))
            lines.head()
            lines.rows(shown)
            continue
        lines.head()
        for index, (sender, receiver) in enumerate(ends):
            lines.rows(shown.iloc[index : index + 1])
            together = f"{' ' * 7}{sender} → {receiver}"
            if len(together) <= lines.console.width:
                lines.note(together)
            else:
                lines.note(f"{' ' * 7}{sender}")
                lines.note(f"{' ' * 5}→ {receiver}")
