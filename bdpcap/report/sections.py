"""Optional tables of a page, each in a section that is left out if the capture has no rows for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from bdpcap.host import compare
from bdpcap.report import host, no_flows, ranking
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Callable

    from bdpcap.capture import Capture

ROWS: Final = 30
"""Maximum number of UDP flows in the table; a note below names the command that lists all."""


@dataclass(frozen=True, slots=True)
class Column:
    """A heading and one cell per row."""

    title: str
    cells: list[str]
    values: list[float | None] | None = None
    """Numbers to sort the rows by, None where one is missing; None for a column of text."""


@dataclass(frozen=True, slots=True)
class Table:
    """A section with one table, the number of all rows, and the command that lists all."""

    title: str
    columns: tuple[Column, ...]
    total: int
    command: str
    notes: tuple[str, ...] = ()
    """Sentences below the table."""


def tables(capture: Capture) -> list[Table]:
    """Return the sections for which the capture has rows, in the order of the page."""
    return [table for table in (_account(capture), _datagrams(capture)) if table.total]


def _account(capture: Capture) -> Table:
    """Compare the sending host's statistics with the capture, for the flows that the report shows in detail."""
    rows: list[tuple[str, str, str, str]] = []
    notes: list[str] = []
    for flow in ranking.that_matter(capture) if capture.host is not None else ():
        if both := compare(flow):
            name = host.title(flow, both)
            rows += [(name, *row) for row in host.rows(both)]
            notes += [f"Stream {flow.stream}: {note}" for note in host.notes(both)]
    if capture.host is not None:
        notes += capture.host.doubts(capture)
        rows = rows or [("no two samples of any flow above", "", "", "")]
    titles = ("flow", "quantity", "by the host", "by the capture")
    return Table(
        title="The sending host's own account",
        columns=tuple(Column(title, [row[place] for row in rows]) for place, title in enumerate(titles)),
        total=len(rows),
        command="bdpcap report --json",
        notes=tuple(notes),
    )


def _datagrams(capture: Capture) -> Table:
    flows = capture.datagrams.sort_values("payload_bytes", ascending=False, kind="stable").head(ROWS)
    ends = zip(flows["sender"], flows["receiver"], strict=True)
    return Table(
        title="UDP in the same capture" if capture.info.segments else "UDP",
        columns=(
            Column("sender → receiver", [f"{sender} → {receiver}" for sender, receiver in ends]),
            _quantities("datagrams", flows["packets"], units.count),
            _quantities("bytes", flows["payload_bytes"], units.data_size),
            _quantities(
                "rate", flows["throughput_bps"].where(flows["packets"] >= no_flows.FEWEST), units.rate
            ),
            _quantities("lost", flows["lost"], units.count),
            _quantities("jitter", flows["jitter_ns"], units.duration),
        ),
        total=len(capture.datagrams),
        command="bdpcap info",
    )


def _quantities(title: str, column: pd.Series[Any], show: Callable[[Any], str]) -> Column:
    values = [None if pd.isna(value) else float(value) for value in column]
    return Column(title, [show(value) for value in column], values)
