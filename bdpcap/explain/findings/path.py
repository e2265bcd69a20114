"""Findings on the path, on congestion control, and on the window that would fill the path."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import pandas as pd

from bdpcap.explain import ceilings, remedies
from bdpcap.explain.bdp import MSS_BYTES
from bdpcap.explain.buffers import Knob
from bdpcap.explain.capacity import Basis, basis, delivered_bps, known_bps, sent_a_window, spoken, word
from bdpcap.explain.findings import send
from bdpcap.explain.findings.finding import Code, Finding, frames
from bdpcap.explain.findings.plateau import solved
from bdpcap.explain.findings.receive import slow_part
from bdpcap.explain.headers import full_packet, packet
from bdpcap.explain.sharing import sharing
from bdpcap.explain.solver import Exactness, Observed, solve, surviving_eras
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bdpcap.capture import Flow
    from bdpcap.explain.eras import Era
    from bdpcap.explain.solver import Facts

__all__ = ["asked", "congestion", "link", "shared", "takes"]


def link(flow: Flow) -> list[Finding]:
    """Return a finding on a busy bottleneck and the rate that it carried: below its capacity if it stalls or varies."""
    rtt_min, median = flow.summary["rtt_min_ns"], flow.summary["rtt_median_ns"]
    capacity = flow.summary["capacity_bps"]
    busy = flow.rtts[flow.rtts["limit"] == "link"]
    if busy.empty:
        return []
    lasting, carried = busy["end_ns"] - busy["start_ns"], busy["acked_bytes"]
    rate = delivered_bps(busy)
    others = (busy["detail"] == "others' queue").mean() > 1 / 2
    # Without acknowledged bytes the rate is unknown.
    did = f" and carried {units.data_size(carried.sum())} in" if carried.any() else " for"
    reached = f", {units.rate(rate)}" if carried.any() else ""
    trips = (
        f" Round trips took {units.duration(median)}, {units.duration(rtt_min)} at best."
        if pd.notna(median)
        else ""
    )
    known = known_bps(flow.summary)
    carries = f"; the path can carry {spoken(flow.summary)}" if known is not None and known >= rate else ""
    typical = busy.loc[(carried / lasting.clip(lower=1)).sort_values(kind="stable").index[len(busy) // 2]]
    return [
        Finding(
            code=Code.LINK_FULL,
            sentence=f"The bottleneck was busy{did} {units.duration(lasting.sum())}{reached}"
            f"{carries}.{trips}",
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


_PHASES: Final = {
    "slow start": (
        "slow start",
        "Send more over one connection: longer transfers leave slow start behind.",
        (),
    ),
    "pacing": (
        "pacing",
        "Look for pacing on the sender: fq's maxrate, a program's rate limit (iperf3 -b, --fq-rate), or BBR.",
        (
            "tc qdisc show   # sender: fq maxrate",
            "sysctl net.ipv4.tcp_congestion_control   # sender: bbr paces",
        ),
    ),
    "fixed window": (
        "a congestion window that stayed the same",
        "Look for a clamp on the sender: the cwnd of its route.",
        ("ip route show   # sender: cwnd lock",),
    ),
    "avoidance": (
        "congestion avoidance, in which the window grows slowly",
        "See which congestion control the sender has: over long paths CUBIC and BBR grow faster than Reno.",
        ("sysctl net.ipv4.tcp_congestion_control   # sender: the one in force",),
    ),
    "outage": (
        "an outage",
        "Find out why nothing came back: the path or its far end was gone.",
        (),
    ),
    "return path": (
        "a queue on the way back",
        "Look for the queue that acknowledgments wait in: an upload or a slow uplink fills it.",
        (),
    ),
    "recovery": (
        "recovery",
        "Find where packets are lost or delayed.",
        (),
    ),
}
"""Phase of congestion control by detail: its name, advice, and the commands that carry it out."""


def _share(flow: Flow, detail: str) -> float:
    """Return the share of the time under congestion control that had this detail."""
    held = flow.rtts[flow.rtts["limit"] == "cwnd"]
    length = held["end_ns"] - held["start_ns"]
    return float(length[held["detail"] == detail].sum() / max(1, length.sum()))


def congestion(flow: Flow) -> list[Finding]:
    """Return a finding on the phase of congestion control: loss repair, growth, pacing, or a clamp."""
    retransmitted, payload = flow.summary["retransmitted_bytes"], flow.summary["payload_bytes"]
    details = flow.rtts.loc[flow.rtts["limit"] == "cwnd", "detail"]
    rounds = details.value_counts()
    most = str(rounds.index[0]) if len(rounds) else "avoidance"
    commands: tuple[str, ...]
    if most == "fixed window" and rounds.iloc[0] > len(details) / 2:
        sentence = (
            f"The congestion window stayed the same in {rounds.iloc[0]} of {len(flow.rtts)} rounds: something "
            "clamps it."
        )
        remedy, commands = _PHASES[most][1:]
    elif _share(flow, "outage") > 1 / 2:
        stall_ns = flow.summary["longest_stall_ns"]
        sentence = (
            "The capture holds no acknowledgment, and the sender retransmitted again and again."
            if pd.isna(stall_ns)
            else f"No acknowledgment of new data came for {units.duration(stall_ns)}."
        )
        remedy, commands = _PHASES["outage"][1:]
    elif _share(flow, "return path") > 1 / 2:
        sentence = (
            f"Acknowledgments waited in a queue on the way back in {rounds['return path']} of "
            f"{len(flow.rtts)} rounds."
        )
        remedy, commands = _PHASES["return path"][1:]
    elif retransmitted:
        part = units.share(retransmitted / max(1, payload))
        sentence = (
            f"The sender retransmitted {units.exact_bytes(retransmitted)} of "
            f"{units.exact_bytes(payload)} ({part})."
        )
        advice = remedies.on_losses(remedies.losses(flow), remedies.of(flow, "sender"))
        remedy, commands = advice.words, advice.commands
    else:
        said = ", ".join(f"{_PHASES.get(str(name), (name,))[0]} in {count}" for name, count in rounds.items())
        sentence = (
            f"Nothing was lost. Of {len(flow.rtts)} rounds congestion control limited {len(details)}: {said}."
        )
        remedy, commands = _PHASES.get(most, _PHASES["avoidance"])[1:]
    return [
        Finding(
            code=Code.CONGESTION_WINDOW,
            sentence=sentence,
            cause="Congestion control allowed less in flight than the path and the receiver could have taken.",
            remedy=remedy,
            commands=remedies.of(flow, "sender").linux(*commands),
            values={"retransmitted_bytes": int(retransmitted), "payload_bytes": int(payload)},
            evidence=_rounds(flow, "cwnd"),
            frames=_frames(flow, "cwnd"),
            source="RFC 5681; RFC 9438 (CUBIC)",
        )
    ]


def takes(
    flow: Flow, facts: Facts | None, *, rate_bps: float | None = None, rtt_ns: int | None = None
) -> list[Finding]:
    """Return findings on the window that would fill the link or, where a larger one would not help, on a queue."""
    asked = rate_bps is not None or rtt_ns is not None
    limit = str(flow.summary["limit"])
    # Waiting for a slow reader is neither a lack of window nor a queue.
    if limit == "rwnd" and slow_part(flow) > 1 / 2 and not asked:
        return []
    # A few segments at a time show neither the path's rate nor a queue.
    if not (asked or (sent_a_window(flow.summary) and limit in ("rwnd", "sndbuf", "cwnd", "link"))):
        return []
    eras = surviving_eras(solved(flow, facts), facts)
    full = full_packet(flow)
    ceiling = ceilings.of(flow.summary, rate_bps=rate_bps, rtt_ns=rtt_ns, eras=eras, full=full)
    if ceiling is None:
        return []
    more = not ceiling.suffices if limit == "rwnd" else limit == "sndbuf" and not send.fills(flow)
    told = [_takes(ceiling, eras, flow, facts)] if asked or more else []
    # A queue is no reason for a smaller window where the advice is to put more in flight.
    if ceiling.queue and not more and sent_a_window(flow.summary):
        told.append(_queue(flow, ceiling.queue))
    return told


def _queue(flow: Flow, sentence: str) -> Finding:
    return Finding(
        code=Code.QUEUE_STANDING,
        sentence=sentence,
        cause="More is in flight than the path holds; the rest waits in a router's buffer.",
        remedy="Do not raise the window. Shorten the queue at the bottleneck: fq_codel or CAKE.",
        commands=_fair_queue(flow),
        evidence=f"median of {len(flow.rtts)} rounds against the minimum RTT",
        values={
            "rtt_min_ns": int(flow.summary["rtt_min_ns"]),
            "rtt_median_ns": int(flow.summary["rtt_median_ns"]),
        },
        source="RFC 7567 section 2; RFC 8290",
    )


def _fair_queue(flow: Flow) -> tuple[str, ...]:
    return remedies.fair_queue(*(remedies.of(flow, end) for end in ("sender", "receiver")))


def asked(
    rate_bps: float, rtt_ns: int, facts: Facts | None = None, *, mss: int, window: int | None = None
) -> list[Finding]:
    """Return a finding on the window that fills a path without a capture: Ethernet, IPv4, timestamps."""
    eras = surviving_eras(None if window is None else solve(Observed(window, mss), facts), facts)
    full = packet("ethernet,ipv4,tcp,timestamps", 1 << 17, mss)
    return [_takes(ceilings.asked(rate_bps, rtt_ns, mss=mss, window=window, eras=eras, full=full), eras)]


_LOST: Final = {
    "receiver": "{} of its datagrams were lost.",
    "sender": "A capture at the sender does not show what was lost behind it.",
    "between": "{} of its datagrams were lost before this place; what was lost behind it does not show.",
    "unknown": "{} of its datagrams were lost before the place of the capture, which is not known.",
}


def shared(flow: Flow, *, rate_bps: float | None = None) -> list[Finding]:
    """Return a finding on UDP on the flow's path, if UDP carried a tenth or more of the payload."""
    beside = sharing(flow.summary, flow.capture.datagrams, rate_bps)
    if beside is None or beside.udp_share < 0.1:
        return []
    of_link = "" if beside.link_share is None else f", {units.share(beside.link_share)} of the link"
    lost = "" if beside.lost is None else f" {_LOST[str(flow.summary['vantage'])].format(f'{beside.lost:,}')}"
    return [
        Finding(
            code=Code.UDP_BESIDE,
            sentence=f"UDP went the same way at {units.rate(beside.udp_bps)}{of_link}; this flow had "
            f"{units.rate(beside.tcp_bps)}.{lost}",
            cause="UDP does not give way when packets are lost, TCP does.",
            remedy="Limit the sender of the datagrams, or give each a share of the bottleneck: fq_codel or CAKE.",
            commands=_fair_queue(flow),
            evidence=f"{beside.streams} UDP {'flow' if beside.streams == 1 else 'flows'} between the same hosts",
            values={"udp_bps": beside.udp_bps, "tcp_bps": beside.tcp_bps, "link_share": beside.link_share},
            source="RFC 8085 section 3.1",
        )
    ]


