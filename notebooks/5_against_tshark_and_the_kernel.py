# %% [markdown]
# # Is it right? Against tshark, and against the kernel's own labels
#
# Two oracles that nobody here wrote. Wireshark's tshark decodes the same packets; what it counts must be what bdpcap
# counts. And a sending kernel kept a diary. **Tshark counts the same in every frame, and the kernel's counters change
# no verdict.**

# %%
from pathlib import Path

import pandas as pd

import bdpcap

capture = bdpcap.analyze("../sample_captures/sndbuf_24k_15ms.sender.pcap.zst")
flow = capture.flow(0)
bdpcap.plots.Still(flow.plot(start=1.0, end=1.3))

# %% [markdown]
# ## Against tshark
#
# What tshark says of the samples is kept in `tests/data/`, one line a TCP frame, so that this page runs where tshark
# is missing. The command that wrote it is in `tests/oracles.py`.

# %%
tshark = pd.read_csv(
    "../tests/data/sndbuf_24k_15ms.sender.pcap.zst.csv.zst",
    sep="\t",
    usecols=[0, 5, 8, 9],
    names=["frame", "length", "window", "in_flight"],
    index_col="frame",
)
tshark.loc[1000:1003]

# %% [markdown]
# Three questions: the same bytes of payload, the same windows, the same in flight?
#
# Tshark counts a segment as in flight when it has passed the capture; so does bdpcap, and has besides what was in flight
# *before* each acknowledgment. Its counting begins after the handshake.

# %%
events = flow.events.drop_duplicates("frame").set_index("frame").join(tshark.add_suffix("_tshark"))
sent, acks = events[events["length"].notna()], events[events["kind"] == "ack"]
pd.Series(
    {
        "payload, each byte as often as sent": (sent["length"] == sent["length_tshark"]).mean(),
        "window of acknowledgments": (acks["window_bytes"] == acks["window_tshark"]).mean(),
        "in flight after each segment": (sent["in_flight_bytes"] == sent["in_flight_tshark"]).mean(),
    },
    name="share of equal frames",
).to_frame()

# %% [markdown]
# ## Against the kernel
#
# `tests/data/host/` has a transfer whose sender read its own `TCP_INFO` all the time. With that log bdpcap lets the
# kernel decide where it can. How many rounds get another limit than from the packets alone?

# %%
FOLDER = Path("../tests/data/host")
counters = bdpcap.host.read(tcp_info_logs=[FOLDER / "tcp_info.jsonl"])
alone = bdpcap.analyze(FOLDER / "sender.pcap.zst")
aided = bdpcap.analyze(FOLDER / "sender.pcap.zst", host=counters)
changed = (alone.rtts["limit"] != aided.rtts["limit"]).sum()
print(f"{len(counters.samples)} samples; {changed} of {len(alone.rtts)} rounds differ")
print(aided[0].verdict)

# %% [markdown]
# One transfer proves little. `docs/accuracy.md` has the measured agreement over all labelled transfers, with its
# spread, by limit, by place of the capture and by kernel.
