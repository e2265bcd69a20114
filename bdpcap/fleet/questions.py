"""The summary of a dataset of many captures, queried by DuckDB from the dataset's files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import duckdb

from bdpcap.report.ranking import LOSING
from bdpcap.tables import LIMITS

if TYPE_CHECKING:
    from datetime import datetime

    import pandas as pd

__all__ = ["DISTRIBUTED", "Answers", "ask"]

WORST: Final = 10
"""Most rows of each list."""
DISTRIBUTED: Final = {
    "active_throughput_bps": "throughput",
    "rtt_median_ns": "RTT",
    "window_max_bytes": "largest window",
    "retransmitted": "bytes retransmitted",
}
"""Quantities of a flow whose distribution is shown, with their names."""
PERCENTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)

_VIEWS: Final = """
CREATE VIEW flow AS
SELECT flows.*, end_ns - start_ns AS life_ns, retransmitted_bytes / greatest(payload_bytes, 1) AS retransmitted,
       regexp_replace(sender, ':[0-9]+$', '') AS sender_host, regexp_replace(receiver, ':[0-9]+$', '') AS receiver_host
FROM flows SEMI JOIN (SELECT capture FROM status WHERE state = 'done') USING (capture);

CREATE VIEW held AS
SELECT capture, stream, sender, receiver, sender_host, receiver_host, start_ns, cause AS "limit", share * active_ns AS ns
FROM (UNPIVOT (SELECT * RENAME ("limit" AS prevailing) FROM flow)
      ON rwnd_share AS rwnd, cwnd_share AS cwnd, sndbuf_share AS sndbuf, link_share AS link, app_share AS app,
         unknown_share AS unknown
      INTO NAME cause VALUE share);

CREATE VIEW lost AS SELECT * FROM held WHERE "limit" IN ('rwnd', 'cwnd', 'sndbuf');
"""
_TOTALS: Final = """
SELECT (SELECT count(*) FROM status) AS captures, (SELECT count(*) FROM status WHERE state <> 'done') AS failed,
       count(*) AS flows, coalesce(sum(payload_bytes), 0)::DOUBLE AS payload_bytes,
       coalesce(sum(life_ns), 0)::DOUBLE AS life_ns, coalesce(sum(active_ns), 0)::DOUBLE AS active_ns
FROM flow
"""
_LIMITS: Final = """
SELECT "limit", sum(ns) AS ns, sum(ns) / greatest(sum(sum(ns)) OVER (), 1) AS share
FROM held GROUP BY "limit" ORDER BY ns DESC, "limit"
"""
_HOSTS: Final = """
SELECT if("limit" = 'rwnd', receiver_host, sender_host) AS host, "limit", sum(ns) AS lost_ns,
       count(*) AS flows
FROM lost WHERE "limit" <> 'cwnd' AND ns > 0 GROUP BY ALL ORDER BY lost_ns DESC, host LIMIT $worst
"""
_PATHS: Final = """
SELECT sender_host || ' → ' || receiver_host AS path, "limit", sum(ns) AS lost_ns, count(*) AS flows
FROM lost WHERE ns > 0 GROUP BY ALL ORDER BY lost_ns DESC, path LIMIT $worst
"""
_CAUSES: Final = """
SELECT code, count(*) AS flows, sum(lost.ns) AS lost_ns, arg_max(remedy, lost.ns) AS remedy
FROM findings JOIN (SELECT capture, stream, sender, sum(ns) AS ns FROM lost GROUP BY ALL) AS lost
     USING (capture, stream, sender)
WHERE weight = 'root cause' AND lost.ns > 0 GROUP BY code ORDER BY lost_ns DESC, code LIMIT $worst
"""
_WORST: Final = """
SELECT capture, stream, sender, receiver, "limit", active_throughput_bps,
       (rwnd_share + cwnd_share + sndbuf_share) * active_ns AS lost_ns