def _takes(
    ceiling: ceilings.Ceiling, eras: Sequence[Era], flow: Flow | None = None, facts: Facts | None = None
) -> Finding:
    summary = None if flow is None else flow.summary
    rested = None if ceiling.rate_given or summary is None else basis(summary)
    about = word(summary) if rested is not None and summary is not None else ""
    advice = (
        remedies.Remedy(_LINK_RATE_FIRST) if rested is Basis.BOUND else _raise(ceiling, eras, flow, facts)
    )
    if ceiling.unscaled and flow is not None:
        advice = remedies.joined(remedies.scaling_of(flow), advice)
    return Finding(
        code=Code.WHAT_IT_TAKES,
        sentence=f"To fill {about}{units.rate(ceiling.rate_bps)} over {units.duration(ceiling.rtt_ns)} takes a window "
        f"of {units.exact_bytes(ceiling.bdp_bytes)} (the BDP).{_headers(ceiling)}{_reach(ceiling)}",
        cause=ceiling.then,
        remedy=advice.words,
        commands=advice.commands,
        evidence=f"{_RATE_FROM[rested]}, {'RTT given' if ceiling.rtt_given else 'minimum RTT'}",
        values={
            "rate_bps": ceiling.rate_bps,
            "rate_basis": "given" if rested is None else str(rested),
            "goodput_bps": ceiling.goodput_bps,
            "rtt_ns": ceiling.rtt_ns,
            "bdp_bytes": ceiling.bdp_bytes,
            "ceiling_bps": ceiling.ceiling_bps,
            "so_rcvbuf_bytes": ceiling.rcvbuf,
            "so_sndbuf_bytes": ceiling.sndbuf,
        },
        exactness=Exactness.EXACT if ceiling.rate_given else Exactness.CONSISTENT,
        source="RFC 7323 section 1.1; tcp_win_from_space() by era",
    )


