"""Finding on congestion control, and what each of its phases is called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pandas as pd

from bdpcap.explain import remedies
from bdpcap.explain.findings.finding import Code, Finding, frames
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["PHASES", "Phase", "limits"]


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of congestion control."""

    name: str
    """Noun for it, as part of a sentence."""
    advice: str
    """One sentence; the cause of the detail in `bdpcap.diagnosis.kinds.cwnd` gives the same one."""
    commands: tuple[str, ...] = ()
    """Commands on a Linux sender that carry out the advice."""


PHASES: Final = {
    "slow start": Phase(
        "slow start", "Send more over one connection: short transfers end before slow start does."
    ),
    "pacing": Phase(
        "pacing",
        "Look for a pacing rate: the program's SO_MAX_PACING_RATE (iperf3 --fq-rate), maxrate of the fq queue, or BBR.",
        (
            "tc qdisc show   # sender: fq maxrate",
            "sysctl net.ipv4.tcp_congestion_control   # sender: bbr paces",
        ),
    ),
    "fixed window": Phase(
        "a congestion window that stayed the same",
        "Look for a clamp on the sender: the cwnd of its route.",
        ("ip route show   # sender: cwnd lock",),
    ),
    "avoidance": Phase(
        "congestion avoidance, in which the window grows slowly",
        "See which congestion control the sender has: over long paths CUBIC and BBR grow faster than Reno.",
        ("sysctl net.ipv4.tcp_congestion_control   # sender: the one in force",),
    ),
    "outage": Phase("an outage", "Find out why nothing came back."),
    "return path": Phase(
        "a queue on the way back",
        "Look for the queue that acknowledgments wait in: an upload or a slow uplink fills it.",
    ),
    "recovery": Phase("recovery", "Find where packets are lost or delayed."),
}
"""Phase by detail of the limit ``cwnd``."""


def _share(flow: Flow, detail: str) -> float:
    """Return the share of the time under congestion control that had this detail."""
    held = flow.rtts[flow.rtts["limit"] == "cwnd"]
    length = held["end_ns"] - held["start_ns"]
    return float(length[held["detail"] == detail].sum() / max(1, length.sum()))


def limits(flow: Flow) -> list[Finding]:
    """Return a finding on the phase of congestion control: loss repair, growth, pacing, or a clamp."""
    retransmitted, payload = flow.summary["retransmitted_bytes"], flow.summary["payload_bytes"]
    held = (flow.rtts["limit"] == "cwnd").to_numpy()
    details = flow.rtts.loc[held, "detail"]
    rounds = details.value_counts()
    most = str(rounds.index[0]) if len(rounds) else "avoidance"
    phase = PHASES[most]
    remedy, commands = phase.advice, phase.commands
    if most == "fixed window" and rounds.iloc[0] > len(details) / 2:
        sentence = (
            f"The congestion window stayed the same in {rounds.iloc[0]} of {len(flow.rtts)} rounds: something "
            "clamps it."
        )
    elif _share(flow, "outage") > 1 / 2:
        stall_ns = flow.summary["longest_stall_ns"]
        sentence = (
            "The sender retransmitted again and again, and the capture holds no acknowledgment of it."
            if pd.isna(stall_ns) or stall_ns == 0
            else f"The sender had no acknowledgment of new data for {units.duration(stall_ns)}."
        )
        remedy, commands = PHASES["outage"].advice, PHASES["outage"].commands
    elif _share(flow, "return path") > 1 / 2:
        sentence = (
            f"Acknowledgments waited in a queue on the way back in {rounds['return path']} of "
            f"{len(flow.rtts)} rounds."
        )
        remedy, commands = PHASES["return path"].advice, PHASES["return path"].commands
    elif retransmitted:
        part = units.percent(retransmitted / max(1, payload))
        sentence = (
            f"The sender retransmitted {units.exact_bytes(retransmitted)} of "
            f"{units.exact_bytes(payload)} ({part})."
        )
        advice = remedies.on_losses(remedies.losses(flow), remedies.of(flow, "sender"))
        remedy, commands = advice.words, advice.commands
    else:
        said = ", ".join(f"{PHASES[str(name)].name} in {count}" for name, count in rounds.items())
        sentence = (
            f"Nothing was lost. Of {len(flow.rtts)} rounds congestion control limited {len(details)}: {said}."
        )
    return [
        Finding(
            code=Code.CONGESTION_WINDOW,
            sentence=sentence,
            cause="Congestion control allowed less in flight than the path and the receiver could have taken.",
            remedy=remedy,
            commands=remedies.of(flow, "sender").linux(*commands),
            values={"retransmitted_bytes": int(retransmitted), "payload_bytes": int(payload)},
            evidence=f"cwnd in {held.sum()} of {len(held)} rounds",
            frames=frames(flow, held),
            source="RFC 5681; RFC 9438 (CUBIC)",
        )
    ]
