# %% [markdown]
# # Thousands of rounds: ask by SQL
#
# One capture at a time is for a ticket. Of many, gather the tables and ask them questions. **Of these transfers, the
# receive window held the most time.** The picture is one flow of them.

# %%
from pathlib import Path

import duckdb
import pandas as pd

import bdpcap

CAPTURES = sorted(Path("../tests/data/labelled").rglob("sender.pcap*"))
bdpcap.plots.Still(bdpcap.analyze(CAPTURES[0])[0].plot())

# %% [markdown]
# ## Gather the tables
#
# Each capture has a table of flows and one of rounds. In a shell, `bdpcap batch FOLDER --out results` writes the same
# as Parquet, with several workers.

# %%
read = {path.parent.name: bdpcap.analyze(path) for path in CAPTURES}
flows = pd.concat([capture.flows.assign(capture=name) for name, capture in read.items()])
rounds = pd.concat([capture.rtts.assign(capture=name) for name, capture in read.items()])
print(f"{len(read)} captures, {len(flows)} flows, {len(rounds):,} rounds")

# %% [markdown]
# ## Ask
#
# DuckDB reads DataFrames by their names. Which limit led, in how many flows, and how sure is that?

# %%
duckdb.sql(
    """
    SELECT "limit", count(*) AS flows, round(sum(payload_bytes) / 1e6, 1) AS megabytes,
           round(median(throughput_bps) / 1e6, 2) AS median_mbps, round(avg(confidence), 2) AS confidence
    FROM flows WHERE payload_bytes > 10000 GROUP BY ALL ORDER BY flows DESC, "limit"
    """
).df()

# %% [markdown]
# How much of all time did each limit hold?

# %%
duckdb.sql(
    """
    SELECT "limit", round(sum(end_ns - start_ns) / 1e9, 1) AS seconds FROM rounds
    WHERE "limit" <> 'idle' GROUP BY ALL ORDER BY seconds DESC
    """
).df()

# %% [markdown]
# Where does a full window go together with a queue? Rounds join flows by capture, stream and sender:

# %%
duckdb.sql(
    """
    SELECT r."limit", r.detail, count(*) AS rounds, round(median(r.rtt_ns) / 1e6, 1) AS rtt_ms,
           round(median(r.rtt_ns / f.rtt_min_ns), 2) AS times_least
    FROM rounds r JOIN flows f USING (capture, stream, sender)
    WHERE f.payload_bytes > 10000 GROUP BY ALL HAVING count(*) > 100 ORDER BY rounds DESC, "limit", detail LIMIT 8
    """
).df()

# %% [markdown]
# Which flows would a larger window help: held by `rwnd` most of the time, at less than half of what the path carries?

# %%
duckdb.sql(
    """
    SELECT capture, window_max_bytes, round(bdp_bytes) AS bdp_bytes FROM flows
    WHERE rwnd_share > 0.5 AND throughput_bps < capacity_bps / 2 ORDER BY capture
    """
).df()
