"""All findings on a flow, most important first: those that its limit declares, then one theme after another."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bdpcap.diagnosis.kinds import ALL
from bdpcap.explain.findings import (
    Certainty,
    Code,
    Finding,
    Findings,
    handshake,
    path_change,
    path_mtu,
    program,
    receive,
    requests,
    retransmissions,
    send,
    syn,
    takes,
    tap,
    udp,
)
from bdpcap.explain.once import once

if TYPE_CHECKING:
    from collections.abc import Callable

    from bdpcap.capture import Flow
    from bdpcap.explain.solver import Facts

    Theme = tuple[str, Callable[[], list[Finding]]]

__all__ = ["findings", "found"]

_CERTAIN: Final = 0.95
"""Confidence of a flow's verdict from which on its finding is certain: rules were wrong once in twenty; a choice."""
_LIKELY: Final = 0.75
"""Confidence of a flow's verdict from which on its finding is likely: rules were wrong once in four; a choice."""


def findings(
    flow: Flow,
    facts: Facts | None = None,
    *,
    rate_bps: float | None = None,
    rtt_ns: int | None = None,
) -> Findings:
    """
    Return the findings on a flow.

    Parameters
    ----------
    flow
        Any flow; its packets are not read again.
    facts
        Facts from outside the capture, such as a known buffer.
    rate_bps, rtt_ns
        Rate of another link and RTT of another path, to compute the window that they need; None takes the measured ones.
    """
    if lacking := tap.incomplete(flow):
        return Findings(lacking)
    # First the limit of the flow, then the settings that would lift it, then the reasons for its other numbers.
    themes: list[Theme] = [
        ("what held the sender", lambda: _of_limit(flow, facts)),
        ("requests and responses", lambda: requests.explains(flow)),
        ("the program's pauses", lambda: program.pauses(flow)),
        ("what more takes", lambda: takes.explains(flow, facts, rate_bps=rate_bps, rtt_ns=rtt_ns)),
        ("changes of the path", lambda: path_change.explains(flow)),
        ("UDP on the path", lambda: udp.explains(flow, rate_bps=rate_bps)),
        ("packets too big for the path", lambda: path_mtu.explains(flow)),
        ("retransmissions", lambda: retransmissions.explains(flow)),
        ("the receive window", lambda: receive.explains(flow, facts)),
        ("the send buffer", lambda: send.explains(flow, facts)),
        ("the handshake", lambda: [*syn.explains(flow), *handshake.explains(flow)]),
        ("the place of the capture", lambda: tap.explains(flow)),
    ]
    return Findings(finding for theme in themes for finding in _reported(*theme) if finding.is_sound())


@once
def found(flow: Flow) -> Findings:
    """Return the findings on a flow without facts from outside the capture; computed once per flow."""
    return findings(flow)


def _reported(name: str, theme: Callable[[], list[Finding]]) -> list[Finding]:
    """Return a theme's findings; if the theme raises an exception, return one finding that reports it."""
    try:
        return theme()
    except Exception as error:  # noqa: BLE001  a defect in one theme must not hide the others
        return [
            Finding(
                code=Code.LEFT_OUT,
                sentence=f"The part on {name} was left out: {type(error).__name__}: {error}.",
                cause="This is a defect of bdpcap, not of the capture.",
                remedy="Report it with an excerpt of the flow.",
                commands=("bdpcap excerpt CAPTURE --stream N -o flow.pcap",),
            )
        ]


def _of_limit(flow: Flow, facts: Facts | None) -> list[Finding]:
    """Return the findings on a flow's limit, as certain as its rules were right on labelled transfers."""
    confidence = float(flow.summary["confidence"])
    likely = Certainty.LIKELY if confidence >= _LIKELY else Certainty.POSSIBLE
    certainty = Certainty.CERTAIN if confidence >= _CERTAIN else likely
    return [
        replace(one, certainty=certainty) for one in ALL[str(flow.summary["limit"])].findings(flow, facts)
    ]
