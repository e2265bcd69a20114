"""Congestion control: loss and its repair, growth, pacing, clamps, outages, and a queue on the way back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pandas as pd

from bdpcap.diagnosis import datagrams, places
from bdpcap.diagnosis.model import Cause, Limit, Remedy, Shown, spanning
from bdpcap.diagnosis.outlook import Outlook, nothing, with_change
from bdpcap.diagnosis.phases import losses_span, phase_of
from bdpcap.explain import congestion_marks, in_flight, remedies, shared_losses
from bdpcap.explain.capacity import delivered_bps
from bdpcap.explain.findings import congestion, path_mtu, program, send
from bdpcap.explain.remedies.host import is_ours
from bdpcap.explain.sent_again import needed, of_flow
from bdpcap.words import palette, units
from bdpcap.words.endpoints import host, on_one_machine

if TYPE_CHECKING:
    from bdpcap.capture import Flow
    from bdpcap.explain.findings import Finding
    from bdpcap.explain.solver import Facts

__all__ = ["LIMIT"]

TIMED: Final = 0.25
"""Share of the active time that waits for timers take from which on they are named first: a quarter, a choice."""


def _loss(flow: Flow, _: pd.DataFrame) -> str:
    said = _timed(flow) + of_flow(flow)
    if remedies.losses(flow) is not remedies.Losses.POLICED:
        return said
    return f"{said}, at all times, and round trips stayed at {units.duration(flow.summary['rtt_median_ns'])}"


def _brief(flow: Flow, own: pd.DataFrame) -> str:
    span = losses_span(flow)
    within = "" if span is None else f", all within {units.duration(span[1] - span[0])}"
    said = f"{_loss(flow, own)}{within}"
    repair_ns, least_ns = remedies.repair(flow)
    if repair_ns is None or remedies.losses(flow) is not remedies.Losses.WAITED:
        return said
    return (
        f"{said}. Packets waited on the way: that repair took {units.duration(repair_ns)}, the shortest round trip "
        f"{units.duration(least_ns)}"
    )


def _marks(flow: Flow, _: pd.DataFrame) -> str:
    return f"{congestion_marks.clause(flow)}, and nothing was lost"


def _needless(flow: Flow, _: pd.DataFrame) -> str:
    summary = flow.summary
    again, arrived = (int(summary[name]) for name in ("retransmits", "spurious_retransmits"))
    most = "all" if arrived >= again else f"{units.count(arrived)} of"
    packets = units.number(again, "packet")
    return f"{most} {packets} sent again had arrived, late or with their acknowledgments lost"


def _repaired(flow: Flow) -> Shown | None:
    """Return the frames of the recovery with most retransmissions, and of the round before, in which data were lost."""
    rtts = flow.rtts
    repairing = (rtts["rule"] == "cwnd-recovery") | (rtts["retransmits"] > 0)
    # A round without repair and the recovery that follows it have one number.
    recovery = (~repairing).cumsum()
    return spanning(flow, rtts[recovery == rtts["retransmits"].groupby(recovery).sum().idxmax()])


def _timed(flow: Flow) -> str:
    """Return a clause on the waits for timers, if they took much of the time; empty if not, or if nothing was lost."""
    summary = flow.summary
    timed = int(summary["timeout_retransmits"] + summary["tail_loss_probes"])
    share = float(summary["timeout_wait_ns"]) / max(1, int(summary["active_ns"]))
    if share < TIMED or share > 1 or timed <= summary["spurious_retransmits"]:
        return ""
    return (
        f"waiting for retransmissions took {units.duration(summary['timeout_wait_ns'])}, "
        f"{units.share(share)} of the time, and "
    )


def _too_big(flow: Flow, _: pd.DataFrame) -> str:
    again = units.exact_bytes(int(flow.summary["retransmitted_bytes"]))
    return f"{again} were sent again. {path_mtu.asked(flow)}"


def _refusing(flow: Flow) -> str:
    """Return the router that refused packets."""
    return f"the router, {path_mtu.too_big(flow)[0].reporter}"


def _loses(flow: Flow) -> str:
    """Return the part of the path on which nearly all losses were, as the capture or other hosts' losses show it."""
    if near := shared_losses.place(flow):
        return near
    before = remedies.lost_before_capture(flow)
    if before is None:
        return places.path(flow)
    if before >= remedies.NEARLY_ALL:
        return places.path_to_capture(flow)
    return places.path(flow) if before > 1 - remedies.NEARLY_ALL else places.path_from_capture(flow)


