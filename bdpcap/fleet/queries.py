"""The queries of a summary, in DuckDB's SQL: tables ``flows`` and ``findings``, and ``status`` with a row a capture."""

from __future__ import annotations

from typing import Final

from bdpcap.explain.capacity import INITIAL_WINDOW
from bdpcap.report.ranking import LEAST_SHARE, LOSING

__all__ = [
    "CAPTURES", "CAUSES", "HOSTS", "LIMITS", "PATHS", "PATHS_SINCE", "QUANTILES", "SINCE", "TOTALS", "VIEWS", "WORST",
]  # fmt: skip

_LOST: Final = f"({' + '.join(f'{limit}_share' for limit in LOSING)}) * active_ns"
_OF_MOST: Final = "first({0} ORDER BY lost.ns DESC, capture, stream, sender) AS {0}"
"""A column of the flow that lost most; of equal ones the first by name, in any order of the files."""
_LOSING: Final = ", ".join(f"'{limit}'" for limit in LOSING)

VIEWS: Final = f"""
CREATE VIEW flow AS
SELECT flows.*, end_ns - start_ns AS life_ns,
       retransmitted_bytes / greatest(payload_bytes + retransmitted_bytes, 1) AS retransmitted,
       regexp_replace(sender, ':[0-9]+$', '') AS sender_host, regexp_replace(receiver, ':[0-9]+$', '') AS receiver_host,
       {_LOST} AS lost_ns,
       coalesce(payload_bytes >= {INITIAL_WINDOW} * mss_bytes, false)
       OR payload_bytes >= {LEAST_SHARE} * sum(payload_bytes) OVER () AS bulk
FROM flows SEMI JOIN (SELECT capture FROM status WHERE state = 'done') USING (capture);

CREATE VIEW held AS
SELECT capture, stream, sender, receiver, sender_host, receiver_host, start_ns, cause AS "limit", share * active_ns AS ns
FROM (UNPIVOT (SELECT * RENAME ("limit" AS prevailing) FROM flow WHERE bulk)
      ON rwnd_share AS rwnd, cwnd_share AS cwnd, sndbuf_share AS sndbuf, link_share AS link, app_share AS app,
         unknown_share AS unknown
      INTO NAME cause VALUE share);

CREATE VIEW lost AS SELECT * FROM held WHERE "limit" IN ({_LOSING}) AND ns > 0;
"""  # noqa: S608 - constants of this package
"""``bulk`` is the rule of `bdpcap.report.ranking.bulk`, with the bytes of the whole dataset."""
TOTALS: Final = """
SELECT (SELECT count(*) FROM status) AS captures, (SELECT count(*) FROM status WHERE state <> 'done') AS failed,
       (SELECT count(*) FROM status WHERE streams > 0) AS with_tcp,
       (SELECT count(*) FROM status WHERE streams = 0 AND datagrams > 0) AS only_udp,
       (SELECT count(*) FROM status WHERE streams = 0 AND datagrams = 0) AS neither,
       (SELECT min(first_ns) FROM status) AS first_ns, (SELECT max(last_ns) FROM status) AS last_ns,
       count(*) AS flows, coalesce(sum(payload_bytes), 0)::DOUBLE AS payload_bytes,
       coalesce(sum(life_ns), 0)::DOUBLE AS life_ns,
       coalesce(sum(active_ns) FILTER (bulk), 0)::DOUBLE AS active_ns,
       coalesce(sum(lost_ns) FILTER (bulk), 0)::DOUBLE AS lost_ns,
       count(*) FILTER (NOT bulk) AS control_flows,
       coalesce(sum(payload_bytes) FILTER (NOT bulk), 0)::DOUBLE AS control_bytes,
       coalesce(sum(lost_ns) FILTER (NOT bulk), 0)::DOUBLE AS control_lost_ns
FROM flow
"""
LIMITS: Final = """
SELECT "limit", sum(ns) AS ns, sum(ns) / greatest(sum(sum(ns)) OVER (), 1) AS share,
       count(*) FILTER (ns > 0) AS flows, count(DISTINCT capture) FILTER (ns > 0) AS captures
FROM held GROUP BY "limit" ORDER BY ns DESC, "limit"
"""
HOSTS: Final = """
SELECT if("limit" = 'rwnd', receiver_host, sender_host) AS host, "limit", sum(ns) AS lost_ns,
       count(*) AS flows, count(DISTINCT capture) AS captures
FROM lost WHERE "limit" <> 'cwnd' GROUP BY ALL ORDER BY lost_ns DESC, host LIMIT $worst
"""
PATHS: Final = """
SELECT sender_host || ' → ' || receiver_host AS path, "limit", sum(ns) AS lost_ns, count(*) AS flows,
       count(DISTINCT capture) AS captures
FROM lost GROUP BY ALL ORDER BY lost_ns DESC, path LIMIT $worst
"""
CAUSES: Final = f"""
SELECT code, count(*) AS flows, count(DISTINCT capture) AS captures, sum(lost.ns) AS lost_ns,
       {_OF_MOST.format("remedy")}, {_OF_MOST.format("sentence")},
       {_OF_MOST.format("capture")}, {_OF_MOST.format("stream")}
FROM findings JOIN (SELECT capture, stream, sender, lost.ns FROM lost JOIN flow USING (capture, stream, sender, "limit"))
     AS lost USING (capture, stream, sender)
WHERE weight = 'root cause' GROUP BY code ORDER BY lost_ns DESC, code LIMIT $worst
"""  # noqa: S608 - constants of this package
WORST: Final = """
SELECT capture, stream, sender, receiver, "limit", active_throughput_bps, lost_ns
FROM flow WHERE bulk AND lost_ns > 0 ORDER BY lost_ns DESC, capture, stream, sender LIMIT $worst
"""
CAPTURES: Final = """
SELECT status.* EXCLUDE (verdict, streams, datagrams), coalesce(own.flows, 0) AS flows, own.payload_bytes, own.lost_ns,
       main.* EXCLUDE (capture, sentence), coalesce(status.verdict, main.sentence) AS verdict
FROM status
LEFT JOIN (SELECT capture, count(*) AS flows, sum(payload_bytes)::DOUBLE AS payload_bytes,
                  sum(lost_ns) FILTER (bulk) AS lost_ns
           FROM flow GROUP BY capture) AS own USING (capture)
LEFT JOIN (SELECT flow.capture, first(flow.sender) AS sender, first(flow.receiver) AS receiver,
                  first(flow."limit") AS "limit", first(flow.confidence) AS confidence,
                  first(flow.active_throughput_bps) AS active_throughput_bps,
                  first(sentence) FILTER (weight = 'root cause') AS sentence
           FROM flow JOIN findings USING (capture, stream, sender)
           WHERE rank = 1 GROUP BY flow.capture) AS main USING (capture)
ORDER BY own.lost_ns DESC NULLS LAST, status.capture
"""
QUANTILES: Final = """
SELECT name, count(value) AS flows, quantile_cont(value, $percentiles) AS percentiles
FROM (UNPIVOT (SELECT active_throughput_bps::DOUBLE AS active_throughput_bps, rtt_median_ns::DOUBLE AS rtt_median_ns,
                      window_max_bytes::DOUBLE AS window_max_bytes, retransmitted::DOUBLE AS retransmitted,
                      CASE WHEN $date_ns::BIGINT IS NULL THEN 'all'
                           WHEN start_ns < $date_ns::BIGINT THEN 'before' ELSE 'after' END AS period
               FROM flow WHERE bulk)
      ON active_throughput_bps, rtt_median_ns, window_max_bytes, retransmitted INTO NAME name VALUE value)
WHERE period = $period GROUP BY name
"""
SINCE: Final = """
SELECT "limit", period, sum(ns) AS ns, sum(ns) / greatest(sum(sum(ns)) OVER (PARTITION BY period), 1) AS share
FROM (SELECT *, if(start_ns < $date_ns, 'before', 'after') AS period FROM held) GROUP BY "limit", period
"""
PATHS_SINCE: Final = """
SELECT sender_host || ' → ' || receiver_host AS path,
       count(*) FILTER (early) AS flows_before, count(*) FILTER (NOT early) AS flows_after,
       median(active_throughput_bps) FILTER (early) AS bps_before,
       median(active_throughput_bps) FILTER (NOT early) AS bps_after,
       sum(lost_ns) FILTER (early) / greatest(sum(active_ns) FILTER (early), 1) AS lost_before,
       sum(lost_ns) FILTER (NOT early) / greatest(sum(active_ns) FILTER (NOT early), 1) AS lost_after
FROM (SELECT *, start_ns < $date_ns AS early FROM flow WHERE bulk) GROUP BY path
HAVING flows_before > 0 AND flows_after > 0 ORDER BY abs(lost_after - lost_before) DESC, path LIMIT $worst
"""
