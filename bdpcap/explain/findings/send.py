"""The send buffer: that it held the sender, and why it gives about two thirds of buffer / RTT."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bdpcap import units
from bdpcap.explain import sendbuf
from bdpcap.explain.buffers import RMEM_MAX
from bdpcap.explain.findings.finding import Code, Finding, frames
from bdpcap.explain.solver import Exactness

if TYPE_CHECKING:
    from bdpcap.analysis import Flow
    from bdpcap.explain.solver import Facts

__all__ = ["explains", "limits", "predicted"]


def limits(flow: Flow) -> list[Finding]:
    """Say which SO_SNDBUF would explain the bytes in flight, and which one the path needs."""
    held, flight = _plateau(flow)
    if flight is None:
        return []
    low, high = sendbuf.settings_for(flight)
    need = flow.summary["bdp_bytes"]
    remedy = "Raise SO_SNDBUF on the sender, or leave it unset so that net.ipv4.tcp_wmem[2] is the limit."
    commands: tuple[str, ...] = ()
    if pd.notna(need):
        least = sendbuf.least_setting(int(need))
        remedy += f" To keep {units.exact_bytes(need)} in flight, it takes {least:,}, however the application writes."
        commands = (
            *((f"sysctl -w net.core.wmem_max={least}",) if least > RMEM_MAX else ()),
            f"iperf -c HOST -w {least}   # SO_SNDBUF",
            f"sysctl -w net.ipv4.tcp_wmem='4096 16384 {2 * least}'   # or autotune",
        )
    return [
        Finding(
            code=Code.SEND_BUFFER,
            sentence=f"About {units.exact_bytes(flight)} at most were in flight, round after round, though the "
            f"window had room: SO_SNDBUF between {low:,} and {high:,}.",
            cause="SO_SNDBUF bounds memory, not payload: the kernel doubles it and counts each packet's buffer against "
            "it. It bounds what is written and not yet acknowledged. It does not bound a single large write, which "
            "may end above it, nor the congestion window.",
            remedy=remedy,
            commands=commands,
            evidence=f"sndbuf in {held.sum()} of {len(held)} rounds",
            frames=frames(flow, held),
            values={"flight_bytes": flight, "so_sndbuf_low": low, "so_sndbuf_high": high},
            source="sock_setsockopt(); sk_stream_memory_free(); shares measured on Linux 6.18",
        )
    ]


def predicted(setting: int, flight: int | None = None) -> Finding:
    """Say what a setting of SO_SNDBUF bounds, and whether what was in flight agrees."""
    made = sendbuf.SendBuffer.of(setting)
    agrees = flight is not None and flight <= made.flight_high
    seen = "" if flight is None else f" At most {flight:,} were: {'within it' if agrees else 'more'}."
    return Finding(
        code=Code.SEND_BUFFER_PREDICTED,
        sentence=f"SO_SNDBUF of {setting:,} makes {made.memory:,} bytes of memory: {made.flight_low:,} bytes in flight "
        f"at most where each write is one segment, up to {made.flight_high:,} with large writes.{seen}",
        cause="It bounds memory for what is written and not yet acknowledged, asked before each piece; it does not bound "
        "payload to the byte, nor one large write that ends above it.",
        values={"so_sndbuf_bytes": setting, "sk_sndbuf_bytes": made.memory, "flight_bytes": flight},
        exactness=Exactness.CONSISTENT if flight is None or agrees else Exactness.NONE,
        source="sock_setsockopt(); sk_stream_memory_free(); shares measured on Linux 6.18",
    )


def explains(flow: Flow, facts: Facts | None = None) -> list[Finding]:
    """Say why a send buffer gives less than its size every round trip, and what a known one bounds."""
    told = []
    if facts is not None and facts.sndbuf is not None:
        told.append(predicted(facts.sndbuf, int(flow.summary["in_flight_max_bytes"])))
    return [*told, *_share(flow)]


def _share(flow: Flow) -> list[Finding]:
    held, flight = _plateau(flow)
    rtt, reached = flow.summary["rtt_min_ns"], flow.summary["throughput_bps"]
    if flight is None or held.mean() < 0.1 or pd.isna(rtt) or pd.isna(reached) or rtt <= 0:
        return []
    moved = float(reached) * float(rtt) / 8e9
    part = moved / flight
    if part > 0.95:
        return []
    return [
        Finding(
            code=Code.SEND_BUFFER_SHARE,
            sentence=f"{units.exact_bytes(moved)} went per least round trip, {units.share(part)} of the most in flight: "
            f"buffer / RTT would be {units.rate(flight * 8e9 / float(rtt))}, {units.rate(reached)} were reached.",
            cause="A writer that found the buffer full is woken only when a third of it is free, so that it is never "
            "full for long; and bookkeeping takes a part of it. About two thirds of SNDBUF / RTT are what a send buffer "
            "gives: buffer / RTT is a bound, not a forecast.",
            remedy="Make the send buffer half as large again as the window that the path needs, or larger.",
            evidence="acknowledgments left unanswered, then a burst that refills the buffer",
            frames=frames(flow, held),
            values={"per_rtt_bytes": int(moved), "share": round(part, 3)},
            source="sk_stream_write_space(): sk_stream_wspace() >= sk_stream_min_wspace()",
        )
    ]


def _plateau(flow: Flow) -> tuple[np.ndarray, int | None]:
    held = (flow.rtts["limit"] == "sndbuf").to_numpy()
    if held.sum() < 3:
        return held, None
    return held, int(np.median(flow.rtts["in_flight_max_bytes"].to_numpy()[held]))
