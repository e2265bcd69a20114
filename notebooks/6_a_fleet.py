# %% [markdown]
# # A fleet of captures
#
# Hundreds of captures are not read one by one: `bdpcap batch` makes one dataset of them, `bdpcap summary` a page. Here
# the same dataset is asked from Python. The picture is one flow of it; the answers are about all.

# %%
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import plotly.graph_objects as go
from IPython.display import SVG

import bdpcap
from bdpcap.diagnosis import STATE_COLOURS
from bdpcap.fleet.questions import ask
from bdpcap.plots.svg import svg

SAMPLES = Path("../sample_captures")
slow_reader = bdpcap.analyze(SAMPLES / "rwnd_slow_reader.sender.pcap.zst")
SVG(svg(slow_reader.flow(0).plot("window"), "a receiver that reads slowly, one flow of the fleet"))

# %% [markdown]
# ## One dataset of all
#
# In a shell: `bdpcap batch sample_captures --out results`. Each capture is a task of its own; a run that was stopped goes
# on where it stood, and a capture that cannot be read is recorded and ends nothing.

# %%
results = Path(tempfile.mkdtemp(), "results")
command = [sys.executable, "-m", "bdpcap", "batch", str(SAMPLES), "--out", str(results), "--workers", "1"]
subprocess.run(command, check=True, capture_output=True)
print(*sorted(path.name for path in results.iterdir()))

# %% [markdown]
# ## Which limit holds the fleet?
#
# Time lost is time under the receive window, congestion control or the send buffer: a setting or a host may give it back.
# `ask` returns tables.

# %%
answers = ask(str(results))
print(f"{answers.totals['captures']} captures, {answers.totals['flows']} flows")
answers.limits.assign(share=answers.limits["share"].round(2))[["limit", "share"]]

# %% [markdown]
# ## Where, and what to do about it
#
# Which finding lost most time, in how many flows, and what it says to do where it lost most:

# %%
answers.causes[["code", "flows"]].assign(seconds=(answers.causes["lost_ns"] / 1e9).round(1))

# %%
print(answers.causes.loc[0, "remedy"])

# %% [markdown]
# ## Before and after
#
# Was a change worth it? A date splits the flows. The samples that a receiver or a send buffer held were made first, so
# here a minute splits them.

# %%
since = ask(str(results), datetime(2026, 11, 21, 0, 39, tzinfo=UTC)).since
table = since.limits.pivot_table(index="limit", columns="period", values="share", fill_value=0.0).round(2)
table

# %% [markdown]
# As a picture, in the colours of the report:

# %%
go.Figure(
    [
        go.Bar(name=limit, x=list(table.columns), y=shares, marker_color=STATE_COLOURS[limit])
        for limit, shares in zip(table.index, table.to_numpy(), strict=True)
    ],
    {"barmode": "stack", "template": "simple_white", "yaxis": {"tickformat": ".0%"}},
)
