"""Findings on the window that would fill the path, or on the queue that a larger one would lengthen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.explain import ceilings, remedies
from bdpcap.explain.capacity import Basis, basis, sent_a_window, word
from bdpcap.explain.findings import larger_window, send
from bdpcap.explain.findings.finding import Code, Finding
from bdpcap.explain.findings.plateau import solved
from bdpcap.explain.findings.receive import holds_bdp, slow_part
from bdpcap.explain.headers import ANY_MTU, full_packet, packet
from bdpcap.explain.reached import spoken_rate
from bdpcap.explain.solver import Exactness, Observed, solve, surviving_eras
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bdpcap.capture import Flow
    from bdpcap.explain.eras import Era
    from bdpcap.explain.solver import Facts

__all__ = ["asked", "explains"]

_LINK_RATE_FIRST: Final = (
    "Give the link's rate (--link-rate) to learn what it takes. The bursts of this flow do not agree on it."
)
_RATE_FROM: Final = {
    None: "rate given",
    Basis.FILLED: "rate of the link while the flow filled it",
    Basis.BURSTS: "rate estimated from bursts, for the flow never filled the link",
    Basis.BOUND: "lowest rate that the capture shows: bursts agree on none",
}


def explains(
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
    small = limit == "rwnd" and not holds_bdp(flow)
    if ceiling.queue and not (more or small) and _sends_windows(flow):
        told.append(_queue(flow, ceiling.queue))
    return told


def _sends_windows(flow: Flow) -> bool:
    """Return whether most round trips had ten segments in flight: less in flight is no queue of the flow's making."""
    timed = flow.rtts[flow.rtts["rtt_ns"].notna()]
    return sent_a_window({**flow.summary, "in_flight_max_bytes": timed["in_flight_max_bytes"].median()})


def asked(
    rate_bps: float, rtt_ns: int, facts: Facts | None = None, *, mss: int, window: int | None = None
) -> list[Finding]:
    """Return a finding on the window that fills a path without a capture: Ethernet, IPv4, timestamps."""
    eras = surviving_eras(None if window is None else solve(Observed(window, mss), facts), facts)
    full = packet("ethernet,ipv4,tcp,timestamps", ANY_MTU, mss)
    return [_takes(ceilings.asked(rate_bps, rtt_ns, mss=mss, window=window, eras=eras, full=full), eras)]


def _takes(
    ceiling: ceilings.Ceiling, eras: Sequence[Era], flow: Flow | None = None, facts: Facts | None = None
) -> Finding:
    summary = None if flow is None else flow.summary
    rested = None if ceiling.rate_given or summary is None else basis(summary)
    about = word(summary) if rested is not None and summary is not None else ""
    advice = (
        remedies.joined(larger_window.twice(ceiling, eras, flow, facts), remedies.Remedy(_LINK_RATE_FIRST))
        if rested is Basis.BOUND
        else larger_window.advice(ceiling, eras, flow, facts)
    )
    if ceiling.unscaled and flow is not None:
        advice = remedies.joined(remedies.scaling_of(flow), advice)
    return Finding(
        code=Code.WHAT_IT_TAKES,
        sentence=f"To fill {about}{units.rate(ceiling.rate_bps)} over {units.duration(ceiling.rtt_ns)} takes a window "
        f"of {units.exact_bytes(ceiling.bdp_bytes)} (the BDP).{_headers(ceiling)}{_reach(ceiling, flow)}",
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


def _queue(flow: Flow, sentence: str) -> Finding:
    return Finding(
        code=Code.QUEUE_STANDING,
        sentence=sentence,
        cause="More is in flight than the path holds; the rest waits in a router's buffer.",
        remedy="Do not raise the window. Shorten the queue at the bottleneck: fq_codel or CAKE.",
        commands=remedies.fair_queue(*remedies.ends(flow)),
        evidence=f"median of {len(flow.rtts)} rounds against the minimum RTT",
        values={
            "rtt_min_ns": int(flow.summary["rtt_min_ns"]),
            "rtt_median_ns": int(flow.summary["rtt_median_ns"]),
        },
        source="RFC 7567 section 2; RFC 8290",
    )


def _headers(ceiling: ceilings.Ceiling) -> str:
    if ceiling.goodput_bps == ceiling.rate_bps:
        return ""
    part = units.share(ceiling.goodput_bps / ceiling.rate_bps)
    return f" Headers leave {units.rate(ceiling.goodput_bps)} of it to payload, {part}."


def _reach(ceiling: ceilings.Ceiling, flow: Flow | None) -> str:
    if ceiling.ceiling_bps is None or ceiling.window is None:
        return ""
    reach = f" The window of {units.exact_bytes(ceiling.window)} allows {units.rate(ceiling.ceiling_bps)}, "
    reach += (
        "enough for it."
        if ceiling.suffices
        else f"{units.share(ceiling.ceiling_bps / ceiling.goodput_bps)} of it."
    )
    # The flow's rate belongs to the measured RTT.
    measured = "" if flow is None or ceiling.rtt_given else spoken_rate(flow)
    return f"{reach} Measured: {measured}." if measured else reach
