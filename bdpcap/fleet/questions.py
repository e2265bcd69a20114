"""The summary of a dataset of many captures, queried by DuckDB from the dataset's files."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import duckdb
import pandas as pd

from bdpcap.fleet import findings, queries
from bdpcap.fleet.dataset import Dataset
from bdpcap.report.ranking import LOSING
from bdpcap.tables import FLOWS, LIMITS, frames

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

__all__ = ["DISTRIBUTED", "Answers", "Since", "ask"]

WORST: Final = 10
"""Most rows of each list."""
DISTRIBUTED: Final = {
    "active_throughput_bps": "throughput",
    "rtt_median_ns": "RTT",
    "window_max_bytes": "largest window",
    "retransmitted": "bytes retransmitted",
}
"""Quantities of a flow whose distribution is shown, with their names."""
PERCENTS: Final = 100
"""A distribution is given by its percentiles from 0 to this number."""
_STATUS: Final = {
    "capture": "str", "state": "str", "error": "str", "damage": "str", "verdict": "str",
    "first_ns": "Int64", "last_ns": "Int64", "streams": "Int64", "datagrams": "Int64",
}  # fmt: skip
"""Entries of a status that the queries read, with their types; each is missing from some statuses."""


@dataclass(frozen=True)
class Since:
    """The flows that begin before a date against those that begin later."""

    date: datetime
    """The date that separates the periods ``before`` and ``after``."""
    limits: pd.DataFrame
    """Columns ``limit``, ``period``, ``ns`` and ``share``, the share of the period's active time."""
    paths: pd.DataFrame
    """Paths with flows in both periods: number of flows, median rate, share of active time lost in each."""


@dataclass(frozen=True)
class Answers:
    """The summary of a dataset. Times are sums over flows in nanoseconds; time lost is time under `LOSING` limits.

    Control flows carry less than ten full segments and less than 1 % of all bytes. They count in `totals`, and in
    the flows and bytes of `captures`, only.
    """

    totals: dict[str, Any]
    """Counts of captures and flows, sums over them, first and last time, and sums over control flows apart."""
    captures: pd.DataFrame
    """A row for each capture: its state, sums over its flows, and limit and verdict of its most important flow.

    A set of files that several workers shared has the sentence on its root cause instead.
    """
    limits: pd.DataFrame
    """Columns ``limit``, ``ns``, ``share`` (of all flows' active time), ``flows`` and ``captures``."""
    hosts: pd.DataFrame
    """Columns ``host``, ``limit``, ``lost_ns``, ``flows``, ``captures``.

    The host of `rwnd` is the receiver, of `sndbuf` the sender.
    """
    paths: pd.DataFrame
    """Columns ``path``, ``limit``, ``lost_ns``, ``flows``, ``captures``."""
    causes: pd.DataFrame
    """Columns ``code`` (of findings that are root causes), ``flows``, ``captures`` and ``lost_ns`` (to the main limit).

    ``remedy``, ``sentence``, ``capture`` and ``stream`` are those of the flow that lost most.
    """
    worst: pd.DataFrame
    """The flows that lost most time."""
    quantiles: dict[str, pd.DataFrame]
    """Number of flows and percentiles 0 to 100 of each of `DISTRIBUTED`, by period.

    Periods are ``all``, or ``before`` and ``after`` the date.
    """
    since: Since | None
    """Both periods compared; None without a date."""


@contextmanager
def _reading(folder: str) -> Iterator[None]:
    """Raise OSError for a file of the dataset that is broken, or lies where DuckDB cannot read it."""
    try:
        yield
    except duckdb.InvalidInputException as error:
        raise OSError(
            f"{folder}: {error}; remove the file of its name in status, and run bdpcap batch again"
        ) from None
    except duckdb.NotImplementedException as error:
        raise OSError(f"{folder}: {error}; copy the dataset to this machine") from None


def ask(folder: str, date: datetime | None = None) -> Answers:
    """Return the summary of a dataset written by `bdpcap batch`. Flows of captures that failed are left out.

    Parameters
    ----------
    folder
        Path or URL of the dataset.
    date
        Compare flows that begin before this date with later flows.

    Raises
    ------
    FileNotFoundError
        There is no such dataset.
    OSError
        A file of the dataset is broken, or lies where DuckDB cannot read it.
    """
    assert set(LOSING) <= set(LIMITS)  # noqa: S101 - the queries name these limits
    dataset = Dataset(folder)
    with _reading(folder), duckdb.connect() as database:
        _open(database, dataset)
        date_ns = None if date is None else int(date.timestamp() * 10**9)

        def table(query: str, **values: Any) -> pd.DataFrame:
            found: pd.DataFrame = database.execute(query, values).df()
            return found

        worst = {"worst": WORST}
        percentiles = [percent / PERCENTS for percent in range(PERCENTS + 1)]
        periods = ("all",) if date is None else ("before", "after")
        return Answers(
            totals={str(name): value for name, value in table(queries.TOTALS).to_dict("records")[0].items()},
            captures=table(queries.CAPTURES),
            limits=table(queries.LIMITS),
            hosts=table(queries.HOSTS, **worst),
            paths=table(queries.PATHS, **worst),
            causes=table(queries.CAUSES, **worst),
            worst=table(queries.WORST, **worst),
            quantiles={
                period: table(
                    queries.QUANTILES, percentiles=percentiles, period=period, date_ns=date_ns
                ).set_index("name")
                for period in periods
            },
            since=None
            if date is None
            else Since(
                date,
                table(queries.SINCE, date_ns=date_ns),
                table(queries.PATHS_SINCE, date_ns=date_ns, **worst),
            ),
        )


def _open(database: duckdb.DuckDBPyConnection, dataset: Dataset) -> None:
    """Create the tables and views that the queries read."""
    parts = dataset.parts()
    statuses = [status for part in parts.values() for status in part]
    if not statuses:
        raise FileNotFoundError(f"{dataset.url}: no results of bdpcap batch there")
    status = pd.DataFrame(
        {
            entry: pd.Series([one.get(entry) for one in statuses], dtype=kind)
            for entry, kind in _STATUS.items()
        }
    )
    database.register("status", status)
    if dataset.is_remote:
        # DuckDB reads by fsspec then; by itself it would fetch an extension from the Internet.
        database.register_filesystem(dataset.system)
    for name, empty in (
        ("flows", frames.frame(FLOWS, dict.fromkeys(FLOWS, ()))),
        ("findings", findings.table(())),
    ):
        files = dataset.files(name, parts)
        if files:
            database.read_parquet(files, union_by_name=True).create_view(name)
        else:  # no capture could be read
            database.register(name, empty.assign(capture=pd.Series(dtype="str")))
    database.execute(queries.VIEWS)
