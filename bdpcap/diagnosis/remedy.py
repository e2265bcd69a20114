"""What to do about a flow: the place, the advice, its commands, and the rate to expect from it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from bdpcap.diagnosis import pauses, places, relay
from bdpcap.diagnosis.decide import cause, datagrams, remedied
from bdpcap.diagnosis.findings import found
from bdpcap.diagnosis.kinds import ALL, LIMIT_NAMES, app, rwnd
from bdpcap.diagnosis.natures import HIDDEN, nature
from bdpcap.diagnosis.natures.outage import stalled
from bdpcap.diagnosis.natures.requests import nobody_waited
from bdpcap.diagnosis.nearly_all import initial_window_bytes
from bdpcap.explain import gate, remedies, sendbuf
from bdpcap.explain.buffers import UNSCALED
from bdpcap.explain.capacity import Basis, basis, sent_a_window
from bdpcap.explain.exchange_shares import unasked_ns
from bdpcap.explain.expected import GAIN, Lift, lifts
from bdpcap.explain.findings import Code
from bdpcap.explain.findings.receive import slow_part
from bdpcap.explain.findings.send import fills
from bdpcap.explain.notable import NOTABLE_SHARE, NOTICED_NS, slow_opening_ns
from bdpcap.explain.once import once
from bdpcap.explain.reached import reached_bps, spoken_rate
from bdpcap.explain.remedies.host import is_ours
from bdpcap.explain.sent_again import lost, needed
from bdpcap.words import units
from bdpcap.words.endpoints import host, on_one_machine

if TYPE_CHECKING:
    from bdpcap.capture import Flow
    from bdpcap.diagnosis.model import Cause
    from bdpcap.explain.findings import Finding

__all__ = ["Remedy", "remedy"]

LAST_REQUESTS: Final = 2
"""Most requests, as large as the largest with an answer, that may have no answer; a choice."""
_GROWTH: Final = (ALL["cwnd"].causes["avoidance"], ALL["cwnd"].causes["slow start"])
"""Causes that lie in how a sender's congestion window grows."""
_ASKED: Final = {
    ALL["app"].causes["response time"]: "what the server did between a request and its answer",
    ALL["app"].causes["proxy"]: "which servers it asked, and how long each took",
    ALL["app"].causes["tunnel"]: "which server it waited for",
    ALL["app"].causes["idle"]: "whether the program waited for input, a timer, or a peer",
    ALL["app"].causes["timer"]: "whether it is to write more often",
    ALL["app"].causes["small writes"]: "whether the program waited for input, a timer, or a peer",
}
"""Signs that the operator of a sender of others can see, by cause."""
FEWEST_ANSWERS: Final = 2
"""Fewest requests with an answer that show a client in a dialogue with its server; a choice."""
_SENTENCE_END: Final = re.compile(r"(?<=[.?!]) +(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Remedy:
    """
    Advice on a flow.

    Attributes
    ----------
    where
        The end or other place to act; empty if nothing is to be mended.
    words
        The advice in sentences.
    commands
        Commands that carry it out; may be empty.
    expected
        The rate before and after, and the next limit; in words where the capture does not show the rate. Empty if
        nothing is to be mended, or nothing can be said.

    Examples
    --------
    >>> flow.remedy.words.partition(" (")[0]
    'Let the receiving program set no SO_RCVBUF'
    >>> flow.remedy.commands[0].partition("  ")[0]
    'sysctl net.ipv4.tcp_moderate_rcvbuf net.ipv4.tcp_rmem'
    """

    where: str
    words: str
    commands: tuple[str, ...] = ()
    expected: str = ""

    def __str__(self) -> str:
        return f"On {self.where}: {self.words}" if self.where else self.words


@once
def remedy(flow: Flow) -> Remedy:
    """Return the first thing to do: the nature's advice, the remedy of the root cause, or the advice for the limit.

    Where nothing is to be mended in the data, it names an opening that a person notices.
    """
    first = _first(flow)
    opening_ns = slow_opening_ns(flow.capture, flow.stream)
    if first.where or not opening_ns:
        return first
    return replace(
        first, words=f"{first.words} Only its opening was slow: it took {units.duration(opening_ns)}."
    )


def _first(flow: Flow) -> Remedy:
    kind = nature(flow)
    if kind is not None:
        return Remedy(*kind.advice(flow))
    for special in (
        _single,
        _untimed,
        _seen_whole,
        _dropped,
        _rewritten,
        _relayed,
        _beside_udp,
        _after_losses,
        _on_one_machine,
        _pauses,
        _little_to_gain,
        _of_others,
        _of_asker,
        _of_operator,
    ):
        if (advice := special(flow)) is not None:
            return advice
    why, _ = cause(flow)
    finding = remedied(flow)
    if finding is None or _is_other(finding.code, why):
        where = why.where(flow)
        return Remedy(where, why.action, (), why.then(flow) if where else "")
    words = _SENTENCE_END.split(finding.remedy, maxsplit=1)[0]
    expected = _expected(flow)
    if expected and finding.code is Code.WHAT_IT_TAKES:
        need = finding.values["bdp_bytes"]
        words += f" Filling the path takes a window of {units.exact_bytes(need)}{_other_buffer(flow, need)}."
    if why is ALL["rwnd"].causes["buffer"]:
        words += _stops(flow)
    if why is ALL["cwnd"].causes["recovery"] and (sack := remedies.sack(flow).words):
        words += f" {sack}"
    return Remedy(why.where(flow), words, _for_place(finding.commands, why), expected or why.then(flow))


def _single(flow: Flow) -> Remedy | None:
    """Return a sentence on a single packet, which waits for nothing that a capture shows; None for any other flow."""
    if flow.summary["packets"] > 1:
        return None
    return Remedy(
        "",
        "Nothing to mend is known: a single packet shows no wait. Capture both directions, from the start.",
    )


def _untimed(flow: Flow) -> Remedy | None:
    """Return the advice on a flow without time between its packets, or without any in which it sent; else None."""
    if flow.summary["active_ns"] > 0:
        return None
    if flow.summary["end_ns"] > flow.summary["start_ns"] and flow.capture.info.tick_ns < NOTICED_NS:
        return Remedy(
            "", "Nothing to mend is known: its data took less time than the clock of the capture shows."
        )
    if gate.is_untimed(flow.capture.info):
        words = "Capture there with tcpdump or dumpcap: what wrote this file gave most packets no valid time."
        return Remedy(places.either(flow), words)
    return Remedy(
        places.either(flow),
        "Capture there with a separate time stamp for each packet, in microseconds. Without times, no rate, no round "
        "trip and no limit is known.",
    )


def _after_losses(flow: Flow) -> Remedy | None:
    """Return the advice on a flow whose waits may be losses of a path that most hosts share; None for any other flow."""
    if flow.summary["limit"] != "app" or not app.may_be_losses(flow):
        return None
    return Remedy(*HIDDEN.advice(flow))


def _on_one_machine(flow: Flow) -> Remedy | None:
    """Return the advice on late or lost acknowledgments on one machine; None for any other flow."""
    why, _ = cause(flow)
    local = on_one_machine(host(flow.sender), host(flow.receiver))
    if not local or why is not ALL["cwnd"].causes["needless"]:
        return None
    return Remedy(why.where(flow), remedies.ON_ONE_MACHINE)


def _seen_whole(flow: Flow) -> Remedy | None:
    """Return the advice on an undecided flow whose handshake was captured, so that more of it would show no more."""
    why, _ = cause(flow)
    if why is not ALL["unknown"].usual or not int(flow._counts["handshake"]):
        return None
    return Remedy(why.where(flow), "Capture a longer transfer there: this one shows too little to decide.")


def _dropped(flow: Flow) -> Remedy | None:
    """Return the advice on an undecided flow whose data the capturing machine dropped; None for any other flow."""
    why, _ = cause(flow)
    drops = flow.capture.info.capture_drops
    if why is not ALL["unknown"].by_rule["missed"] or not drops:
        return None
    return Remedy(
        "the capturing machine",
        f"It dropped {units.number(drops, 'packet')}: capture again with a larger buffer (-B) and a short snap length "
        "(-s 128).",
    )


def _rewritten(flow: Flow) -> Remedy | None:
    """Return the advice on a device that changed the scale of a window that limits; None if there is no sign of one."""
    changed = found(flow).of(Code.WINDOW_SCALE_REWRITTEN)
    if changed is None or flow.summary["limit"] != "rwnd":
        return None
    return Remedy(places.path(flow), f"{changed.cause} {changed.remedy}", changed.commands)


def _relayed(flow: Flow) -> Remedy | None:
    """Return the advice on a flow that a NAT or proxy next to the capture relays; None for any other flow."""
    proxy = relay.relayed(flow)
    return None if proxy is None else Remedy(relay.place(flow), proxy.remedy)


def _beside_udp(flow: Flow) -> Remedy | None:
    """Return the advice on datagrams that take the path from the flow; None if they do not."""
    udp = datagrams(flow)
    return None if udp is None else Remedy(places.path(flow), udp.remedy, udp.commands, _without(udp))


def _of_others(flow: Flow) -> Remedy | None:
    """Return a sentence on a sender of others whose window grew without a loss; None for any other flow."""
    why, _ = cause(flow)
    if why not in _GROWTH or needed(flow) or is_ours(flow, "sender"):
        return None
    return Remedy(
        "",
        f"Nothing to set at this end: {host(flow.sender)} decides how fast its window grows. A nearer server, or a kept "
        "connection, makes that faster.",
    )


def _of_asker(flow: Flow) -> Remedy | None:
    """Return a sentence on a client's program that paused after it had its answers; None for any other flow.

    A server that answers with little more than a status, and not after most pauses, takes in an upload. So does one that
    gets more than an initial window each time. Then the program is to write on.
    """
    why, _ = cause(flow)
    alone = why in (ALL["app"].causes["idle"], ALL["app"].causes["small writes"])
    if not (alone and flow.is_from_client and flow.capture._contents.has_exchanges):
        return None
    both_bytes = flow.capture._contents.streams.sides(flow.stream)["payload_bytes"].sum()
    answers_bytes = both_bytes - flow.summary["payload_bytes"]
    if not answers_bytes:
        return None
    # Requests that overlap are none of the counted ones; each wait of the server for data of the client ends with some.
    turns = pauses.of(flow.capture.flow(flow.stream, flow.receiver).rtts).after_peer
    asked = max(len(flow._requests), turns)
    answered = answers_bytes >= NOTABLE_SHARE * both_bytes or asked >= pauses.of(flow.rtts).own
    small = flow.summary["payload_bytes"] <= asked * initial_window_bytes(flow)
    if asked < FEWEST_ANSWERS or not (answered and small):
        return None
    return Remedy(
        "",
        f"Nothing to mend on the path: the time passes at {host(flow.sender)}, with its program or its user.",
    )


def _of_operator(flow: Flow) -> Remedy | None:
    """Return the advice on a program of others that set the pace; None for any other flow."""
    why, _ = cause(flow)
    asked = _ASKED.get(why)
    if asked is None or is_ours(flow, "sender"):
        return None
    if said := _nobody_waited(flow):
        return Remedy("", said)
    return Remedy(
        why.where(flow), f"Ask its operator {asked}: the capture shows only when.", (), why.then(flow)
    )


def _nobody_waited(flow: Flow) -> str:
    """Return a sentence on a server whose pauses nobody noticed, or hardly any client waited for; empty for any other."""
    if flow.is_from_client or not flow.capture._contents.has_exchanges or flow._requests.empty:
        return ""
    server = host(flow.sender)
    why, own = cause(flow)
    asked = 2 * unasked_ns(flow, own) <= (own["end_ns"] - own["start_ns"]).sum()
    if asked or why in (ALL["app"].causes["response time"], ALL["app"].causes["proxy"]):
        return nobody_waited(flow, server)
    if lost(other := flow.capture.flow(flow.stream, flow.receiver)) and stalled(other):
        return (
            f"Nothing to mend at this end: requests to {server} were lost on the way, and it waited for them."
        )
    # Of requests that went out as data came, the capture does not show when they were answered. The last ones may have
    # had no answer.
    asked_bytes = flow.exchanges["request_bytes"]
    if other.summary["payload_bytes"] - asked_bytes.sum() > LAST_REQUESTS * asked_bytes.max():
        return nobody_waited(flow, server)
    return f"Nothing to mend at this end: for most of that time nobody had asked {server} for anything."


def _little_to_gain(flow: Flow) -> Remedy | None:
    """Return a sentence on a buffer that already lets the flow nearly fill the path; None for any other flow."""
    summary = flow.summary
    reached, path = reached_bps(flow), summary["capacity_bps"]
    if summary["limit"] not in ("rwnd", "sndbuf") or basis(summary) in (None, Basis.BOUND) or reached is None:
        return None
    if slow_part(flow) > 1 / 2 or reached * GAIN < path:
        return None
    larger = f"a larger {LIMIT_NAMES[str(summary['limit'])]}"
    return Remedy(
        "",
        f"Little to gain by {larger}: the network can carry about {units.rate(path)}, {spoken_rate(flow)} passed.",
    )


def _for_place(commands: tuple[str, ...], why: Cause) -> tuple[str, ...]:
    """Return the commands for the place of the advice: none of the other end's, if the place is one end."""
    other = (
        "# receiver" if why.where is places.sender else "# sender" if why.where is places.receiver else None
    )
    return tuple(command for command in commands if other is None or other not in command)


def _pauses(flow: Flow) -> Remedy | None:
    """Return the advice on a program whose pauses cost more than the main limit does; None if they do not.

    Nobody knows the rate that congestion control would allow without it.
    """
    limit, found = str(flow.summary["limit"]), lifts(flow)
    if limit in ("app", "cwnd") or not found or found[0].limit != "app":
        return None
    # Pauses that nobody notices are no program's fault.
    if flow.summary["app_share"] * flow.summary["active_ns"] < NOTICED_NS:
        return None
    part = units.share(flow.summary["app_share"])
    words = f"See why the program pauses: for {part} of the active time it had nothing to send."
    return Remedy(places.sender(flow), words, (), _change_to(found[0]))


def _other_buffer(flow: Flow, need_bytes: int) -> str:
    """Return words on the send buffer of Linux, which limits next; empty if its default maximum suffices."""
    memory = 2 * sendbuf.least_setting(need_bytes)
    if memory <= remedies.WMEM_DEFAULT or not remedies.of(flow, "sender").linux("sysctl"):
        return ""
    return f", and {memory:,} as the sender's tcp_wmem[2]"


def _stops(flow: Flow) -> str:
    """Return a sentence on a reader that stopped for a notable time, whatever the buffer; empty if it did not."""
    shut_ns = rwnd.shut_ns(flow.rtts)
    if shut_ns < NOTABLE_SHARE * flow.summary["active_ns"]:
        return ""
    return f" Then see why the receiving program stopped reading: that shut the window for {units.duration(shut_ns)}."


def _is_other(code: Code, why: Cause) -> bool:
    """Return whether a finding advises on another cause than the verdict names, or in general words only."""
    if why is ALL["rwnd"].causes["yielding"] or (
        code is Code.SLOW_READER and why is ALL["rwnd"].causes["passed on"]
    ):
        return True
    if code is Code.CAPTURE_INCOMPLETE:
        return why in ALL["app"].causes.values()
    if code is Code.APPLICATION_WINDOW:
        return why is not ALL["app"].causes["own window"]
    # A window that autotuning still raised is no setting that is too small.
    ramp = code in (Code.WINDOW_BELOW_BDP, Code.WHAT_IT_TAKES) and why is ALL["rwnd"].causes["ramp"]
    return ramp or code is Code.SENDER_IDLE


def _expected(flow: Flow) -> str:
    """Return the rate before and after a larger buffer, and what limits then; empty where that is not known."""
    limit = str(flow.summary["limit"])
    raised = (limit == "rwnd" and slow_part(flow) <= 1 / 2) or (limit == "sndbuf" and not fills(flow))
    # Without a window scale, the field hides how large the buffer is.
    raised &= flow.summary["window_scale_source"] != UNSCALED
    lift = next((one for one in lifts(flow) if one.limit == limit), None)
    if not raised or lift is None or not sent_a_window(flow.summary):
        return ""
    return _change_to(lift)


def _change_to(lift: Lift) -> str:
    start = "past slow start, " if lift.longer else ""
    return f"{start}{_change(lift.now_bps, lift.then_bps)}, {_NEXT.get(lift.follows, 'then another limit')}"


def _without(udp: Finding) -> str:
    """Return the rate before and after the datagrams of a path: their share becomes the flow's."""
    numbers = udp.values
    return f"{_change(numbers['tcp_bps'], numbers['tcp_bps'] + numbers['udp_bps'])}, then the link"


def _change(before_bps: float, after_bps: float) -> str:
    before, after = units.rate(before_bps), units.rate(after_bps)
    if before.split(" ")[1] == after.split(" ")[1]:
        before = before.split(" ", maxsplit=1)[0]
    return f"{before} → about {after}"


_NEXT: Final = {
    "link": "then the link",
    "rwnd": "then the receive window",
    "sndbuf": "then the send buffer",
    "cwnd": "then congestion control",
    "app": "then the program",
    "reader": "then the reading program",
}
"""Limit that comes next, in words."""
