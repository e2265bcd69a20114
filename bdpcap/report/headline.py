"""One sentence on a whole capture, and one on the flows that its report does not show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from bdpcap.diagnosis import LIMIT_NAMES, model
from bdpcap.diagnosis.decide import cause
from bdpcap.diagnosis.kinds import ALL, rwnd
from bdpcap.diagnosis.natures import (
    DISOWNED,
    LATE,
    LOSSES,
    MUTUAL,
    NO_TCP,
    OUTAGE,
    SLOW_START,
    STOPPED,
    TOO_LATE,
    nature,
)
from bdpcap.diagnosis.natures.outage import reached_others
from bdpcap.diagnosis.natures.short import LITTLE, late_answer_ns
from bdpcap.diagnosis.natures.short import NATURE as SHORT
from bdpcap.diagnosis.relay import BEHIND, relayed
from bdpcap.explain import place, trust
from bdpcap.explain.findings import requests
from bdpcap.explain.findings.path_mtu import too_big
from bdpcap.explain.notable import NOTABLE_SHARE, NOTICED_NS
from bdpcap.explain.sent_again import mostly_needless, resent_share
from bdpcap.report import connections, no_flows, oversized, slow_answers
from bdpcap.report.failures import GIVEN_UP
from bdpcap.report.ranking import (
    DETAILED_FLOWS,
    KEEP_ALIVE_BYTES,
    LEAST_SHARE,
    LOSING,
    bulk,
    has_place,
    keys,
    listed,
    lost_ns,
    once_each,
    ranked,
    ten_segments,
)
from bdpcap.timers import FIRST_TIMEOUT_NS
from bdpcap.words import units
from bdpcap.words.endpoints import host, is_public

if TYPE_CHECKING:
    from bdpcap.capture import Capture, Flow
    from bdpcap.diagnosis.model import Nature
    from bdpcap.report.ranking import Group

_ASKED: Final = 3
"""Flows not shown that are asked for a limit to lift, those that lost most time first; a choice."""

_NETWORK: Final = ["rwnd_share", "cwnd_share", "link_share"]
"""Shares of the limits that are no program's, or its host's."""

_GRAVE: Final = (
    (OUTAGE, "an outage"),
    (STOPPED, "a receiver that stopped reading"),
    (NO_TCP, "no working TCP"),
)
"""Natures that outrank every limit, with the words for a flow of each."""

_TRIPS: Final = ALL["app"].causes["round trips"]
"""Cause of a flow whose programs waited for round trips."""

_WAITED: Final = {
    "rwnd": "they waited for the receive window",
    "cwnd": "they waited for congestion control",
    "sndbuf": "they waited for the send buffer",
    "link": "they waited for the link",
    "app": "programs, their users or round trips set the pace",
    "unknown": "the evidence does not decide what held them",
}

_TRIPS_LATE: Final = 3
"""Round trips after which an acknowledgment is late: a first timer waits for three (RFC 6298 section 2.2)."""

_NEARLY_ALL: Final = 0.95
"""Share of the active time from which a headline names one limit without its share: a choice."""

_PACED: Final = "Nothing to mend in these flows."
_BRIEF: Final = "Pauses aside, each took less than a second: nothing to mend in these flows."


def summary(capture: Capture, shown: list[Group]) -> str:
    """Return one sentence on a capture of several flows, or of none: which limits held how many, by payload."""
    flows = capture.flows
    if flows.empty:
        return no_flows.sentence(capture)
    if not shown:
        return no_bulk(capture)
    flows = once_each(capture, flows)
    total = max(1, int(flows["payload_bytes"].sum()))
    # A limit that nobody here can lift is a limit still, but for the pace of a program that made nobody wait.
    well = [group.flows for group in shown if not (has_place(group.flow) or _is_held_by_others(group.flow))]
    fine = flows[flows.index.isin(pd.concat(well).index)] if well else flows.iloc[:0]
    rest_of = flows[bulk(flows)].drop(fine.index, errors="ignore")
    # The pace of a program that has no entry is nothing to mend, as far as is known.
    entered = pd.concat([group.flows for group in shown]).index
    rest_of = rest_of[(rest_of["limit"] != "app") | rest_of.index.isin(entered)]
    held = (
        rest_of["payload_bytes"]
        .groupby(_verdicts(rest_of, shown))
        .agg(["size", "sum"])
        .sort_values("sum", ascending=False)
    )
    number, size = units.number(len(flows), "flow"), units.data_size(total)
    is_partial = capture.info.missed_bytes >= NOTABLE_SHARE * total
    whole = f"The capture holds {size} of {number}" if is_partial else f"{number} carried {size}"
    kinds = [nature(group.flow) for group in shown]
    out = "".join(
        f"; {units.number(kinds.count(kind), 'flow')} had {words}" for kind, words in _GRAVE if kind in kinds
    )
    if any(kinds[0] is kind for kind, _ in _GRAVE):
        return f"{whole}{out}."
    if len(well) == len(shown):
        failed, late = connections.failed(capture), sum(count for _, count in connections.late(capture))
        but = [
            f"{units.number(count, 'connection')} {what}"
            for count, what in ((failed, "failed"), (late, "opened late"))
            if count
        ]
        noticed = _is_another_noticed(capture, flows, shown)
        # Flows of a connection that failed or opened late are no success.
        # Above the verdict stands what else is to be mended, as a device that delivers packets twice.
        mends = trust.asks_to_mend(capture)
        no_mending = f" and need no {'other ' if mends else ''}mending"
        no_need = "" if noticed or late or connections.in_vain(capture) else no_mending
        well_but = f"{no_need}; {' and '.join(but)}"
        other = " else" if mends else ""
        return f"{whole}{well_but if but else _well(shown, other, noticed=noticed)}."
    without = fine["payload_bytes"].sum() / total
    if set(rest_of["limit"]) <= {"app"} and without < NOTABLE_SHARE:
        return f"{whole}{out or _paced(shown)}."
    most = held[held["sum"] >= LEAST_SHARE * total]
    each = [
        f"{limit} ({units.number(int(own['size']), 'flow')}, {units.share(own['sum'] / total)} of it)"
        for limit, own in most.iterrows()
    ]
    out = "" if OUTAGE.title in most.index else out
    failed, late = connections.failed(capture), sum(count for _, count in connections.late(capture))
    if failed >= NOTABLE_SHARE * capture.info.streams:
        out += f"; {units.number(failed, 'connection')} failed"
    out += f"; {units.number(late, 'connection')} opened late" if late else ""
    ended = (
        f", {units.share(without)} of it in flows that need no mending" if without >= NOTABLE_SHARE else ""
    )
    limits = f". {'Other limits' if ended else 'Main limits'}: {', '.join(each)}" if each else ""
    small = 1 - without - most["sum"].sum() / total
    if (each or ended) and small >= NOTABLE_SHARE:
        limits += f"; {units.share(small)} of it in small flows"
    return f"{whole}{ended}{limits}{out}."


def _well(shown: list[Group], other: str = "", *, noticed: bool) -> str:
    """Return that nothing needs mending; of the flows shown alone, where another lost a time that a person notices."""
    if noticed:
        return "; the flows shown need no mending"
    waited = any(nature(group.flow) in (LITTLE, SHORT) and late_answer_ns(group.flow) for group in shown)
    return f"; nothing{other} {'on the path' if waited else 'in TCP'} needs mending"


def _is_another_noticed(capture: Capture, flows: pd.DataFrame, shown: list[Group]) -> bool:
    """Return whether a flow that is not shown lost a time that a person notices, or several waited so for answers."""
    others = flows.drop(pd.concat([group.flows for group in shown]).index, errors="ignore")
    if others.empty:
        return False
    return bool(lost_ns(others).max() >= NOTICED_NS or slow_answers.sentence(capture, others))


def _is_held_by_others(flow: Flow) -> bool:
    """Return whether the network or a host held a flow, though nobody here can lift that."""
    return nature(flow) is None and flow.summary["limit"] in (*LOSING, "link")


def _verdicts(flows: pd.DataFrame, shown: list[Group]) -> pd.Series[str]:
    """Return the title of each flow: its nature if the flow that stands for it has one, else its main limit.

    What waited for a NAT or proxy has a title for that.
    """
    said = flows["limit"].astype(str).map(LIMIT_NAMES)
    for group in shown:
        kind = nature(group.flow)
        title = BEHIND if kind is None and relayed(group.flow) else kind and kind.title
        if title:
            said[said.index.isin(group.flows.index)] = title
    return said


def _paced(shown: list[Group]) -> str:
    """Return the words on the pace of flows whose limit was the application."""
    asked = [requests.told(group.flow) for group in shown]
    if any(shares is not None and requests.held_sides(shares) for shares in asked):
        return "; Nagle's algorithm and delayed acknowledgments held messages back"
    if any(nature(group.flow) in (*MUTUAL, SLOW_START) or cause(group.flow)[0] is _TRIPS for group in shown):
        return "; round trips and programs set the pace"
    waited = " and waited for their programs"
    if any(relayed(group.flow) for group in shown):
        return f"{waited}, or for the path behind a NAT or proxy"
    held = pd.concat([group.flow.summary[_NETWORK] for group in shown])
    # What a path loses or refuses takes time from programs, too.
    lossy = any(resent_share(group.flow) is not None or too_big(group.flow) for group in shown)
    if lossy or (held >= NOTABLE_SHARE).any():
        return waited
    return f"{waited}; nothing here is limited by the network"


def no_bulk(capture: Capture) -> str:
    """Return a sentence on a capture of many flows without a bulk transfer; empty for any other capture."""
    flows = once_each(capture, capture.flows)
    if len(flows) <= DETAILED_FLOWS or ten_segments(flows).any():
        return ""
    carried = f"{units.number(len(flows), 'flow')} carried {units.data_size(flows['payload_bytes'].sum())}"
    lives = capture._contents.streams.lifecycles(capture.info.last_ns)
    if not any(np.isin(life["handshake"], ("complete", "not captured")).any() for life, _ in lives):
        return f"No bulk transfer here: {carried}, all of it in SYNs that opened no connection."
    if flows["stream"].isin(connections.broken(capture)).mean() > 1 / 2:
        return f"No bulk transfer here: {carried}, most of them on connections that failed."
    if moment := _moment(capture):
        return f"No bulk transfer here: {carried}. {moment}"
    leftover = _is_leftover(capture, flows) | flows.index.isin(_after_close(capture, flows))
    flows = flows if leftover.all() else flows[~leftover]
    # The sum of absurd times exceeds 64 bits.
    lasting = flows["active_ns"].astype(float)
    held = {limit: float((flows[f"{limit}_share"] * lasting).sum()) for limit in _WAITED}
    # A program waits for no acknowledgment.
    held["app"] -= float(np.minimum(_unacknowledged_ns(flows), flows["app_share"] * lasting).sum())
    limit = max(held, key=lambda name: held[name])
    if not held[limit]:
        return f"No bulk transfer here: {carried}, too fast for the clock of the capture."
    most = held[limit] / float(lasting.sum())
    lasted = "" if most >= _NEARLY_ALL else f"for {units.spoken_share(most)} of their active time "
    waited = _WAITED[limit]
    if limit == "cwnd" and (flows["cwnd_share"] * lasting)[flows["retransmits"] > 0].sum() > held[limit] / 2:
        waited = "they waited for retransmissions"
    in_vain = _sent_in_vain(flows) if limit == "cwnd" else ""
    refused = bool(oversized.sentence(capture, []))
    brief = not refused and lasting.max() < NOTICED_NS
    longest = f" {_BRIEF}" if brief else _longest(capture, flows, NOTICED_NS)
    longest = longest or slow_answers.sentence(capture, flows)
    alone = not refused and limit == "app" and held[limit] > (1 - NOTABLE_SHARE) * float(lasting.sum())
    said = in_vain or longest or (f" {_PACED}" if alone else "")
    # Congestion control waits for acknowledgments, too.
    late = "" if limit == "cwnd" else _late(flows)
    return f"No bulk transfer here: {carried}, and {lasted}{waited}{late}.{said}"


def _moment(capture: Capture) -> str:
    """Return a sentence on a capture of less than a second, most of whose connections had begun before; else empty."""
    lasted_ns = (capture.info.last_ns or 0) - (capture.info.first_ns or 0)
    if lasted_ns >= NOTICED_NS:
        return ""
    begun = [
        life["handshake"] == "not captured"
        for life, _ in capture._contents.streams.lifecycles(capture.info.last_ns)
    ]
    lasted = units.duration(lasted_ns)
    few = 2 * np.concatenate(begun).sum() <= sum(map(len, begun))
    return "" if few else f"{lasted} of connections begun before are too short to judge them."


def _is_leftover(capture: Capture, flows: pd.DataFrame) -> pd.Series[bool]:
    """Return which flows were sent again and again to the host of the capture, which answered none of them.

    It knew the connection no more, and nobody waited.
    """
    in_vain = flows["longest_stall_ns"].isna() & (flows["retransmits"] >= GIVEN_UP)
    to_own: pd.Series[bool] = flows["receiver"].map(host).isin(place.own(capture))
    return in_vain & to_own


def _after_close(capture: Capture, flows: pd.DataFrame) -> list[int]:
    """Return the indexes of the longest waits for an end that had closed the connection: nobody waited there."""
    held = _held(capture, flows, NOTICED_NS)
    return [at for at, flow, _ in held if nature(flow) in (DISOWNED, TOO_LATE)]


def _sent_in_vain(flows: pd.DataFrame) -> str:
    """Return a sentence on flows that sent data again and again, with no acknowledgment captured; empty without any."""
    vain = flows[flows["longest_stall_ns"].isna() & (flows["retransmits"] >= GIVEN_UP)]
    if vain.empty:
        return ""
    senders = list(dict.fromkeys(map(host, vain["sender"])))
    by = " and ".join(senders) if len(senders) <= 2 else units.number(len(senders), "host")
    number = units.number(len(vain), "flow")
    where = "see where these packets are lost, or their answers go"
    return f" {number}, sent by {by}, had no acknowledgment in the capture: {where}."


def _unacknowledged_ns(flows: pd.DataFrame) -> pd.Series[float]:
    """Return for each flow the longest wait for an acknowledgment, 0 if nobody notices it."""
    waited: pd.Series[float] = flows["longest_stall_ns"].astype("Float64").fillna(0.0).astype(float)
    return waited.where(waited >= NOTICED_NS, 0.0).clip(upper=flows["active_ns"].astype(float))


def _late(flows: pd.DataFrame) -> str:
    """Return the share of active time in which data waited for an acknowledgment; empty below 10 %."""
    lasting = flows["active_ns"].astype(float)
    part = _unacknowledged_ns(flows).sum() / lasting.sum()
    return "" if part < NOTABLE_SHARE else f", and for {units.share(part)} they waited for acknowledgments"


def rest(capture: Capture, shown: list[Group], lister: str = "`bdpcap flows FILE` lists all") -> str:
    """Return a sentence on the flows not shown, with what lists them; it names one that lost more time than any shown.

    The sentence is empty if all flows are shown, or none.
    """
    known = {key for group in shown for key in keys(group.others)}
    known |= {(group.flow.stream, group.flow.sender) for group in shown}
    if not shown:
        return ""
    flows = once_each(capture, ranked(capture))
    hidden = flows[[key not in known for key in keys(flows)]]
    streams = {group.flow.stream for group in shown}
    if hidden.empty or (
        set(hidden["stream"]) <= streams
        and hidden["payload_bytes"].sum() < LEAST_SHARE * flows["payload_bytes"].sum()
    ):
        return ""
    sentence = f"{units.number(len(hidden), 'more flow')} not shown; {lister}."
    least_ns = max(float(NOTICED_NS), lost_ns(flows.drop(hidden.index)).max())
    unseen = hidden[~hidden["stream"].isin({stream for stream, _ in known})]
    return f"{sentence}{_longest(capture, hidden, least_ns) or slow_answers.sentence(capture, unseen)}"


def _held(capture: Capture, flows: pd.DataFrame, least_ns: float) -> list[tuple[int, Flow, float]]:
    """Return the flows that lost most time, at least `least_ns` each, with their index and that time in ns."""
    lost = lost_ns(flows)
    most = lost[lost >= least_ns].nlargest(_ASKED)
    return list(zip(most.index.tolist(), listed(capture, flows.loc[most.index]), most.tolist(), strict=True))


def _longest(capture: Capture, flows: pd.DataFrame, least_ns: float) -> str:
    """Return a sentence on the flow that lost most time; empty unless it lost `least_ns`, and there is a place to act."""
    # Without an acknowledgment, nothing shows how long data waited. A single byte may be a keep-alive's.
    known = flows[flows["longest_stall_ns"].notna() & (flows["payload_bytes"] > KEEP_ALIVE_BYTES)]
    for _, flow, held_ns in _held(capture, known, least_ns):
        # What a short transfer or the end of a connection waited for is nobody's loss, and resets let nobody wait.
        if not has_place(flow) or nature(flow) in (DISOWNED, TOO_LATE) or _of_stranger(flow):
            continue
        if hold := _hold(flow, held_ns):
            return f" Of them, stream {flow.stream} {hold}."
    return ""


def _of_stranger(flow: Flow) -> bool:
    """Return whether a host of the Internet opened the flow's connection to the host that captured, for little data.

    Scanners and lone visitors do so. The path to one of them is theirs to mend.
    """
    client, server = (flow.sender, flow.receiver) if flow.is_from_client else (flow.receiver, flow.sender)
    flows = flow.capture.flows
    little = not ten_segments(flows[flows["stream"] == flow.stream]).any()
    return little and is_public(host(client)) and host(server) in place.own(flow.capture)


def _hold(flow: Flow, held_ns: float) -> str:
    """Return how long a flow was held, and its limit: most of the time may be one wait for an acknowledgment.

    Empty for an exchange whose time no such wait explains: its programs or round trips may have taken it.

    A receiver's TCP acknowledges within half a second (RFC 9293 section 3.8.6.3) without its program. So data that
    waited for longer waited for the path or for that host, unless the window was closed.
    """
    summary, kind = flow.summary, nature(flow)
    stall_ns, trip_ns = summary["longest_stall_ns"], summary["rtt_min_ns"]
    late = pd.isna(trip_ns) or stall_ns > _TRIPS_LATE * trip_ns
    again = int(summary["retransmits"])
    tries = f", and sent {units.number(again, 'packet')} again in all" if again else ""
    if kind is OUTAGE:
        return f"waited {units.duration(min(stall_ns, held_ns))} for an acknowledgment{tries}"
    if not late or stall_ns < held_ns / 2 or rwnd.shut_ns(flow.rtts) >= stall_ns / 2:
        if kind in MUTUAL:
            return ""
        # Rounds with a repair begin before the loss, and end after the repair.
        known_ns = min(stall_ns, held_ns) if kind in (LOSSES, LATE) else held_ns
        return f"was held for {units.duration(known_ns)}: {_held_by(flow, kind)}"
    if not flow._counts["acked_bytes"] and again:
        times = units.number(again, "time")
        return f"sent its data {times} again, and no acknowledgment came: {_why_in_vain(flow)}"
    return f"waited {units.duration(stall_ns)} for an acknowledgment{tries}"


def _why_in_vain(flow: Flow) -> str:
    """Return where to look for data that were sent again and never acknowledged."""
    start_ns, end_ns = int(flow.summary["start_ns"]), int(flow.summary["end_ns"])
    sides = flow.capture._contents.streams.sides(flow.stream)
    # A FIN or a SYN-ACK that came after the data shows that the way back was there.
    if int(sides["end_ns"][int(flow.is_from_client)]) - start_ns >= FIRST_TIMEOUT_NS:
        return f"packets of {host(flow.receiver)} came meanwhile, so see what drops those to it"
    alone = reached_others(flow, start_ns, end_ns)
    return "see what drops this connection and not others" if alone else "the path or its far end was gone"


def _held_by(flow: Flow, kind: Nature | None) -> str:
    # How much a flow carried is no reason.
    if kind not in (None, LITTLE):
        return kind.title
    # Data that had arrived when they were sent again were not lost.
    by_timers = LATE.title if mostly_needless(flow) else LOSSES.title
    # Before the first acknowledgment in a capture, no round trip shows which retransmissions a timer sent.
    if model.longest(flow.rtts[flow.rtts["limit"] == "cwnd"], "detail") == "outage":
        return by_timers
    most = max(LOSING, key=lambda name: float(flow.summary[f"{name}_share"]))
    # A repair by a timer is no growth of a window.
    return by_timers if most == "cwnd" and flow.summary["timeouts"] else LIMIT_NAMES[most]
