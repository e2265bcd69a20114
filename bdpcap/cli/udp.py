"""Table of a capture's UDP flows for ``bdpcap info``."""

from __future__ import annotations

from typing import IO, Any, Final

import pandas as pd
from rich.table import Table
from rich.text import Text

from bdpcap.cli import terminal
from bdpcap.tables import datagrams
from bdpcap.words import units

FLOWS: Final = 10
"""Maximum number of flows in the table."""


def write(flows: pd.DataFrame, file: IO[str]) -> None:
    """Write the largest UDP flows, and the sums of parallel flows between two hosts."""
    largest = flows.sort_values("payload_bytes", ascending=False, kind="stable").head(FLOWS)
    parallel = datagrams.totals(flows).query("streams > 1").head(FLOWS)
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
    if len(flows) > FLOWS:
        file.write(f"and {units.count(len(flows) - FLOWS)} smaller UDP flows\n")


def _row(name: str, flow: Any) -> tuple[str | Text, ...]:
    lost = units.count(flow.lost)
    if not pd.isna(flow.lost):
        lost += f" ({units.share(flow.lost / (flow.lost + flow.packets))})"
    rate = units.rate(flow.throughput_bps)
    return Text(units.printable(name)), units.count(flow.packets), rate, lost, units.count(flow.reordered)


def _measured(flow: Any) -> tuple[str, str]:
    return units.duration(flow.jitter_ns), units.MISSING if pd.isna(flow.tool) else flow.tool
