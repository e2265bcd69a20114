# %% [markdown]
# # A thousand flows: DuckDB over Parquet
#
# One capture at a time is for a ticket. For a thousand, write tables once and ask them questions. The picture is one
# flow of them. The bars at the end answer the last question: which limit took most time, by how much a flow carried.

# %%
import struct
import tempfile
from pathlib import Path

import duckdb
import zstandard
from IPython.display import SVG

import bdpcap
from bdpcap.cli import main
from bdpcap.diagnosis import STATE_COLOURS
from bdpcap.plots.svg import svg

SAMPLES = sorted(Path("../sample_captures").glob("*.pcap.zst"))
SVG(svg(bdpcap.analyze(SAMPLES[-1]).flow(0).plot("window"), "one of the flows that are copied below"))

# %% [markdown]
# ## A capture of a thousand flows
#
# The samples hold a flow or two each. So that a clone can run this page, the first 400 packets of each are copied under
# other addresses, 112 times: what a busy server's capture looks like, with limits of every kind.


# %%
def packets(path):
    """Yield time and bytes of the first 400 packets of a pcap file."""
    content = zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes())
    fraction_ns = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}[struct.unpack_from("<I", content)[0]]
    at = 24
    for _ in range(400):
        if at >= len(content):
            return
        seconds, fraction, kept, length = struct.unpack_from("<4I", content, at)
        yield seconds * 10**9 + fraction * fraction_ns, length, content[at + 16 : at + 16 + kept]
        at += 16 + kept


def renumbered(frame, copy):
    """Give both hosts of an IPv4 packet another address: 10.copy.host."""
    ends = (bytes([10, copy >> 8, copy & 255, frame[at + 3]]) for at in (26, 30))
    return frame[:26] + b"".join(ends) + frame[34:]


scratch = Path(tempfile.mkdtemp())
copies = []
for number, path in enumerate(SAMPLES):
    own = list(packets(path))
    first = own[0][0]
    copies += [
        (time - first + copy * 10**7, length, renumbered(frame, 200 * number + copy))
        for copy in range(112)
        for time, length, frame in own
    ]
copies.sort(key=lambda packet: packet[0])
with (scratch / "many.pcap").open("wb") as file:
    file.write(struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
    for time, length, frame in copies:
        file.write(struct.pack("<IIII", time // 10**9, time % 10**9, len(frame), length) + frame)
print(f"{len(copies):,} packets of {len(SAMPLES) * 112:,} connections")

# %% [markdown]
# ## Write the tables once
#
# The same as `bdpcap flows many.pcap -o flows.parquet` in a shell. Rows go out in pieces, so memory does not grow with
# them.

# %%
for table in ("flows", "rtts"):
    main([table, str(scratch / "many.pcap"), "-o", str(scratch / f"{table}.parquet")])
print(*sorted(path.name for path in scratch.iterdir()))

# %% [markdown]
# ## Ask
#
# Which limit led, how many flows, and how much of all time?

# %%
database = duckdb.connect()
for table in ("flows", "rtts"):
    database.execute(f"CREATE VIEW {table} AS SELECT * FROM '{scratch / table}.parquet'")
database.sql(
    """
    SELECT "limit", count(*) AS flows, round(sum(payload_bytes) / 1e6, 1) AS megabytes,
           round(median(throughput_bps) / 1e6, 2) AS median_mbps, round(avg(confidence), 2) AS confidence
    FROM flows WHERE payload_bytes > 10000 GROUP BY ALL ORDER BY flows DESC, "limit"
    """
).df()

# %% [markdown]
# Where does a full window go together with a queue? Rounds join flows by stream and sender:

# %%
database.sql(
    """
    SELECT r."limit", r.detail, count(*) AS rounds, round(median(r.rtt_ns) / 1e6, 1) AS rtt_ms,
           round(median(r.rtt_ns / f.rtt_min_ns), 2) AS times_least
    FROM rtts r JOIN flows f USING (stream, sender)
    WHERE f.payload_bytes > 10000 GROUP BY ALL HAVING count(*) > 100 ORDER BY rounds DESC, "limit", detail LIMIT 8
    """
).df()

# %% [markdown]
# Which flows would a larger window help: held by `rwnd` most of the time, at less than half of what the path carries?

# %%
database.sql(
    """
    SELECT count(*) AS flows, round(sum(bdp_bytes - window_max_bytes) / count(*)) AS bytes_short_on_average
    FROM flows WHERE rwnd_share > 0.5 AND throughput_bps < capacity_bps / 2
    """
).df()

# %% [markdown]
# In Python the same tables are DataFrames; with the extra `bdpcap[arrow]`, `polars.from_arrow(capture.flows)` and
# `pyarrow.table(capture.flows)` read them, too. The answer as bars:

# %%
shares = database.sql(
    """
    SELECT CASE WHEN payload_bytes < 10000 THEN 'small' WHEN payload_bytes < 200000 THEN 'medium'
           ELSE 'large' END AS size,
           avg(rwnd_share) rwnd, avg(cwnd_share) cwnd, avg(sndbuf_share) sndbuf, avg(link_share) link, avg(app_share) app
    FROM flows GROUP BY ALL ORDER BY min(payload_bytes)
    """
).df()
bars = shares.set_index("size").style.format("{:.0%}")
for limit in shares.columns[1:]:
    bars = bars.bar(subset=[limit], vmin=0, vmax=1, color=STATE_COLOURS[limit])
bars