_LINK_RATE_FIRST: Final = (
    "Give the link's rate (--link-rate) to learn what it takes. The bursts of this flow do not agree on it."
)
_RATE_FROM: Final = {
    None: "rate given",
    Basis.FILLED: "rate of the link while the flow filled it",
    Basis.BURSTS: "rate estimated from bursts, for the flow never filled the link",
    Basis.BOUND: "lowest rate that the capture shows: bursts agree on none",
}


def _headers(ceiling: ceilings.Ceiling) -> str:
    if ceiling.goodput_bps == ceiling.rate_bps:
        return ""
    part = units.share(ceiling.goodput_bps / ceiling.rate_bps)
    return f" Headers leave {units.rate(ceiling.goodput_bps)} of it to payload, {part}."


def _reach(ceiling: ceilings.Ceiling) -> str:
    if ceiling.ceiling_bps is None or ceiling.window is None:
        return ""
    reach = f" The window of {units.exact_bytes(ceiling.window)} allows {units.rate(ceiling.ceiling_bps)}, "
    reach += (
        "enough for it."
        if ceiling.suffices
        else f"{units.share(ceiling.ceiling_bps / ceiling.goodput_bps)} of it."
    )
    return reach if ceiling.measured_bps is None else f"{reach} Measured: {units.rate(ceiling.measured_bps)}."