def _stall(flow: Flow, _: pd.DataFrame) -> str:
    stall_ns, retransmits = flow.summary["longest_stall_ns"], int(flow.rtts["retransmits"].sum())
    again = f"{units.number(retransmits, 'retransmission')} brought none"
    if pd.isna(stall_ns) or stall_ns == 0:
        return f"the capture holds no acknowledgment, and {again}"
    timeouts = int(flow.summary["timeouts"])
    waited = units.duration(flow.summary["timeout_wait_ns"])
    longest = f"no acknowledgment of new data came for {units.duration(stall_ns)}"
    if timeouts < 2:
        return longest
    return f"{units.number(timeouts, 'timeout')} took {waited}, and once {longest}"


def _ignored(flow: Flow, _: pd.DataFrame) -> str:
    tries = units.number(int(flow.summary["retransmits"]), "time")
    return f"it sent again, {tries}, what the capture shows as acknowledged"


def _way_back(flow: Flow, own: pd.DataFrame) -> str:
    least, usual = flow.summary["rtt_min_ns"], own.loc[own["detail"] == "return path", "rtt_ns"].median()
    if pd.isna(least) or pd.isna(usual) or usual <= least:
        return ""
    return f"round trips took {units.duration(usual)}, {units.duration(least)} at best, and data did not wait"


def _late(_: Flow, own: pd.DataFrame) -> str:
    late = own[own["detail"] == "late acknowledgments"]
    lasting_ns = (late["end_ns"] - late["start_ns"]).sum()
    return f"{units.number(len(late), 'flight')} waited for one acknowledgment each, {units.duration(lasting_ns)} in all"


def _slow_start(flow: Flow, own: pd.DataFrame) -> str:
    rounds = int((own["detail"] == "slow start").sum())
    return f"the congestion window was still doubling in {rounds} of {units.number(len(flow.rtts), 'round')}"


def _growth(flow: Flow, own: pd.DataFrame) -> str:
    again = int(flow.summary["retransmits"])
    lost = (
        "nothing was retransmitted"
        if not again
        else f"{units.number(again, 'packet')} sent again had arrived"
    )
    # Elsewhere, data of two flights may pass within one round of the capture.
    if flow.summary["vantage"] != "sender":
        return lost
    return f"{lost}, and {units.exact_bytes(own['in_flight_max_bytes'].max())} were in flight at most"


def _even(_: Flow, own: pd.DataFrame) -> str:
    reason = "segments left at equal intervals"
    # Without acknowledgments the rate is unknown.
    return f"{reason}, at {units.rate(delivered_bps(own))}" if own["acked_bytes"].any() else reason


def _flat(_: Flow, own: pd.DataFrame) -> str:
    return f"{units.exact_bytes(own['in_flight_max_bytes'].median())} were in flight, round after round"


def _without_losses(flow: Flow) -> Outlook:
    if remedies.losses(flow) is remedies.Losses.POLICED:
        return Outlook("the rate that the policer lets pass, without losses")
    expected = with_change("without losses")(flow)
    if not expected or not remedies.may_be_policed(flow):
        return expected
    # The least that the path can carry would be the rate of bursts.
    return replace(expected, path="", unless="a policer allows less")


def _without_waits(flow: Flow) -> Outlook:
    if remedies.losses(flow) is remedies.Losses.WAITED:
        return with_change("without such waits")(flow)
    return _without_losses(flow)


def _findings(flow: Flow, facts: Facts | None) -> list[Finding]:
    # A constant flight is due to the send buffer, a clamp or a program: a known buffer that agrees decides.
    if facts is not None and send.agrees(flow, facts):
        return send.limits(flow, facts.sndbuf)
    if own := program.own_window(flow):
        return own
    most = phase_of(flow, flow.rtts[flow.rtts["limit"] == "cwnd"])
    nouns = {detail: one.noun for detail, one in LIMIT.causes.items() if one.noun}
    return congestion.limits(flow, most, _advice(flow, most), nouns)


def _advice(flow: Flow, most: str) -> remedies.Remedy:
    sender = remedies.of(flow, "sender")
    if most in ("recovery", "brief losses"):
        return remedies.joined(remedies.on_losses(remedies.losses(flow), sender), remedies.sack(flow))
    cause = LIMIT.causes[most]
    return remedies.Remedy(cause.action, sender.linux(*cause.commands))


def _on_one_machine(flow: Flow, why: Cause) -> Remedy | None:
    """Return the advice on late or lost acknowledgments on one machine; None for any other flow."""
    local = on_one_machine(host(flow.sender), host(flow.receiver))
    return Remedy(why.where(flow), remedies.ON_ONE_MACHINE) if local else None


def _of_others(flow: Flow, _: Cause) -> Remedy | None:
    """Return a sentence on a sender of others whose window grew without a loss; None for any other flow."""
    if needed(flow) or is_ours(flow, "sender"):
        return None
    return Remedy(
        "",
        f"Nothing to set at this end: {host(flow.sender)} decides how fast its window grows. A nearer server, or a kept "
        "connection, makes that faster.",
    )


