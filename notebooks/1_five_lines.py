# %% [markdown]
# # From a capture to a verdict in five lines
#
# A transfer ran for 5.7 seconds over a path of 25 Mbit/s and 40 ms, and reached half of that rate. What kept the
# sender from sending more? **The receive window did: the receiving program asked for a buffer of 50,000 bytes.** Grey
# shows the bytes in flight, blue the window of the receiver. Where grey touches blue, the window is full. The strip
# above has the colour of the limit of each round trip.

# %%
import bdpcap

capture = bdpcap.analyze("../sample_captures/linux61_advwinscale2_w50000.pcap.zst")
flow = capture.flow(0)
bdpcap.plots.Still(flow.plot())

# %% [markdown]
# The verdict in a sentence, the setting behind it, and what to do:

# %%
print(flow.verdict)
print(flow.why)
print(flow.remedy)

# %% [markdown]
# That is all: read, choose a flow, look, read the verdict, read the remedy. `capture.top()` chooses for you. The rest
# of this page is the same again, with what a notebook shows by itself.
#
# A capture shows its verdicts and a bar of what limited each flow. It is a sequence of its flows.

# %%
capture

# %%
[(each.sender, each.summary["limit"]) for each in capture]

# %% [markdown]
# `capture.flows` has a row for each flow, `capture.rtts` one for each round trip. Units end the names, missing
# numbers are null, and each column has its meaning with it.

# %%
capture.rtts[["round", "rtt_ns", "in_flight_max_bytes", "window_max_bytes", "limit", "detail"]].head(8)

# %%
capture.rtts.attrs["meanings"]["in_flight_max_bytes"]

# %% [markdown]
# A figure is a figure of plotly: in a live notebook `flow.plot("rtt")` can be zoomed, and restyled by
# `update_layout`. Here it is a still picture, so that it can be read on the web.

# %%
bdpcap.plots.Still(flow.plot("rtt"))
