# %% [markdown]
# # A Windows receiver
#
# A Linux host sends to a Windows server 60 ms away, over 100 Mbit/s, and reaches 8. **The server's window stays at
# 65,536 bytes, since its program has set SO_RCVBUF; Windows then no longer grows the window.** The packets were
# written by hand after what Windows is known to send (`tests/windows_receiver.py`), since no recording of Windows is
# free to be kept here.

# %%
import bdpcap

capture = bdpcap.analyze("../tests/data/windows_receiver.pcap.zst")
flow = capture.top()[0]
bdpcap.plots.Still(flow.plot())

# %%
print(flow.verdict)

# %% [markdown]
# ## Which system receives?
#
# The order and padding of options in its SYN-ACK show it, with the TTL. Timestamps are missing, which Windows
# declines.

# %%
sender, receiver = flow.systems
print(receiver)
print(flow.vantage_evidence)

# %% [markdown]
# ## What to do, in Windows' words
#
# Window scale 8 is that of Receive Window Auto-Tuning at its level `normal`, so no `netsh` command helps: the program
# decides. Windows' autotuning starts with 65,536 bytes, too, but a window that it grows does not stand for seconds.

# %%
print(flow.remedy)
print("expected:", flow.remedy.expected)

# %% [markdown]
# ## How much window would it take?
#
# At least the product of rate and round trip:

# %%
print(f"{bdpcap.bdp('100Mbit/s', '60ms'):,.0f} bytes for 100 Mbit/s")
print(flow.explain(link_rate="1Gbit/s", rtt="60ms").of("what-it-takes").sentence)