def _over(flow: Flow, _: Cause) -> Remedy | None:
    """Return a sentence on a transfer without a loss that was over before slow start was; None for any other flow."""
    moved, rtt_ns = in_flight.whole(flow), flow.summary["rtt_min_ns"]
    is_over = flow.rtts["limit"].iloc[-1] == "idle"
    if needed(flow) or not is_over or not moved.is_timed or pd.isna(rtt_ns):
        return None
    trips = f"{moved.in_flight_ns / rtt_ns:.1f} round trips of {units.duration(rtt_ns)}"
    return Remedy(
        "", f"Nothing to mend: the data were over in {trips}, within slow start, and nothing was lost."
    )


_GROWTH: Final = Cause(
    "The congestion window held the sender back",
    _growth,
    places.sender,
    "See which congestion control the sender has: over long paths CUBIC and BBR grow faster than Reno.",
    with_change("with a larger congestion window"),
    commands=("sysctl net.ipv4.tcp_congestion_control   # sender: the one in force",),
    noun="congestion avoidance, in which the window grows slowly",
    first=(_of_others,),
    passes=True,
)

LIMIT: Final = Limit(
    code="cwnd",
    name="congestion control",
    colour=palette.ORANGE,
    meaning="Congestion control sent less than the path could carry.",
    usual=_GROWTH,
    causes={
        "recovery": Cause(
            "Packet loss held the sender back",
            _loss,
            _loses,
            "Find where packets are lost or delayed.",
            _without_losses,
            _repaired,
            also=lambda flow: remedies.sack(flow).words,
        ),
        "brief losses": Cause(
            "The congestion window held the sender back",
            _brief,
            _loses,
            "Find where packets are lost or delayed.",
            _without_waits,
            _repaired,
        ),
        "marks": Cause(
            "Congestion marks held the sender back",
            _marks,
            places.path,
            "Find the link whose queue marks packets (ECN): it is full, or it marks from a short queue on.",
            with_change("without marks"),
        ),
        "needless": Cause(
            "Retransmissions of data that had arrived held the sender back",
            _needless,
            places.both_ways,
            "Find where the delay jumps, as in the power saving of Wi-Fi, or where acknowledgments are lost.",
            with_change("without such delays"),
            _repaired,
            first=(_on_one_machine,),
        ),
        "avoidance": _GROWTH,
        "too big": Cause(
            "Packets too big for the path held the sender back",
            _too_big,
            _refusing,
            path_mtu.ADVICE,
            with_change("with packets that fit"),
        ),
        "outage": Cause(
            "Retransmission timeouts held the sender back",
            _stall,
            places.path,
            "Find out why nothing came back.",
            nothing,
            noun="an outage",
        ),
        "ignored": Cause(
            "The sender took no notice of acknowledgments",
            _ignored,
            places.path_back_or_sender,
            "See whether acknowledgments reached the sender, and whether it dropped them: a wrong checksum does that.",
            nothing,
        ),
        "return path": Cause(
            "Acknowledgments that waited on the way back held the sender back",
            _way_back,
            places.path_back,
            "Look for the queue that acknowledgments wait in: an upload or a slow uplink fills it.",
            with_change("without that queue"),
            noun="a queue on the way back",
        ),
        "late acknowledgments": Cause(
            "The receiver's delayed acknowledgments held the sender back",
            _late,
            places.receiver,
            "Let it acknowledge every second full segment at once: shorten its delayed-ACK timer, or turn it off.",
            with_change("without that delay"),
            noun="flights that the receiver acknowledged late",
        ),
        "slow start": Cause(
            "Slow start held the sender back",
            _slow_start,
            places.sender,
            "Send more over one connection: short transfers end before slow start does.",
            with_change("in a longer transfer"),
            first=(_of_others, _over),
            passes=True,
        ),
        "pacing": Cause(
            "Pacing held the sender back",
            _even,
            places.sender,
            "Look for a pacing rate: the program's SO_MAX_PACING_RATE (iperf3 --fq-rate), maxrate of the fq queue, or "
            "BBR.",
            with_change("at a higher pacing rate"),
            commands=(
                "tc qdisc show   # sender: fq maxrate",
                "sysctl net.ipv4.tcp_congestion_control   # sender: bbr paces",
            ),
        ),
        "fixed window": Cause(
            "A clamp on the congestion window held the sender back",
            _flat,
            places.sender,
            "Look for a clamp on the sender: the cwnd of its route.",
            with_change("without the clamp"),
            commands=("ip route show   # sender: cwnd lock",),
            noun="a congestion window that stayed the same",
        ),
    },
    detail=phase_of,
    findings=_findings,
    first=(datagrams.first,),
)
