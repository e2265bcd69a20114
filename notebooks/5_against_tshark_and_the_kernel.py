# %% [markdown]
# # Is it right? Against tshark, and against the kernel's own labels
#
# Two oracles that nobody here wrote. Wireshark's tshark decodes the same packets; what it counts must be what bdpcap
# counts. And a transfer of which the sending kernel kept a diary says what limited it, every half millisecond.

# %%
import io
from pathlib import Path

import numpy as np
import pandas as pd
import zstandard
from IPython.display import SVG

import bdpcap
from bdpcap.plots.svg import svg

SAMPLE = Path("../sample_captures/sndbuf_24k_15ms.sender.pcap.zst")
capture = bdpcap.analyze(SAMPLE)
flow = capture.flow(0)
SVG(svg(flow.plot("window", start=1.0, end=1.3), "what was in flight, as the sender saw it"))

# %% [markdown]
# ## Against tshark
#
# What tshark says of the samples is kept in `tests/data/`, one line a TCP frame, so that this page runs where tshark is
# missing. The command that wrote it is in `tests/oracles.py`.

# %%
FIELDS = [
    "frame",
    "stream",
    "source",
    "sequence",
    "acknowledgment",
    "length",
    "flags",
    "scale",
    "window",
    "in_flight",
    "initial_rtt",
    "sack_left",
    "sack_right",
    "protocols",
    "more_fragments",
    "gre",
]
kept = zstandard.decompress(Path(f"../tests/data/{SAMPLE.name}.csv.zst").read_bytes()).decode()
tshark = pd.read_csv(io.StringIO(kept), sep="\t", names=FIELDS, index_col="frame")
tshark.loc[1000:1003, ["stream", "sequence", "length", "window", "in_flight"]]

# %% [markdown]
# Three questions: the same bytes of payload, the same windows, the same in flight?
#
# Tshark counts a segment as in flight when it has passed the tap; so does bdpcap, and says besides what was in flight
# *before* each acknowledgment. Its counting begins after the handshake.

# %%
events = flow.events
sent = events[events["length"].notna()].drop_duplicates("frame").set_index("frame")
both = sent.join(tshark.add_suffix("_tshark"))
acks = (
    events[events["kind"].eq("ack")]
    .drop_duplicates("frame")
    .set_index("frame")
    .join(tshark.add_suffix("_tshark"))
)
pd.Series(
    {
        "payload, each byte as often as sent": (both["length"] == both["length_tshark"]).mean(),
        "window of acknowledgments": (acks["window_bytes"] == acks["window_tshark"]).mean(),
        "in flight after each segment": (both["in_flight_bytes"] == both["in_flight_tshark"]).mean(),
    },
    name="share of equal frames",
).to_frame()

# %% [markdown]
# ## Against the kernel
#
# `tests/data/labelled/` has a few transfers whose sender read its own `TCP_INFO` every half millisecond. `truth.csv` has
# a row for about each round-trip time: which part of it each limit took, by the kernel (and, for `link`, by the
# bottleneck's own log). A bin is graded where one of them held at least 70 % of it.

# %%
FOLDERS = [path.parent for path in sorted(Path("../tests/data/labelled").rglob("meta.json"))]
SHOWN = [folder for folder in FOLDERS if (folder / "truth.csv").exists()][:12]
print(f"{len(SHOWN)} of {len(FOLDERS)} transfers")
pd.read_csv(SHOWN[0] / "truth.csv").head(4)

# %% [markdown]
# For each graded bin, what does bdpcap say for most of it? The capture at the receiver is harder than that at the
# sender: there, the acknowledgments leave before the sender knows them.

# %%
LIMITS = ("rwnd", "cwnd", "sndbuf", "link", "app")


def graded(folder, view):
    """Return label, answer and length of every decisive bin of a transfer."""
    bins = pd.read_csv(folder / "truth.csv")
    held = bins[["rwnd", "cwnd", "sndbuf", "app"]].max(axis=1) >= 0.7
    bins = bins[(bins["truth"] == "link") | (bins["truth"].isin(LIMITS) & held)]
    rounds = bdpcap.analyze(next(folder.glob(f"{view}.pcap*"))).flow(0).rtts
    start, end = rounds["start_ns"].to_numpy(), rounds["end_ns"].to_numpy()
    rows = []
    for t0, t1, truth in bins[["t0", "t1", "truth"]].itertuples(index=False):
        shared = np.clip(np.minimum(end, t1) - np.maximum(start, t0), 0, None)
        if shared.sum() > (t1 - t0) / 2:
            answer = pd.Series(shared).groupby(rounds["limit"].astype(str)).sum().idxmax()
            rows.append((folder.name, view, truth, answer, t1 - t0))
    return rows


rows = [row for folder in SHOWN for view in ("sender", "receiver") for row in graded(folder, view)]
table = pd.DataFrame(rows, columns=["transfer", "taken at", "kernel", "bdpcap", "ns"])
table["right"] = table["ns"].where(table["kernel"] == table["bdpcap"], 0)
shares = table.groupby(["transfer", "taken at"])[["right", "ns"]].sum()
(shares["right"] / shares["ns"]).unstack().round(3)

# %% [markdown]
# And where they differ: time by the kernel's label (rows) and bdpcap's answer (columns), of both places together, in
# seconds.

# %%
(table.pivot_table(values="ns", index="kernel", columns="bdpcap", aggfunc="sum", fill_value=0) / 1e9).round(2)

# %% [markdown]
# A dozen transfers prove little. `docs/accuracy.md` has the measured agreement over all labelled transfers, with
# its spread, by limit, by place of the capture and by kernel.