def _ends(flow: Flow | None) -> tuple[remedies.Host, remedies.Host]:
    if flow is None:
        return remedies.UNKNOWN["sender"], remedies.UNKNOWN["receiver"]
    return remedies.of(flow, "sender"), remedies.of(flow, "receiver")


def _raise(
    ceiling: ceilings.Ceiling, eras: Sequence[Era], flow: Flow | None, facts: Facts | None
) -> remedies.Remedy:
    """Return advice on the buffers to raise by host, with alternatives, and the commands for it."""
    sender = _ends(flow)[0]
    held = flow is not None and str(flow.summary["limit"]) == "sndbuf"
    advice = (
        [remedies.Remedy("The receive buffer is large enough.")]
        if ceiling.suffices
        else _receiver(ceiling, eras, flow, facts)
    )
    if held:
        advice.append(remedies.Remedy("The send buffer was the limit."))
    else:
        most = None if facts is None or facts.wmem is None else facts.wmem[2]
        advice.append(remedies.send_buffer(ceiling.bdp_bytes, sender, most=most))
        advice.append(
            remedies.Remedy(
                "Both ends must hold it, the smaller buffer limits: SO_SNDBUF, if set, must be "
                f"{ceiling.sndbuf:,} or more."
            )
        )
    if not ceiling.suffices and not held:
        advice += [
            remedies.Remedy(_instead(ceiling)),
            remedies.Remedy(remedies.memory(2 * max(ceiling.rcvbuf.values()))),
        ]
    return remedies.joined(*advice)


def _receiver(
    ceiling: ceilings.Ceiling, eras: Sequence[Era], flow: Flow | None, facts: Facts | None
) -> list[remedies.Remedy]:
    """Return advice on how the receiver's window grows; on a fixed buffer only if one may have been set."""
    need, mss, host = ceiling.bdp_bytes, MSS_BYTES, _ends(flow)[1]
    most = None if facts is None or facts.rmem is None else facts.rmem[2]
    if flow is not None:
        mss, knobs = max(1, int(flow.summary["mss_bytes"])), _knobs(flow, ceiling.window, facts)
        if Knob.OPTION not in knobs:
            was_limit = str(flow.summary["limit"]) == "rwnd"
            stopped = bool(knobs & {Knob.AFTER, Knob.DEFAULT})
            grown = remedies.receive_buffer(
                need, mss, eras, host, autotuned=True, was_limit=was_limit, stopped=stopped, most=most
            )
            return [grown]
    return [
        remedies.receive_buffer(need, mss, eras, host, most=most),
        remedies.fixed_buffer(max(ceiling.rcvbuf.values()), host),
    ]


def _knobs(flow: Flow, window: int | None, facts: Facts | None) -> set[Knob]:
    """Return the knobs that may determine the window: those of the credible answers, else by the window scale."""
    solution, scale = solved(flow, facts), flow.summary["window_scale"]
    if solution is not None and solution.best and not solution.field_full:
        return {one.setting.knob for one in solution.best}
    mss = max(1, int(flow.summary["mss_bytes"]))
    if pd.notna(scale) and window and remedies.is_autotuned(window, mss, int(scale)):
        return {Knob.GROWN}
    return {Knob.OPTION}


def _instead(ceiling: ceilings.Ceiling) -> str:
    """Return a sentence on alternatives to larger buffers."""
    nearer = "a proxy or cache near the receiver shortens the RTT"
    if not ceiling.ceiling_bps:
        return f"Without larger buffers: {nearer}, and parallel streams add their windows."
    streams = math.ceil(ceiling.goodput_bps / ceiling.ceiling_bps)
    return f"Without larger buffers: {nearer}, or {streams:,} parallel streams, each with this window, fill the link."


def _rounds(flow: Flow, limit: str) -> str:
    return f"{limit} in {int((flow.rtts['limit'] == limit).sum())} of {len(flow.rtts)} rounds"


def _frames(flow: Flow, limit: str) -> tuple[int, int] | None:
    return frames(flow, (flow.rtts["limit"] == limit).to_numpy())


def _number(value: float) -> float | None:
    return None if pd.isna(value) else float(value)
