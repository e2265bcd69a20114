"""``bdpcap info``: what was captured, and how far to trust it."""

from __future__ import annotations

import dataclasses
import json
from typing import IO, TYPE_CHECKING, Any, Final

import pandas as pd
from rich.table import Table
from rich.text import Text

from bdpcap import datagrams, units
from bdpcap.analysis import CaptureInfo
from bdpcap.cli import options, output, privacy, source, terminal
from bdpcap.report import trust
from bdpcap.report.document import capture_document, records

if TYPE_CHECKING:
    from bdpcap.analysis import Capture

UDP_FLOWS: Final = 10
"""Most UDP flows to show one by one."""


def command(
    captures: options.Captures = None,
    *,
    read: options.Read = None,
    filter_: options.Filter = None,
    format_: options.OutputFormat = None,
    output_: options.Output = None,
    anonymize: options.Anonymize = False,
    anonymize_key: options.AnonymizeKey = None,
) -> int:
    """Say what was captured, and how far to trust it.

    Format, link types, drops, what could not be decoded, where it was captured, and what is odd about it.
    """
    names = privacy.pseudonyms(anonymize, anonymize_key)
    capture = source.capture(captures, read, filter_, names, outputs=[output_])
    chosen = output.chosen(format_, output_)
    if chosen is options.Format.TABLE:
        with output.opened(output_) as file:
            _human(capture, file)
    elif chosen is options.Format.JSON:
        with output.opened(output_) as file:
            whole = {
                "schema_version": output.SCHEMA_VERSION,
                "capture": capture_document(capture),
                "datagrams": records(capture.datagrams),
            }
            file.write(json.dumps(whole, indent=1) + "\n")
    else:
        table = _table(capture, nested=chosen is options.Format.JSONL)
        output.write("info", [table], chosen, output_, lambda _frames, _file: None)
    return source.exit_code(capture.damage)


def _table(capture: Capture, *, nested: bool) -> pd.DataFrame:
    """Return what JSON says of the capture as one row; lists and mappings as such, or as JSON in text."""
    numbers = {field.name for field in dataclasses.fields(CaptureInfo) if str(field.type).startswith("int")}
    row = {
        name: value if nested or value is None or name in numbers else json.dumps(value)
        for name, value in capture_document(capture).items()
    }
    return pd.DataFrame([row]).astype(dict.fromkeys(numbers, "Int64"))


def _human(capture: Capture, file: IO[str]) -> None:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in trust.facts(capture):
        grid.add_row(name, Text(units.printable(value)))
    terminal.show(grid, file)
    _udp(capture.datagrams, file)
    caveats = trust.caveats(capture)
    file.write("\n")
    terminal.show(Text("caveats" if caveats else "no caveat", style="bold"), file)
    points = Table.grid(padding=(0, 1))
    points.add_column()
    points.add_column(overflow="fold")
    for caveat in caveats:
        points.add_row("  -", Text(units.printable(caveat)))
    terminal.show(points, file)


def _udp(flows: pd.DataFrame, file: IO[str]) -> None:
    """Write the largest UDP flows, and what those between two hosts add up to."""
    if flows.empty:
        return
    largest = flows.sort_values("payload_bytes", ascending=False).head(UDP_FLOWS)
    parallel = datagrams.totals(flows).query("streams > 1").head(UDP_FLOWS)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("UDP", overflow="fold")
    for title in ("datagrams", "rate", "lost", "reordered", "jitter"):
        table.add_column(title, justify="right")
    table.add_column("by")
    for flow in largest.itertuples():
        table.add_row(*_row(f"{flow.sender} → {flow.receiver}", flow), *_measured(flow))
    for sum_ in parallel.itertuples():
        table.add_row(*_row(f"{sum_.sender} → {sum_.receiver}, {sum_.streams} flows", sum_))
    file.write("\n")
    terminal.show(table, file)
    if len(flows) > UDP_FLOWS:
        file.write(f"and {units.count(len(flows) - UDP_FLOWS)} smaller UDP flows\n")


def _row(name: str, flow: Any) -> tuple[str | Text, ...]:
    lost = units.count(flow.lost)
    if not pd.isna(flow.lost):
        lost += f" ({units.share(flow.lost / (flow.lost + flow.packets))})"
    rate = units.rate(flow.throughput_bps)
    return Text(units.printable(name)), units.count(flow.packets), rate, lost, units.count(flow.reordered)


def _measured(flow: Any) -> tuple[str, str]:
    return units.duration(flow.jitter_ns), units.MISSING if pd.isna(flow.tool) else flow.tool
