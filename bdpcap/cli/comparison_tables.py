"""The two tables of a comparison, in the form that labs publish, as text and as Markdown."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Final

import pandas as pd

from bdpcap.comparing.comparison import difference
from bdpcap.diagnosis import LIMIT_NAMES
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Sequence


_UNITS: Final = {
    "bps": (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1)),
    "ns": (("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1)),
    "bytes": (("MB", 1e6), ("kB", 1e3), ("B", 1)),
    "share": (("%", 0.01),),
}
"""Units of each kind of quantity, largest first; prefixes are powers of 1000."""


@dataclass(frozen=True, slots=True)
class _Shown:
    """A column of one of the two tables: heading, source column, kind of unit, and significant digits."""

    head: str
    source: str
    kind: str
    digits: int = 4

    def unit(self, table: pd.DataFrame) -> tuple[str, float]:
        """Return name and size of the largest unit in which the column's maximum is at least 1, or 10 for bytes."""
        values = table[self.source].astype("Float64").dropna()
        if values.empty:
            return "", 1
        least = 10 if self.kind == "bytes" else 1
        fits = (unit for unit in _UNITS[self.kind] if values.max() >= least * unit[1])
        return next(fits, _UNITS[self.kind][-1])

    def cells(self, table: pd.DataFrame, size: float) -> list[str]:
        """Return the values in units of `size`, all with the fewest decimals that show each to the column's digits."""
        values = table[self.source].astype("Float64") / size
        known = [float(value) for value in values.dropna()]
        highest = max(known, default=0.0)
        whole = math.floor(math.log10(highest)) + 1 if highest > 0 else 1
        most = max(0, self.digits - whole)
        decimals = next(
            places
            for places in range(most + 1)
            if all(round(value, places) == round(value, most) for value in known)
        )
        return [units.MISSING if pd.isna(value) else f"{value:.{decimals}f}" for value in values]


_EXPECTED: Final = (
    _Shown("rate", "link_rate_bps", "bps"),
    _Shown("RTT", "rtt_path_ns", "ns"),
    _Shown("BDP", "bdp_bytes", "bytes"),
    _Shown("rcvbuf", "rcvbuf_bytes", "bytes", 7),
    _Shown("buffer", "buffer_bytes", "bytes", 7),
    _Shown("window", "window_max_bytes", "bytes", 7),
    _Shown("expected", "expected_bps", "bps"),
    _Shown("measured", "throughput_bps", "bps"),
    _Shown("accuracy", "accuracy", "share", 3),
)
_PER_RTT: Final = (
    _Shown("RTT", "rtt_median_ns", "ns"),
    _Shown("sndbuf", "sndbuf_bytes", "bytes", 7),
    _Shown("rcvbuf", "rcvbuf_bytes", "bytes", 7),
    _Shown("max/RTT", "sent_per_rtt_max_bytes", "bytes"),
    _Shown("mean/RTT", "sent_per_rtt_mean_bytes", "bytes"),
    _Shown("window", "window_max_bytes", "bytes", 7),
    _Shown("measured", "throughput_bps", "bps"),
    _Shown("W/RTT", "window_over_rtt_bps", "bps"),
    _Shown("of W/RTT", "window_over_rtt_share", "share", 3),
)

_SIGNS: Final = {"at least": ">=", "estimated": "~"}
_AT_LEAST: Final = ">= or ~: the link was never filled, so its rate does not bound what is expected."
_TITLES: Final = (
    "What the window should allow (RTT of the path), and what was measured",
    "What each round trip carried (RTT with queues), and window / RTT",
)


def text(table: pd.DataFrame, file: IO[str]) -> None:
    """Write both tables as text of 80 columns; for two captures, also the changes."""
    for number, capture in enumerate(table.itertuples(), 1):
        file.write(f"{number}  {units.printable(capture.capture)}\n")
        file.writelines(f"{_wrapped(part, 3)}\n" for part in _summary(capture).split("; "))
    if not table["streams"].any():
        return
    for title, shown in zip(_TITLES, (_EXPECTED, _PER_RTT), strict=True):
        rows = _cells(table, shown)
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        file.write(f"\n{title}\n")
        for row in rows:
            cells = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
            file.write(" ".join(cells).rstrip() + "\n")
    if _at_least(table):
        file.write(f"\n{_AT_LEAST}\n")
    if len(table) == 2:
        file.write("\nFrom 1 to 2\n")
        for changed in _changes(table):
            file.write("  {:<10} {:>16} -> {:<16} {}".format(*changed).rstrip() + "\n")
        file.write(_wrapped(_verdict(table), 0) + "\n")


def _wrapped(sentence: str, indent: int) -> str:
    margin = " " * indent
    return textwrap.fill(
        sentence, 80, initial_indent=margin, subsequent_indent=margin, break_long_words=False
    )


