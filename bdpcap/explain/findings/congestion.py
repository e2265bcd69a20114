"""Finding on congestion control, and what each of its phases is called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pandas as pd

from bdpcap.explain import congestion_marks, remedies
from bdpcap.explain.findings import path_mtu
from bdpcap.explain.findings.finding import Code, Finding, frames
from bdpcap.explain.sent_again import FEWEST, of_sent
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = [
    "PHASES",
    "Phase",
    "is_stall_brief",
    "limits",
    "losses_span",
    "lost",
    "mostly_needless",
    "phase_of",
]


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
    "ignored": Phase(
        "acknowledgments without an effect",
        "See whether acknowledgments reached the sender, and whether it dropped them: a wrong checksum does that.",
    ),
    "return path": Phase(
        "a queue on the way back",
        "Look for the queue that acknowledgments wait in: an upload or a slow uplink fills it.",
    ),
    "late acknowledgments": Phase(
        "flights that the receiver acknowledged late",
        "Let it acknowledge every second full segment at once: shorten its delayed-ACK timer, or turn it off.",
    ),
    "too big": Phase("the repair of packets too big for the path", path_mtu.ADVICE),
    "recovery": Phase("recovery", "Find where packets are lost or delayed."),
    "marks": Phase(
        "growth after congestion marks",
        "Find the link whose queue marks packets (ECN): it is full, or it marks from a short queue on.",
    ),
    "brief losses": Phase("growth after losses of a short time", "Find where packets are lost or delayed."),
    "needless": Phase(
        "retransmissions of data that had arrived",
        "Find where the delay jumps, as in the power saving of Wi-Fi, or where acknowledgments are lost.",
    ),
}
"""Phase by detail of the limit ``cwnd``. Acknowledgments, losses and copies divide some details further."""

_REPAIRS: Final = ("cwnd-recovery", "cwnd-regrowth")
"""Rules of rounds in which a loss is repaired, or its reduction of the congestion window regained."""

REPEATED: Final = 2
"""Fewest timers that ran out in spite of an acknowledgment: one may have crossed it on the way."""


def lost(flow: Flow) -> bool:
    """Return whether any data were lost: data that had arrived when they were sent again were not."""
    summary = flow.summary
    return bool(summary["retransmitted_bytes"] and summary["spurious_retransmits"] < summary["retransmits"])


def mostly_needless(flow: Flow) -> bool:
    """Return whether most packets that were sent again had arrived: the path held them, or their acknowledgments."""
    return bool(2 * flow.summary["spurious_retransmits"] > flow.summary["retransmits"])


def phase_of(flow: Flow, held: pd.DataFrame) -> str:
    """Return the phase of most of the time in rounds under congestion control, by its name in `PHASES`."""
    lasting = (held["end_ns"] - held["start_ns"]).groupby(held["detail"]).sum()
    most = "avoidance" if lasting.empty else str(lasting.idxmax())
    if most == "outage" and flow.summary["timeouts"] >= REPEATED and not lost(flow):
        return "ignored"
    # Acknowledgments came between the timers, so the path and its far end were there.
    if most == "outage" and is_stall_brief(flow):
        most = "recovery"
    # After a loss, the growth that follows is part of its repair.
    if most in ("avoidance", "recovery") and lost(flow) and path_mtu.most_resent(flow):
        return "too big"
    if most in ("outage", "recovery") and flow.summary["retransmits"] >= FEWEST and mostly_needless(flow):
        return "needless"
    if most not in ("avoidance", "recovery"):
        return most
    if not lost(flow):
        return "marks" if _by_marks(flow, held) else "avoidance"
    return "recovery" if _by_losses(flow, held) else "brief losses"


def is_stall_brief(flow: Flow) -> bool:
    """Return whether the longest wait for an acknowledgment was less than half of the waits for timers."""
    stall_ns = flow.summary["longest_stall_ns"]
    return bool(pd.notna(stall_ns) and 2 * stall_ns < flow.summary["timeout_wait_ns"])


def losses_span(flow: Flow) -> tuple[int, int] | None:
    """Return the start of the first and the end of the last round with retransmissions, ns; None without any."""
    hit = flow.rtts[flow.rtts["retransmits"] > 0]
    return None if hit.empty else (int(hit["start_ns"].iloc[0]), int(hit["end_ns"].iloc[-1]))


def _by_losses(flow: Flow, held: pd.DataFrame) -> bool:
    """Return whether losses explain most of the time in rounds under congestion control.

    A loss explains the time until the congestion window has its former size. Between two losses that is all the time:
    the second one ended the growth.
    """
    return _by_reductions(held, losses_span(flow))


def _by_marks(flow: Flow, held: pd.DataFrame) -> bool:
    """Return whether congestion marks explain most of the time in rounds under congestion control.

    A sender answers an echoed mark as it would a loss (RFC 3168 section 6.1.2).
    """
    hit = flow.rtts[(flow._hidden["congestion_echoes"] > 0).to_numpy()]
    return not hit.empty and _by_reductions(held, (int(hit["start_ns"].iloc[0]), int(hit["end_ns"].iloc[-1])))


def _by_reductions(held: pd.DataFrame, span: tuple[int, int] | None) -> bool:
    """Return whether most of the time under congestion control is repair, regrowth, or lies between two reductions."""
    if span is None:
        return True
    lasting = held["end_ns"] - held["start_ns"]
    between = (held["start_ns"] < span[1]) & (held["end_ns"] > span[0])
    return bool(2 * lasting[between | held["rule"].isin(_REPAIRS)].sum() >= lasting.sum())


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


def _sentence(flow: Flow, most: str, rounds: pd.Series[int]) -> str:
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
    said = ", ".join(f"{PHASES[str(name)].name} in {count}" for name, count in rounds.items())
    return f"{_again(flow)} Of {total} rounds congestion control limited {rounds.sum()}: {said}."


def limits(flow: Flow) -> list[Finding]:
    """Return a finding on the phase of congestion control: loss repair, growth, pacing, or a clamp."""
    retransmitted, payload = flow.summary["retransmitted_bytes"], flow.summary["payload_bytes"]
    held = (flow.rtts["limit"] == "cwnd").to_numpy()
    most = phase_of(flow, flow.rtts[held])
    sender = remedies.of(flow, "sender")
    remedy, commands = PHASES[most].advice, sender.linux(*PHASES[most].commands)
    if most in ("recovery", "brief losses"):
        advice = remedies.joined(remedies.on_losses(remedies.losses(flow), sender), remedies.sack(flow))
        remedy, commands = advice.words, advice.commands
    return [
        Finding(
            code=Code.CONGESTION_WINDOW,
            sentence=_sentence(flow, most, flow.rtts.loc[held, "detail"].value_counts()),
            cause="Congestion control allowed less in flight than the path and the receiver could have taken.",
            remedy=remedy,
            commands=commands,
            values={"retransmitted_bytes": int(retransmitted), "payload_bytes": int(payload)},
            evidence=f"cwnd in {held.sum()} of {len(held)} rounds",
            frames=frames(flow, held),
            source="RFC 5681; RFC 9438 (CUBIC)",
        )
    ]
