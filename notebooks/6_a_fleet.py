# %% [markdown]
# # A fleet of captures
#
# Hundreds of captures are not read one by one: `bdpcap batch` makes one dataset of them, `bdpcap summary` a page.
# Here the same dataset is asked from Python. **Receivers held this fleet: most time was lost to the receive window.**
# The picture is one flow of it.

# %%
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb

import bdpcap

capture = bdpcap.analyze("../sample_captures/rwnd_slow_reader.sender.pcap.zst")
bdpcap.plots.Still(capture.plot())

# %% [markdown]
# ## One dataset of all
#
# Each capture is a task; a run that was stopped goes on where it stopped, and a capture that cannot be read is recorded
# and ends nothing.

# %%
results = Path(tempfile.mkdtemp(), "results")
command = [
    sys.executable,
    "-m",
    "bdpcap",
    "batch",
    "../sample_captures",
    "--out",
    str(results),
    "--workers",
    "1",
]
subprocess.run(command, check=True, capture_output=True)
print(*sorted(path.name for path in results.iterdir()))

# %% [markdown]
# ## Which limit holds the fleet?
#
# Time lost is time under the receive window, congestion control or the send buffer: a setting or a host may give it
# back.

# %%
flows = duckdb.read_parquet(f"{results}/flows/*.parquet")
duckdb.sql(
    """
    SELECT "limit", count(*) AS flows,
           round(sum(active_ns * (rwnd_share + cwnd_share + sndbuf_share)) / 1e9, 1) AS seconds_lost
    FROM flows GROUP BY ALL ORDER BY seconds_lost DESC
    """
).df()

# %% [markdown]
# ## Where, and what to do about it
#
# The findings of the flows that matter have the root cause of each, and its remedy:

# %%
findings = duckdb.read_parquet(f"{results}/findings/*.parquet")
duckdb.sql(
    """
    SELECT code, count(DISTINCT capture) AS captures FROM findings
    WHERE weight = 'root cause' GROUP BY ALL ORDER BY captures DESC, code
    """
).df()

# %%
print(*duckdb.sql("SELECT DISTINCT remedy FROM findings WHERE code = 'slow-reader'").fetchall()[0])