def markdown(table: pd.DataFrame, file: IO[str]) -> None:
    """Write both tables as Markdown; for two captures, also the changes."""
    for number, capture in enumerate(table.itertuples(), 1):
        name = units.printable(capture.capture).replace("`", " ")
        file.write(f"{number}. `{name}`: {_summary(capture)}\n")
    if not table["streams"].any():
        return
    for title, shown in zip(_TITLES, (_EXPECTED, _PER_RTT), strict=True):
        heads, unit_names, *rows = _cells(table, shown)
        titles = [f"{head} ({unit})" if unit else head for head, unit in zip(heads, unit_names, strict=True)]
        file.write(f"\n{title}:\n\n")
        file.writelines(_markdown([titles, ["---:"] * len(titles), *rows]))
    if _at_least(table):
        file.write(f"\n\\{_AT_LEAST}\n")
    if len(table) == 2:
        file.write("\nFrom 1 to 2:\n\n")
        file.writelines(
            _markdown([["", "1", "2", "change"], ["---", "---:", "---:", "---:"], *_changes(table)])
        )
        file.write(f"\n{_verdict(table)}\n")


def _markdown(rows: Sequence[Sequence[str]]) -> list[str]:
    return ["| " + " | ".join(row) + " |\n" for row in rows]


def _at_least(table: pd.DataFrame) -> bool:
    return bool(table["link_rate_source"].isin(list(_SIGNS)).any())


def _cells(table: pd.DataFrame, shown: Sequence[_Shown]) -> list[list[str]]:
    """Return headings, units and rows of one table; the first column is the number of the capture."""
    chosen = [column.unit(table) for column in shown]
    # All rates have the unit of the measured rate, so that they can be compared.
    measured = next(column for column in shown if column.source == "throughput_bps").unit(table)
    columns = [["", "", *(str(number + 1) for number in range(len(table)))]]
    for column, own in zip(shown, chosen, strict=True):
        name, size = measured if column.kind == "bps" and own[0] and measured[0] else own
        cells = column.cells(table, size)
        if column.source == "link_rate_bps":
            signs = table["link_rate_source"].map(_SIGNS).fillna("")
            cells = [f"{sign}{cell}" for sign, cell in zip(signs, cells, strict=True)]
        columns.append([column.head, name, *cells])
    return [list(row) for row in zip(*columns, strict=True)]


def _summary(capture: Any) -> str:
    if not capture.streams:
        return "no TCP payload"
    streams = "1 stream" if capture.streams == 1 else f"{capture.streams} streams"
    if pd.notna(capture.fairness):
        streams += f" (fairness {capture.fairness:.3f})"
    ends = f"{units.printable(capture.sender)} to {units.printable(capture.receiver)}"
    return f"{ends}, {streams}; limit: {_limit(capture)}"


def _limit(capture: Any) -> str:
    return f"{LIMIT_NAMES[capture.limit]} ({units.share(capture.limit_share)})"


_NAMED: Final = {
    "link_rate_bps": "rate",
    "rtt_path_ns": "path RTT",
    "sndbuf_bytes": "sndbuf",
    "rcvbuf_bytes": "rcvbuf",
    "window_max_bytes": "window",
    "expected_bps": "expected",
    "throughput_bps": "measured",
    "rtt_median_ns": "RTT",
    "sent_per_rtt_mean_bytes": "mean/RTT",
    "window_over_rtt_share": "of W/RTT",
    "retransmitted_bytes": "sent again",
    "streams": "streams",
}


def _changes(table: pd.DataFrame) -> list[list[str]]:
    """Return name, before, after and change of the main quantities.

    Changes of less than 1 % are left out, except for those of bytes.
    """
    rows = []
    for change in difference(table):
        kind, ratio = change.quantity.rpartition("_")[2], change.ratio
        still = kind != "bytes" and ratio is not None and abs(ratio - 1) < 0.01
        if change.quantity in _NAMED and not still:
            before, after = (_value(kind, value) for value in (change.before, change.after))
            moved = None if kind == "share" else ratio
            rows.append([_NAMED[change.quantity], before, after, _moved(moved)])
    return rows


def _moved(ratio: float | None) -> str:
    if ratio is None:
        return ""
    return f"{100 * (ratio - 1):+.3g} %" if ratio < 10 else f"x {ratio:.3g}"


def _value(kind: str, value: Any) -> str:
    match kind:
        case "bps":
            return units.rate(value)
        case "ns":
            return units.duration(value)
        case "bytes":
            return units.exact_bytes(value)
        case "share":
            return units.share(value)
    return units.count(value)


def _verdict(table: pd.DataFrame) -> str:
    """Return a sentence on the change of throughput, and on the limits before and after."""
    before, after = (table.iloc[row] for row in (0, 1))
    if not before["streams"] or not after["streams"]:
        return "One of the two carried no payload: nothing to compare."
    limits = f"Limit now: {_limit(after)}; before: {_limit(before)}."
    if pd.isna(before["throughput_bps"]) or pd.isna(after["throughput_bps"]):
        return limits
    percent = 100 * (after["throughput_bps"] / before["throughput_bps"] - 1)
    if abs(percent) < 1:
        return f"Throughput did not change. {limits}"
    return f"Throughput {'rose' if percent > 0 else 'fell'} by {abs(percent):.3g} %. {limits}"
