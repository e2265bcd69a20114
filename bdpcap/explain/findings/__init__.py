"""Findings: what is worth telling about a flow, most important first; one theme a module."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bdpcap.explain.findings import handshake, path, program, receive, requests, retransmissions, send, tap
from bdpcap.explain.findings.agreement import agreeing
from bdpcap.explain.findings.finding import Certainty, Code, Finding, Findings
from bdpcap.explain.once import once

if TYPE_CHECKING:
    from collections.abc import Callable

    from bdpcap.capture import Flow
    from bdpcap.explain.solver import Facts

    Theme = tuple[str, Callable[[], list[Finding]]]

__all__ = ["Certainty", "Code", "Finding", "Findings", "findings", "found", "gather"]

_LIMITS: Final[dict[str, Callable[[Flow], list[Finding]]]] = {
    "rwnd": receive.limits,
    "sndbuf": send.limits,
    "link": path.link,
    "cwnd": lambda flow: program.own_window(flow) or path.congestion(flow),
    "app": program.idle,
    "unknown": program.own_window,
}
"""What tells of the limit that held a flow for longest."""


def findings(
    flow: Flow,
    facts: Facts | None = None,
    *,
    rate_bps: float | None = None,
    rtt_ns: int | None = None,
) -> Findings:
    """
    Explain a flow.

    Parameters
    ----------
    flow
        Any flow; its packets are not read again.
    facts
        What is known of the receiver besides.
    rate_bps, rtt_ns
        Ask what another link or another path would take.
    """
    return Findings(agreeing(gather(flow, facts, rate_bps=rate_bps, rtt_ns=rtt_ns), flow.summary))


@once
def found(flow: Flow) -> Findings:
    """Return the findings of a flow of which nothing else is known; they are made once."""
    return findings(flow)


def gather(
    flow: Flow,
    facts: Facts | None = None,
    *,
    rate_bps: float | None = None,
    rtt_ns: int | None = None,
) -> list[Finding]:
    """Return all findings, before they are held against each other; the parameters are those of `findings`."""
    if lacking := tap.incomplete(flow):
        return lacking
    # What held the flow comes first, then what would lift it, then why its other numbers are as they are.
    themes: list[Theme] = [
        ("what held the sender", lambda: _sure(_held(flow, facts), flow)),
        ("requests and responses", lambda: requests.explains(flow)),
        ("the program's pauses", lambda: program.pauses(flow)),
        ("what more takes", lambda: path.takes(flow, facts, rate_bps=rate_bps, rtt_ns=rtt_ns)),
        ("UDP beside it", lambda: path.shared(flow, rate_bps=rate_bps)),
        ("retransmissions", lambda: retransmissions.explains(flow)),
        ("the receive window", lambda: receive.explains(flow, facts)),
        ("the send buffer", lambda: send.explains(flow, facts)),
        ("the handshake", lambda: handshake.explains(flow)),
        ("the place of the capture", lambda: tap.explains(flow)),
    ]
    return [finding for theme in themes for finding in _told(*theme)]


def _held(flow: Flow, facts: Facts | None) -> list[Finding]:
    limit = str(flow.summary["limit"])
    # A flight that stands is the send buffer's, a clamp's or a program's: a known buffer that agrees decides.
    if limit in ("app", "cwnd") and facts is not None and send.agrees(flow, facts):
        return send.limits(flow, facts.sndbuf)
    tell = _LIMITS.get(limit)
    return tell(flow) if tell else []


def _told(name: str, theme: Callable[[], list[Finding]]) -> list[Finding]:
    """Return a theme's findings; a defect in one theme leaves the others as they are, and is said."""
    try:
        return theme()
    except Exception as error:  # noqa: BLE001  whatever is wrong with one theme, the others are told
        return [
            Finding(
                code=Code.LEFT_OUT,
                sentence=f"The part on {name} was left out: {type(error).__name__}: {error}.",
                cause="This is a defect of bdpcap, not of the capture.",
                remedy="Report it with an excerpt of the flow.",
                commands=("bdpcap excerpt CAPTURE --stream N -o flow.pcap",),
            )
        ]


def _sure(told: list[Finding], flow: Flow) -> list[Finding]:
    """Say how sure the flow's limit is, by how often the rules that found it were right on labelled transfers."""
    confidence = float(flow.summary["confidence"])
    likely = Certainty.LIKELY if confidence >= 0.75 else Certainty.POSSIBLE
    return [replace(one, certainty=Certainty.CERTAIN if confidence >= 0.95 else likely) for one in told]
