# %% [markdown]
# # Why 73,552 bytes? Theory beside measurement
#
# iperf was started with `-w 50000`, and the window that the receiver advertised never exceeded 73,552 bytes. This page
# derives the number, and then sets theory beside 225 measured windows.

# %%
from io import StringIO
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go
from IPython.display import SVG

import bdpcap
from bdpcap.explain.buffers import Knob, Setting
from bdpcap.explain.eras import ERAS
from bdpcap.explain.solver import Observed, solve
from bdpcap.plots.svg import svg

capture = bdpcap.analyze("../sample_captures/linux61_advwinscale2_w50000.pcap.zst")
flow = capture.flow(0)
SVG(svg(flow.plot("window", end=1.0), "the first second: the window grows to 73,552 bytes and stays there"))

# %% [markdown]
# ## The window from the buffer
#
# Linux doubles what a program asks for by `SO_RCVBUF`, since packets take memory beyond their payload. Of these 100,000
# bytes it offers a share, three quarters where `tcp_adv_win_scale` is 2, and keeps one segment back:
#
# $$2 \times 50{,}000 \times \tfrac{3}{4} - 1{,}448 = 73{,}552$$

# %%
print("by hand ", 2 * 50_000 * 3 // 4 - 1_448)
print("captured", flow.summary["window_max_bytes"])

# %% [markdown]
# ## Backward: which settings give this window?
#
# More than one does, and the capture alone cannot tell them apart. What is known of the host can: this receiver ran
# Linux 6.1 with `tcp_adv_win_scale=2`.

# %%
solution = solve(Observed(73_552, mss=1_448, scale=1))
pd.DataFrame(
    [
        {"setting": answer.setting.value, "stack": answer.setting.era.name, "fits": str(answer.exactness)}
        for answer in solution.best
    ]
)

# %%
for finding in flow.explain(rcvbuf=50_000, kernel="6.1", adv_win_scale=2)[:3]:
    print(f"[{finding.code}] {finding.sentence}")

# %% [markdown]
# ## The table of `-w`
#
# What each stack makes of the same request, for segments of 1,448 bytes. Linux since 6.10.4 measures its share from the
# packets that arrive; here the handshake's share of one half stands for it.

# %%
requests = [8_192, 16_384, 32_768, 50_000, 65_536, 100_000]
pd.DataFrame(
    {
        era.name: [Setting(era, Knob.OPTION, request).advertises(1_448).window for request in requests]
        for era in ERAS
        if not era.is_measured
    },
    index=pd.Index(requests, name="-w"),
).T

# %% [markdown]
# ## What such a window allows
#
# A sender can have no more than a window in flight, and an acknowledgment takes a round trip. So the rate is at most
# window / RTT, whatever the link. The path of this transfer carries 25 Mbit/s.

# %%
rtt_s = flow.summary["rtt_min_ns"] / 1e9
table = pd.DataFrame({"-w": [25_000, 50_000, 75_000, 100_000, 150_000]})
table["window"] = 2 * table["-w"] * 3 // 4 - 1_448
table["window / RTT, Mbit/s"] = (table["window"] * 8 / rtt_s / 1e6).round(1)
table["expected, Mbit/s"] = table["window / RTT, Mbit/s"].clip(upper=25.0)
table["measured, Mbit/s"] = table["-w"].map({50_000: round(flow.summary["throughput_bps"] / 1e6, 1)})
table

# %% [markdown]
# The measured rate lies below the expected one, because the *average* round trip is longer than the least one:

# %%
median_s = flow.summary["rtt_median_ns"] / 1e9
print(f"window / least RTT   {73_552 * 8 / rtt_s / 1e6:.1f} Mbit/s")
print(f"window / median RTT  {73_552 * 8 / median_s / 1e6:.1f} Mbit/s")
print(f"measured             {flow.summary['throughput_bps'] / 1e6:.1f} Mbit/s")
print(f"needed for 25 Mbit/s {bdpcap.bdp('25Mbit/s', rtt_s):,.0f} bytes of window")

# %% [markdown]
# ## Theory beside 225 measured windows
#
# `tests/data/linux618_windows.csv` has windows of Linux 6.18, measured for requests from 1,448 bytes on, on four kinds
# of link. There the share is not fixed: it is the payload's part of the memory that packets take. The line is what a
# share of one half would give; the points show how much more is advertised, and that it depends on the device.

# %%
lines = Path("../tests/data/linux618_windows.csv").read_text(encoding="utf-8").splitlines()
measured = pd.read_csv(StringIO("\n".join(line for line in lines if not line.startswith("#"))))
measured["share"] = (measured["window"] + measured["mss"]) / (2 * measured["so_rcvbuf"])
full = measured[measured["mtu"] == 1500]
full.groupby("link")["share"].describe()[["count", "min", "50%", "max"]].round(3)

# %%
figure = go.Figure()
for link, rows in full.groupby("link"):
    figure.add_scatter(x=rows["so_rcvbuf"], y=rows["window"], mode="markers", name=link)
ends = full["so_rcvbuf"].min(), full["so_rcvbuf"].max()
figure.add_scatter(x=ends, y=[each - 1_448 for each in ends], mode="lines", name="2 x SO_RCVBUF / 2 - MSS")
figure.update_layout(
    template="simple_white", xaxis={"type": "log", "title": "SO_RCVBUF asked for"}, yaxis={"type": "log"}
)
print(f"{len(figure.data)} traces: show `figure` in a live notebook")
