"""``bdpcap flows``: one row for each direction that carried payload."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from bdpcap import units
from bdpcap.cli import options, output, rules, source, terminal

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
    fail_on: options.FailOn = None,
) -> int:
    """List the flows: what each carried, how fast, and what limited it."""
    broken = rules.parse(fail_on)
    capture = source.capture(captures, read, filter_)
    flows = source.of_streams(capture.flows, stream, capture.info.streams)
    output.write("flows", [flows], output.chosen(format_, output_), output_, _human)
    return source.exit_code(capture.damage) or rules.exit_code(broken, flows)


def _human(frames: Iterable[pd.DataFrame], file: IO[str]) -> None:
    console = terminal.console(file)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1 if console.width >= 100 else 0))
    table.add_column("", justify="right")
    table.add_column("sender → receiver", overflow="fold")
    for title in ("bytes", "throughput", "RTT", "window"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("limit", no_wrap=True)
    table.add_column("confidence" if console.width >= 110 else "conf.", no_wrap=True)
    for frame in frames:
        for flow in frame.itertuples():
            between = " " if console.width >= 110 else "\n"
            table.add_row(
                str(flow.stream),
                Text(f"{units.printable(flow.sender)}{between}→ {units.printable(flow.receiver)}"),
                units.data_size(flow.payload_bytes),
                units.rate(flow.throughput_bps),
                units.duration(flow.rtt_median_ns),
                units.data_size(flow.window_max_bytes),
                terminal.limit_text(str(flow.limit), " " + units.share(getattr(flow, f"{flow.limit}_share"))),
                units.confidence(flow.confidence),
            )
    if table.row_count:
        console.print(table)
    else:
        console.print("No flow: no TCP segment with payload was found. `bdpcap info` shows what was.")
