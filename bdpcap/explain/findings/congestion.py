"""Finding on congestion control."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from bdpcap.explain import congestion_marks
from bdpcap.explain.findings.finding import Code, Finding, frames
from bdpcap.explain.sent_again import lost, mostly_needless, of_sent
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bdpcap.capture import Flow
    from bdpcap.explain.remedies import Remedy

__all__ = ["limits"]


def _again(flow: Flow) -> str:
    """Return a sentence on the data that were retransmitted."""
    retransmitted, payload = flow.summary["retransmitted_bytes"], flow.summary["payload_bytes"]
    if not retransmitted:
        return "Nothing was lost."
    share = units.percent(of_sent(retransmitted, payload))
    arrived = f"; {_arrived(flow)}" if mostly_needless(flow) else ""
    return f"The sender retransmitted {units.exact_bytes(retransmitted)}, {share} of the bytes sent{arrived}."


def _arrived(flow: Flow) -> str:
    """Return in words how many retransmitted packets had arrived."""
    if not lost(flow):
        return "all of it had arrived"
    again = units.number(int(flow.summary["retransmits"]), "packet")
    return f"{units.count(flow.summary['spurious_retransmits'])} of {again} had arrived"


def _sentence(flow: Flow, most: str, rounds: pd.Series[int], nouns: Mapping[str, str]) -> str:
    """Return the sentence on a phase; `rounds` is the number of rounds by phase."""
    total = len(flow.rtts)
    stall_ns = flow.summary["longest_stall_ns"]
    if most == "fixed window":
        return (
            f"The congestion window stayed the same in {rounds[most]} of {total} rounds: something clamps it."
        )
    if most == "return path":
        return f"Acknowledgments waited in a queue on the way back in {rounds[most]} of {total} rounds."
    if most == "outage" and (pd.isna(stall_ns) or stall_ns == 0):
        return "The sender retransmitted again and again, and the capture holds no acknowledgment of it."
    if most == "outage":
        return f"The sender had no acknowledgment of new data for {units.duration(stall_ns)}."
    if most in ("recovery", "brief losses", "needless", "ignored", "too big", "marks"):
        return congestion_marks.sentence(flow) if most == "marks" else _again(flow)
    said = ", ".join(f"{nouns.get(str(name), name)} in {count}" for name, count in rounds.items())
    return f"{_again(flow)} Of {total} rounds congestion control limited {rounds.sum()}: {said}."


def limits(flow: Flow, most: str, advice: Remedy, nouns: Mapping[str, str]) -> list[Finding]:
    """Return a finding on congestion control.

    Parameters
    ----------
    most
        Phase of most of the time, a detail of the limit ``cwnd``.
    advice
        Advice on that phase.
    nouns
        Details that have another noun in a sentence, with that noun.
    """
    retransmitted, payload = flow.summary["retransmitted_bytes"], flow.summary["payload_bytes"]
    held = (flow.rtts["limit"] == "cwnd").to_numpy()
    return [
        Finding(
            code=Code.CONGESTION_WINDOW,
            sentence=_sentence(flow, most, flow.rtts.loc[held, "detail"].value_counts(), nouns),
            cause="Congestion control allowed less in flight than the path and the receiver could have taken.",
            remedy=advice.words,
            commands=advice.commands,
            values={"retransmitted_bytes": int(retransmitted), "payload_bytes": int(payload)},
            evidence=f"cwnd in {held.sum()} of {len(held)} rounds",
            frames=frames(flow, held),
            source="RFC 5681; RFC 9438 (CUBIC)",
        )
    ]