FROM flow WHERE lost_ns > 0 ORDER BY lost_ns DESC, capture, stream, sender LIMIT $worst
"""
_QUANTILES: Final = """
SELECT name, count(value) AS flows, quantile_cont(value, $percentiles) AS percentiles
FROM (UNPIVOT (SELECT active_throughput_bps::DOUBLE AS active_throughput_bps, rtt_median_ns::DOUBLE AS rtt_median_ns,
                      window_max_bytes::DOUBLE AS window_max_bytes, retransmitted::DOUBLE AS retransmitted,
                      CASE WHEN $date_ns::BIGINT IS NULL THEN 'all'
                           WHEN start_ns < $date_ns::BIGINT THEN 'before' ELSE 'after' END AS period FROM flow)
      ON active_throughput_bps, rtt_median_ns, window_max_bytes, retransmitted INTO NAME name VALUE value)
WHERE period = $period GROUP BY name
"""
_SINCE: Final = """
SELECT "limit", period, sum(ns) AS ns, sum(ns) / greatest(sum(sum(ns)) OVER (PARTITION BY period), 1) AS share
FROM (SELECT *, if(start_ns < $date_ns, 'before', 'after') AS period FROM held) GROUP BY "limit", period
"""


@dataclass(frozen=True)
class Answers:
    """The summary of a dataset. Times are sums over flows in nanoseconds; time lost is time under `LOSING` limits."""

    totals: dict[str, Any]
    """Counts ``captures``, ``failed`` and ``flows``; sums ``payload_bytes``, ``life_ns`` and ``active_ns`` of flows."""
    limits: pd.DataFrame
    """Columns ``limit``, ``ns`` and ``share``, the share of all flows' active time."""
    hosts: pd.DataFrame
    """Columns ``host``, ``limit``, ``lost_ns``, ``flows``. The host of `rwnd` is the receiver, of `sndbuf` the sender."""
    paths: pd.DataFrame
    """Columns ``path``, ``limit``, ``lost_ns``, ``flows``."""
    causes: pd.DataFrame
    """Columns ``code`` (of findings that are root causes), ``flows``, ``lost_ns``, ``remedy`` (where most was lost)."""
    worst: pd.DataFrame
    """The flows that lost most time."""
    quantiles: dict[str, pd.DataFrame]
    """Percentiles over flows of each of `DISTRIBUTED`, by period: ``all``, or ``before`` and ``after`` the date."""
    since: pd.DataFrame | None
    """Columns ``limit``, ``period``, ``ns`` and ``share``, the share of the period's active time; None without a date."""
    date: datetime | None
    """The date that separates the periods."""


def ask(folder: str, date: datetime | None = None, percentiles: tuple[float, ...] = PERCENTILES) -> Answers:
    """Return the summary of a dataset written by `bdpcap batch`. Flows of captures that failed are left out.

    Parameters
    ----------
    folder
        Path of the dataset.
    date
        Compare flows that begin before this date with later flows.
    percentiles
        Percentiles of every distribution, from 0 to 1.

    Raises
    ------
    FileNotFoundError
        There is no such dataset, or none of its captures could be read.
    """
    assert set(LOSING) == {"rwnd", "cwnd", "sndbuf"} <= set(LIMITS)  # noqa: S101 - the queries name these limits
    with duckdb.connect() as database:
        try:
            for name in ("flows", "findings"):
                read = database.read_parquet(
                    f"{folder}/{name}/*/*.parquet", hive_partitioning=True, union_by_name=True
                )
                read.create_view(name)
            database.read_json(f"{folder}/status/*/*.json", hive_partitioning=True).create_view("status")
        except duckdb.IOException:
            raise FileNotFoundError(f"{folder}: no results of bdpcap batch there") from None
        database.execute(_VIEWS)
        date_ns = None if date is None else int(date.timestamp() * 10**9)

        def table(query: str, **values: Any) -> pd.DataFrame:
            found: pd.DataFrame = database.execute(query, values).df()
            return found

        worst = {"worst": WORST}
        periods = ("all",) if date is None else ("before", "after")
        return Answers(
            totals={str(name): value for name, value in table(_TOTALS).to_dict("records")[0].items()},
            limits=table(_LIMITS),
            hosts=table(_HOSTS, **worst),
            paths=table(_PATHS, **worst),
            causes=table(_CAUSES, **worst),
            worst=table(_WORST, **worst),
            quantiles={
                period: table(
                    _QUANTILES, percentiles=list(percentiles), period=period, date_ns=date_ns
                ).set_index("name")
                for period in periods
            },
            since=None if date is None else table(_SINCE, date_ns=date_ns),
            date=date,
        )
