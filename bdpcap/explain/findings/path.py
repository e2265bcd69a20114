"""The path, congestion control and the application; and what it would take to fill the path."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from bdpcap import units
from bdpcap.explain import ceilings
from bdpcap.explain.findings.finding import Code, Finding, frames
from bdpcap.explain.findings.handshake import SCALE_FIRST, SCALING_ON
from bdpcap.explain.findings.receive import slow_part
from bdpcap.explain.findings.setting import solved
from bdpcap.explain.sharing import sharing
from bdpcap.explain.solver import Exactness, Observed, solve, surviving_eras

if TYPE_CHECKING:
    from bdpcap.analysis import Flow
    from bdpcap.explain.buffers import Era
    from bdpcap.explain.solver import Facts

__all__ = ["application", "asked", "congestion", "link", "shared", "takes"]


def link(flow: Flow) -> list[Finding]:
    """Say that the bottleneck was busy, and what it carried meanwhile: less than it can, where it stalls or varies."""
    floor, median = flow.summary["rtt_min_ns"], flow.summary["rtt_median_ns"]
    capacity = flow.summary["capacity_bps"]
    busy = flow.rtts[flow.rtts["limit"] == "link"]
    if busy.empty:
        return []
    lasting, carried = busy["end_ns"] - busy["start_ns"], busy["acked_bytes"]
    rate = float(carried.sum()) * 8e9 / max(1, int(lasting.sum()))
    others = (busy["detail"] == "others' queue").mean() > 1 / 2
    typical = busy.loc[(carried / lasting.clip(lower=1)).sort_values().index[len(busy) // 2]]
    return [
        Finding(
            code=Code.LINK_FULL,
            sentence=f"The bottleneck was busy and carried {units.data_size(carried.sum())} in "
            f"{units.duration(lasting.sum())}, {units.rate(rate)}; the path can carry about {units.rate(capacity)}. "
            f"Round trips took {units.duration(median)}, {units.duration(floor)} at best.",
            cause="The path was busy before this flow came: others keep a queue in front of the bottleneck."
            if others
            else "The sender keeps a queue in front of the bottleneck at all times.",
            remedy="Find who shares the bottleneck; more throughput needs a fairer share or a faster link."
            if others
            else "Larger windows or buffers only lengthen the queue; more throughput needs a faster link.",
            values={"carried_bps": rate, "capacity_bps": _number(capacity)},
            evidence=f"{_rounds(flow, 'link')}. In the median one, {typical['round']}: {typical['evidence'].rstrip('.')}",
            frames=_frames(flow, "link"),
            source="rate and RTT of the rounds: docs/how-limits-are-inferred.md",
        )
    ]


def congestion(flow: Flow) -> list[Finding]:
    """Say what congestion control waited for: repair after loss, or growth."""
    again, payload = flow.summary["retransmitted_bytes"], flow.summary["payload_bytes"]
    details = flow.rtts.loc[flow.rtts["limit"] == "cwnd", "detail"]
    commands: tuple[str, ...]
    if (details == "fixed window").mean() > 1 / 2:
        sentence = "The congestion window stayed the same for most of the flow: something clamps it."
        remedy = "Look for a clamp on the sender: the cwnd of its route."
        commands = ("ip route show   # on the sender: cwnd lock",)
    elif again:
        part = units.share(again / max(1, payload))
        sentence = f"The sender repeated {units.exact_bytes(again)} of {units.exact_bytes(payload)} ({part})."
        remedy = (
            "Find where packets are lost. Then see which congestion control the sender has: over long paths CUBIC, "
            "Linux's default, recovers faster than Reno; losses that are no congestion slow both down, BBR hardly."
        )
        commands = (
            "sysctl net.ipv4.tcp_congestion_control   # on the sender",
            "sysctl -w net.ipv4.tcp_congestion_control=cubic   # if it was reno",
            "modprobe tcp_bbr; sysctl -w net.ipv4.tcp_congestion_control=bbr   # if losses are stray",
        )
    else:
        growing = int((details == "slow start").sum())
        sentence = f"Nothing was lost; the congestion window was in slow start for {growing} of {len(flow.rtts)} rounds."
        remedy, commands = (
            "Longer transfers leave slow start behind; check pacing and route metrics on the sender.",
            (),
        )
    return [
        Finding(
            code=Code.CONGESTION_WINDOW,
            sentence=sentence,
            cause="Congestion control allowed less in flight than the path and the receiver could have taken.",
            remedy=remedy,
            commands=commands,
            values={"retransmitted_bytes": int(again), "payload_bytes": int(payload)},
            evidence=_rounds(flow, "cwnd"),
            frames=_frames(flow, "cwnd"),
            source="RFC 5681; RFC 9438 (CUBIC)",
        )
    ]


def application(flow: Flow) -> list[Finding]:
    """Say that TCP was not given more to send."""
    return [
        Finding(
            code=Code.SENDER_IDLE,
            sentence="The sending application had nothing to send for "
            f"{units.share(flow.summary['app_share'])} of the time.",
            cause="TCP was ready to send more than it was given.",
            remedy="Look at the sending application: its reads, its requests, its pauses between writes.",
            values={"app_share": float(flow.summary["app_share"])},
            evidence=_rounds(flow, "app"),
            frames=_frames(flow, "app"),
            source="gaps that no acknowledgment ended: docs/how-limits-are-inferred.md",
        )
    ]


def takes(
    flow: Flow, facts: Facts | None, *, rate_bps: float | None = None, rtt_ns: int | None = None
) -> list[Finding]:
    """Say what it would take to fill the link; where it is full, that a queue stands."""
    asked = rate_bps is not None or rtt_ns is not None
    limit = str(flow.summary["limit"])
    eras = surviving_eras(solved(flow, facts), facts)
    # A slow reader's wait is neither a lack of window nor a queue.
    if limit == "rwnd" and slow_part(flow) > 0.2 and not asked:
        return []
    ceiling = ceilings.of(flow.summary, rate_bps=rate_bps, rtt_ns=rtt_ns, eras=eras)
    told = []
    if ceiling is not None and (asked or limit in ("rwnd", "sndbuf", "cwnd", "link")):
        if asked or limit in ("rwnd", "sndbuf"):
            told.append(_takes(ceiling, {era.key: era for era in eras}, receiving=asked or limit == "rwnd"))
        if ceiling.queue:
            told.append(
                Finding(
                    code=Code.QUEUE_STANDING,
                    sentence=ceiling.queue,
                    cause="More is in flight than the path holds; the rest waits in a router's buffer.",
                    remedy="Do not raise the window. Shorten the queue at the bottleneck: fq_codel or CAKE.",
                    commands=("tc qdisc replace dev eth0 root fq_codel   # at the bottleneck",),
                    evidence=f"median of {len(flow.rtts)} rounds against the least RTT",
                    values={
                        "rtt_min_ns": int(flow.summary["rtt_min_ns"]),
                        "rtt_median_ns": int(flow.summary["rtt_median_ns"]),
                    },
                    source="RFC 7567 section 2; RFC 8290",
                )
            )
    return told


def asked(
    rate_bps: float, rtt_ns: int, facts: Facts | None = None, *, mss: int, window: int | None = None
) -> list[Finding]:
    """Say what it would take to fill a path that no capture shows."""
    eras = surviving_eras(None if window is None else solve(Observed(window, mss), facts), facts)
    ceiling = ceilings.asked(rate_bps, rtt_ns, mss=mss, window=window, eras=eras)
    return [_takes(ceiling, {era.key: era for era in eras}, receiving=True)]


def shared(flow: Flow, *, rate_bps: float | None = None) -> list[Finding]:
    """Say what UDP took of the same way meanwhile, where that is a tenth of it or more."""
    beside = sharing(flow.summary, flow.capture.datagrams, rate_bps)
    if beside is None or beside.udp_share < 0.1:
        return []
    of_link = "" if beside.link_share is None else f", {units.share(beside.link_share)} of the link"
    lost = "" if beside.lost is None else f" {beside.lost:,} of its datagrams were lost."
    return [
        Finding(
            code=Code.UDP_BESIDE,
            sentence=f"UDP went the same way at {units.rate(beside.udp_bps)}{of_link}; this flow had "
            f"{units.rate(beside.tcp_bps)}.{lost}",
            cause="UDP does not give way when packets are lost, TCP does.",
            remedy="Limit the sender of the datagrams, or give each a share of the bottleneck: fq_codel or CAKE.",
            commands=("tc qdisc replace dev eth0 root fq_codel   # at the bottleneck",),
            evidence=f"{beside.streams} UDP {'flow' if beside.streams == 1 else 'flows'} between the same hosts",
            values={"udp_bps": beside.udp_bps, "tcp_bps": beside.tcp_bps, "link_share": beside.link_share},
            source="RFC 8085 section 3.1",
        )
    ]


def _takes(ceiling: ceilings.Ceiling, eras: dict[str, Era], *, receiving: bool) -> Finding:
    least = "" if ceiling.rate_given else "at least "
    reach = ""
    if ceiling.ceiling_bps is not None and ceiling.window is not None:
        full = ceiling.ceiling_bps / ceiling.rate_bps
        reach = (
            f" The window of {units.exact_bytes(ceiling.window)} allows {units.rate(ceiling.ceiling_bps)}, "
        )
        reach += "enough for it." if full >= 1 else f"{units.share(full)} of it."
        if ceiling.measured_bps is not None:
            reach += f" Measured: {units.rate(ceiling.measured_bps)}."
    suffices = ceiling.window is not None and ceiling.window >= ceiling.bdp_bytes
    buffers = "; ".join(f"{eras[key].name}: {value:,}" for key, value in ceiling.rcvbuf.items())
    receiver = (
        "The receive buffer is large enough." if suffices else f"Least SO_RCVBUF for that window: {buffers}."
    )
    # The largest that any of the kernels needs suits them all.
    largest = max(ceiling.rcvbuf, key=lambda key: ceiling.rcvbuf[key])
    return Finding(
        code=Code.WHAT_IT_TAKES,
        sentence=f"To fill {least}{units.rate(ceiling.rate_bps)} over {units.duration(ceiling.rtt_ns)} takes a window of "
        f"{units.exact_bytes(ceiling.bdp_bytes)} (the BDP).{reach}",
        cause=f"Then limits: {ceiling.then}.",
        remedy=(f"{SCALE_FIRST} " if ceiling.unscaled else "")
        + f"{receiver} Least SO_SNDBUF on a Linux sender: {ceiling.sndbuf:,}.",
        commands=((SCALING_ON,) if ceiling.unscaled else ())
        + (ceilings.commands(eras[largest], ceiling.rcvbuf[largest]) if receiving and not suffices else ()),
        evidence=f"rate {'given' if ceiling.rate_given else 'as the capture shows it'}, "
        f"{'RTT given' if ceiling.rtt_given else 'least RTT'}",
        values={
            "rate_bps": ceiling.rate_bps,
            "rtt_ns": ceiling.rtt_ns,
            "bdp_bytes": ceiling.bdp_bytes,
            "ceiling_bps": ceiling.ceiling_bps,
            "so_rcvbuf_bytes": ceiling.rcvbuf,
            "so_sndbuf_bytes": ceiling.sndbuf,
        },
        exactness=Exactness.EXACT if ceiling.rate_given else Exactness.CONSISTENT,
        source="RFC 7323 section 1.1; tcp_win_from_space() by era",
    )


def _rounds(flow: Flow, limit: str) -> str:
    return f"{limit} in {int((flow.rtts['limit'] == limit).sum())} of {len(flow.rtts)} rounds"


def _frames(flow: Flow, limit: str) -> tuple[int, int] | None:
    return frames(flow, (flow.rtts["limit"] == limit).to_numpy())


def _number(value: float) -> float | None:
    return None if pd.isna(value) else float(value)
