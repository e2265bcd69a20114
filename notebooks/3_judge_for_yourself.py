# %% [markdown]
# # What limited each round trip: read the evidence, judge the verdict
#
# A sender may be held back by five things only: the receiver's window (`rwnd`), its own socket buffer (`sndbuf`),
# congestion control (`cwnd`), the bottleneck (`link`), or its program (`app`). bdpcap decides between them for every
# round trip. **This receiver read too slowly: its window closed again and again.** Do not believe it: this page shows
# what bdpcap looked at.

# %%
import pandas as pd
import plotly.io
from plotly.subplots import make_subplots

import bdpcap

SAMPLES = "../sample_captures/"
pd.options.display.max_colwidth = None
plotly.io.renderers.default = "plotly_mimetype"  # the data of a figure, without its scripts

capture = bdpcap.analyze(SAMPLES + "rwnd_slow_reader.receiver.pcap.zst")
flow = capture.flow(0)
bdpcap.plots.Still(flow.plot())

# %% [markdown]
# ## Can the capture be trusted?
#
# Look before you judge. A capture that lost packets shows losses that never happened.

# %%
info = capture.info
pd.Series(
    {
        "frames": info.frames,
        "dropped while capturing": info.capture_drops,
        "missing bytes": info.missed_bytes,
        "frames out of time order": info.time_backwards,
        "damage": capture.damages,
        "taken at": flow.summary["vantage"],
        "shown by": flow.vantage_evidence,
    },
    name="capture",
).to_frame()

# %% [markdown]
# `None` means *not known*, never zero. The capture was taken at the receiver, where hardly anything ever seems to be
# in flight; bdpcap tells what the sender saw.
#
# ## The rounds
#
# A *round* is one RTT of the flow. Rounds tile the flow's life. Each has a limit, often a detail, a confidence, the
# rule that decided, and its sentence with the numbers.

# %%
rounds = flow.rtts.assign(ms=(flow.rtts["end_ns"] - flow.rtts["start_ns"]) / 1e6)
rounds.groupby(["limit", "detail", "rule"], observed=True, dropna=False)["ms"].agg(["count", "sum"]).round(1)

# %%
longest = rounds.nlargest(3, "ms")[["round", "limit", "confidence", "evidence", "alternative"]]
longest.style.hide(axis="index").set_properties(**{"text-align": "left"})

# %% [markdown]
# ## Judge one of them yourself
#
# The longest round under `rwnd`: what were the windows, and how much was in flight? `events_between` reads these
# events alone, however large the capture is.

# %%
longest_round = rounds[rounds["limit"] == "rwnd"].nlargest(1, "ms").iloc[0]
start, end = (int(longest_round[name]) - info.first_ns for name in ("start_ns", "end_ns"))
events = flow.events_between(start / 1e9, end / 1e9)
acks = events[events["kind"] == "ack"]
print("windows advertised:", sorted(set(acks["window_bytes"].dropna().astype(int)))[:6])
print("most in flight:    ", events["in_flight_bytes"].max())
print("payload sent:      ", events["length"].sum())

# %% [markdown]
# ## A linked pair
#
# Every figure draws into one of yours, and stays plotly's to restyle. Windows and round trips over one time axis:
# zoom into one, and the other follows. (A live notebook shows the pair; on the web it may be missing.)

# %%
pair = make_subplots(rows=2, shared_xaxes=True, vertical_spacing=0.04)
flow.plot("window", start=1, end=2, figure=pair, row=1)
flow.plot("rtt", start=1, end=2, figure=pair, row=2)
pair.update_layout(template="simple_white", height=600, legend={"orientation": "h"})
pair.update_xaxes(title=None, row=1)

# %% [markdown]
# ## The rule that decided
#
# Each round names its rule; *How limits are inferred* has what must hold for it, what must not, why, and the source.
# The sentence has the numbers of this round.

# %%
print(longest_round["rule"])
print(longest_round["evidence"])

# %% [markdown]
# ## Five captures, five verdicts
#
# Say what limited each of these from its figure, *before* you look at the table below.

# %%
names = {
    "cwnd_loss_2pct.sender": "random loss of 2 %",
    "link_5_100ms_bloat.sender": "a link of 5 Mbit/s with a long queue",
    "sndbuf_24k_15ms.sender": "SO_SNDBUF of 24,000 bytes",
    "app_small_writes.sender": "600 bytes every 4 ms",
    "rwnd_zero_window.sender": "a reader that pauses",
}
flows = {name: bdpcap.analyze(f"{SAMPLES}{name}.pcap.zst").flow(0) for name in names}
bdpcap.plots.Still(flows["cwnd_loss_2pct.sender"].plot())

# %%
bdpcap.plots.Still(flows["link_5_100ms_bloat.sender"].plot("rtt"))

# %%
bdpcap.plots.Still(flows["sndbuf_24k_15ms.sender"].plot(start=1.0, end=1.2))

# %%
pd.DataFrame(
    [
        {
            "made by": made,
            "limit": flows[name].summary["limit"],
            "share": round(flows[name].summary[f"{flows[name].summary['limit']}_share"], 2),
            "confidence": flows[name].summary["confidence"],
        }
        for name, made in names.items()
    ],
    index=pd.Index(list(names), name="capture"),
)
