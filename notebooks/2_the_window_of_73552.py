# %% [markdown]
# # Why 73,552 bytes? Theory and measurement
#
# iperf was started with `-w 50000`, and the window that the receiver advertised never exceeded 73,552 bytes. **Linux
# doubles the 50,000, offers three quarters of it, and keeps one segment back.**

# %%
import pandas as pd

import bdpcap

capture = bdpcap.analyze("../sample_captures/linux61_advwinscale2_w50000.pcap.zst")
flow = capture.flow(0)
bdpcap.plots.Still(flow.plot(end=1.0))

# %% [markdown]
# ## The window from the buffer
#
# Linux doubles what a program asks for by `SO_RCVBUF`, since packets take memory beyond their payload. Of these
# 100,000 bytes it offers a share, three quarters where `tcp_adv_win_scale` is 2, and keeps one segment back:
#
# $$2 \times 50{,}000 \times \tfrac{3}{4} - 1{,}448 = 73{,}552$$

# %%
print("by hand ", 2 * 50_000 * 3 // 4 - 1_448)
print("captured", flow.summary["window_max_bytes"])

# %% [markdown]
# ## Backward: which settings give this window?
#
# More than one does, and the capture alone cannot tell them apart. `flow.why` names them:

# %%
print(*flow.why.sentences, sep="\n")

# %% [markdown]
# What is known of the host can tell: this receiver ran Linux 6.1 with `tcp_adv_win_scale=2`.

# %%
for finding in flow.explain(rcvbuf=50_000, kernel="6.1", adv_win_scale=2)[:3]:
    print(f"[{finding.code}] {finding.sentence}")

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
# ## Theory and 225 measured windows
#
# `tests/data/linux618_windows.csv` has windows of Linux 6.18, measured for requests from 1,448 bytes on, on four
# kinds of link. There the share is not fixed: it is the payload's part of the memory that packets take. A share of
# one half is the least; the table shows how much more is advertised, and that it depends on the device.

# %%
measured = pd.read_csv("../tests/data/linux618_windows.csv", comment="#")
measured["share"] = (measured["window"] + measured["mss"]) / (2 * measured["so_rcvbuf"])
full = measured[measured["mtu"] == 1500]
full.groupby("link")["share"].describe()[["count", "min", "50%", "max"]].round(3)
