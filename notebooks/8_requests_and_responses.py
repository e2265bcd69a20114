# %% [markdown]
# # Requests and responses: who made the user wait?
#
# A client asked a server forty times over one connection. No limit of TCP held these flows: each end waited for the
# other's program. **The server took more than half of the time, the network a third.**

# %%
import bdpcap

capture = bdpcap.analyze("../tests/data/exchanges/client.pcap.zst")
flow = capture.flow("192.168.1.34:8080")  # the one that answers
bdpcap.plots.Still(flow.plot("sequence"))

# %%
print(flow.findings.of("request-response").sentence)

# %% [markdown]
# ## One row an exchange
#
# `flow.exchanges` splits the time of each request between server, network and client. Times are in ns.

# %%
took = flow.exchanges[
    ["request_bytes", "response_bytes", "duration_ns", "server_ns", "network_ns", "client_ns"]
]
took.head()

# %%
flow.exchanges.attrs["meanings"]["server_ns"]

# %% [markdown]
# ## Where the time went

# %%
spent = took[["server_ns", "network_ns", "client_ns"]].sum()
(spent / spent.sum()).round(2)

# %% [markdown]
# The slowest ones, in ms: was it the server, or the network?

# %%
(took.nlargest(5, "duration_ns")[["server_ns", "network_ns", "client_ns"]] / 1e6).round(1)

# %% [markdown]
# ## How the server's times spread
#
# The median answer takes the server 18.7 ms; a few take it 150 ms or more, and these make its share.

# %%
(took["server_ns"] / 1e6).describe()[["min", "50%", "75%", "max"]].round(1)
