"""The sending application."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from bdpcap.diagnosis import asker, pauses, places, relay
from bdpcap.diagnosis.model import Cause, Limit, Remedy, Shown, exchange, longest
from bdpcap.diagnosis.outlook import paced, with_change
from bdpcap.explain import shared_losses
from bdpcap.explain.capacity import INITIAL_WINDOW
from bdpcap.explain.exchange_shares import answering_ns, began_ns, served_ns, shares, trip_ns, waits
from bdpcap.explain.findings import Code, program, requests, send
from bdpcap.explain.findings.program import receivers_window
from bdpcap.explain.notable import NOTABLE_SHARE, NOTICED_NS
from bdpcap.explain.sent_again import FEWEST as FEWEST_LOST
from bdpcap.explain.sent_again import needed, resent_share
from bdpcap.timers import FIRST_TIMEOUT_NS, LEAST_TIMER_NS
from bdpcap.words import palette, units
from bdpcap.words.endpoints import both

if TYPE_CHECKING:
    from bdpcap.capture import Flow
    from bdpcap.explain.findings import Finding
    from bdpcap.explain.solver import Facts

__all__ = ["HABITS", "LIMIT", "hides_losses", "is_alone", "may_be_losses", "mend_losses", "owing"]

ONE_TRIP: Final = 1.1
"""Length of a round, in least round trips, up to which one flight and its acknowledgment took it; RTTs vary so much."""
FEWEST: Final = 3
"""Fewest flights that show how a program writes: one or two may be a greeting."""
NOTABLE_OWN: Final = 1 / 4
"""Share of the time from which on the server's own part of it is named, too; a choice."""
LONGEST_TIMER_NS: Final = 60_000_000_000
"""Longest pause that may be a timer's: RFC 6298 allows a maximum from 60 s on (section 2.5), and few wait for more."""
_DRAINED: Final = ("app-idle", "app-conversation")
"""Rules by which nothing was sent after a flight until it was acknowledged."""
HABITS: Final = {
    "app-own-time": "it wrote at its own pace, not when acknowledgments came",
    "app-starts": "it waited again and again until nothing was in flight, then wrote more",
    "app-blocks": "each burst was one write",
    "app-short": "it wrote less than a segment at a time",
    "app-below-least": "it kept less than two segments in flight",
    "app-conversation": "it waited for its peer's replies",
    "kernel-room": "its kernel had sent all data, and the send buffer had room",
}
"""Behaviour of the sending program in words, by the rule that decided."""


_ALONE: Final = ("idle", "small writes")
"""Details of a program that waited for nobody."""


def is_alone(flow: Flow) -> bool:
    """Return whether the program of a flow waited for nobody, for most of the time that it took."""
    return LIMIT.detail(flow, flow.rtts[flow.rtts["limit"] == "app"]) in _ALONE


def may_be_losses(flow: Flow) -> bool:
    """Return whether pauses may be waits for timers: most hosts lose packets on the flow's path, and pauses last as long.

    Or the flow lost much by itself.
    """
    found = pauses.of(flow.rtts)
    as_timers = found.own * LEAST_TIMER_NS <= found.own_ns <= found.own * FIRST_TIMEOUT_NS
    shared = found.own and as_timers and shared_losses.place(flow)
    return bool(shared or hides_losses(flow))


def hides_losses(flow: Flow) -> bool:
    """Return whether a flow of its program lost much before the capture, and seems to pause for longer than a second.

    Of a flight that is lost whole, later segments show nothing; its timer may have doubled.
    """
    if flow.summary["limit"] != "app":
        return False
    share, least = resent_share(flow), needed(flow)
    lost_before = 2 * int(flow._counts["lost_before_tap"]) > least >= FEWEST_LOST
    if not lost_before or (share or 0) < NOTABLE_SHARE:
        return False
    found = pauses.of(flow.rtts)
    return NOTICED_NS <= found.own_ns <= found.own * LONGEST_TIMER_NS


def mend_losses(flow: Flow) -> tuple[str, str]:
    """Return the place of losses that look like pauses, and the advice on them."""
    place = shared_losses.place(flow) or places.path(flow)
    return (
        place,
        "Mend its losses first: flights that were lost before the capture look like pauses of a program.",
    )


def _after_losses(flow: Flow, _: Cause) -> Remedy | None:
    """Return the advice on a flow whose waits may be losses of a path that most hosts share; None for any other flow."""
    return Remedy(*mend_losses(flow)) if may_be_losses(flow) else None


def _pauses(flow: Flow, own: pd.DataFrame) -> str:
    # The reason is that of the named detail: a flow of small writes pauses, too.
    own = own[own["detail"] == longest(own, "detail")]
    rule = str(longest(own, "rule"))
    if rule != "app-idle":
        return HABITS.get(rule, "")
    found = pauses.of(flow.rtts)
    lasting = units.duration(found.own_ns)
    if found.own == 0:
        return ""
    paused = f"for {lasting}" if found.own == 1 else f"{units.count(found.own)} times, {lasting} in all"
    return f"{_drained(flow, found)}it paused {paused}"


def _drained(flow: Flow, found: pauses.Pauses) -> str:
    """Return the flights that held all that a program had, where pauses are less than half of its time; else empty."""
    own = flow.rtts[flow.rtts["limit"] == "app"]
    if 2 * found.own_ns >= (own["end_ns"] - own["start_ns"]).sum():
        return ""
    flights = len(_whole_flights(own))
    return f"{units.number(flights, 'flight')} held all that it had, and " if flights >= FEWEST else ""


def _whole_flights(own: pd.DataFrame) -> pd.DataFrame:
    """Return the rounds of flights after which nothing was sent until they were acknowledged."""
    return own[(own["in_flight_max_bytes"] > 0) & own["rule"].isin(_DRAINED)]


def _period(flow: Flow, _: pd.DataFrame) -> str:
    every_ns = pauses.period_ns(flow.rtts)
    return "" if every_ns is None else f"it wrote every {units.duration(every_ns)}"


def _peers_data(flow: Flow, _: pd.DataFrame) -> str:
    found = pauses.of(flow.rtts)
    return f"these came in {units.count(found.after_peer)} of its {units.number(found.count, 'pause')}"


def owing(own: pd.DataFrame) -> pd.DataFrame:
    """Return the rounds in which the server owed an answer."""
    return own[own["detail"] == "response time"]


def _answers(flow: Flow, own: pd.DataFrame) -> str:
    took_ns, requests_named = _answering(flow, own)
    if requests_named:
        named = units.number(requests_named, "request")
        return f"it took {units.duration(took_ns)} in all to answer {named}{_for_little(flow, took_ns)}"
    lasting = f", {units.duration(took_ns)} in all" if took_ns else ""
    return f"{units.number(len(owing(own)), 'request')}{lasting}"


def _for_little(flow: Flow, took_ns: int) -> str:
    """Return a clause on one answer that took most of a time and has a small part of the flow's data; else empty."""
    each = flow._requests
    slowest = each.iloc[each["server_ns"].fillna(0).to_numpy().argmax()]
    little = slowest["response_bytes"] < NOTABLE_SHARE * flow.summary["payload_bytes"]
    if len(each) < 2 or not little or 2 * slowest["server_ns"] <= took_ns:
        return ""
    size = units.data_size(slowest["response_bytes"])
    return f", {units.duration(slowest['server_ns'])} of it for {size}"


def _answering(flow: Flow, own: pd.DataFrame) -> tuple[int, int]:
    """Return the time that a server took to answer in some rounds, and its requests; 0 where only rounds show them."""
    found, took_ns = waits(flow, own), answering_ns(flow, owing(own))
    if found is not None and not flow.is_from_client and found.own_ns >= max(took_ns, 1):
        whole_ns = served_ns(flow, own)
        if whole_ns:
            return whole_ns, len(flow._requests)
    return took_ns, 0


def _is_slow(flow: Flow, own: pd.DataFrame) -> bool:
    """Return whether a server's answers took most of the time that its program held the flow, and more than the path.

    Where round trips are not measured again and again, they may take twice as long as the least.
    """
    took_ns, _ = _answering(flow, own)
    owed, trip = owing(own), trip_ns(flow)
    beyond = trip is None or took_ns > len(owed) * trip
    return bool(beyond and 2 * took_ns >= flow.summary["app_share"] * flow.summary["active_ns"])


def _sent_on(flow: Flow, _: pd.DataFrame) -> str:
    found = requests.told(flow)
    return "" if found is None else requests.sent_on(found)


def _outstanding(flow: Flow, _: pd.DataFrame) -> str:
    most = units.exact_bytes(flow.summary["in_flight_max_bytes"])
    return f"it waited for its peer's replies with {most} in flight at most"


def _window_owner(flow: Flow) -> str:
    """Return the receiving host if the window is HTTP/2's, else both hosts."""
    return places.receiver(flow) if receivers_window(flow) else places.programs(flow)


def _waited(flow: Flow) -> Shown | None:
    """Return the frames of the exchange with the longest wait for an answer; None if that is in no exchange."""
    if not flow.capture._contents.has_exchanges:
        return None
    owed, each = owing(flow.rtts), flow.exchanges
    wait = owed.loc[[(owed["end_ns"] - owed["start_ns"]).idxmax()]].iloc[0]
    own = (each["request_start_ns"] <= wait["end_ns"]) & (each["response_end_ns"] >= wait["start_ns"])
    return exchange(flow, each["server_ns"][own])


def _tripped(flow: Flow) -> Shown | None:
    """Return the frames of the exchange in which the network took longest."""
    return exchange(flow, flow.exchanges["network_ns"])


_IDLE: Final = Cause(
    "The sending program had nothing to send",
    _pauses,
    places.sender,
    "TCP and the path waited for the program. See what it waits for between its writes: input, a timer, or a peer.",
    paced("as fast as the program writes"),
    first=(asker.first,),
    asked="whether the program waited for input, a timer, or a peer",
)


def _peer(flow: Flow, own: pd.DataFrame) -> str:
    found = waits(flow, own)
    if found is None:
        return ""
    handshake = (
        f", {units.duration(found.handshake_ns)} of it for the handshake"
        if found.handshake_ns >= found.peer_ns * NOTABLE_SHARE
        else ""
    )
    sender, receiver = both(flow.sender, flow.receiver)
    rest = f", {sender} {units.duration(found.own_ns)}" if found.own_ns else ""
    return f"{receiver} took {units.duration(found.peer_ns)}{handshake}{rest}"


def _trips(flow: Flow, own: pd.DataFrame) -> str:
    if not _are_trips(flow, own):
        flights, rtt_ns = _flights(flow, own), flow.summary["rtt_min_ns"]
        most = units.data_size(int(flights["in_flight_max_bytes"].max()))
        number = units.number(len(flights), "flight")
        return f"{number}, {most} at most, took a round trip ({units.duration(rtt_ns)}) each"
    number = units.number(len(flow.exchanges), "exchange")
    trips = f"{number}, one after the other, took about a round trip ({units.duration(trip_ns(flow))}) or more each"
    return f"{trips}{_beside_trips(flow, own)}"


def _beside_trips(flow: Flow, own: pd.DataFrame) -> str:
    """Return a clause on the server's own time in some rounds, where it is a notable part; else empty."""
    found = waits(flow, own)
    server_ns = 0 if found is None else found.peer_ns if flow.is_from_client else found.own_ns
    if found is None or server_ns < NOTABLE_OWN * (own["end_ns"] - own["start_ns"]).sum():
        return ""
    server = both(flow.sender, flow.receiver)[int(flow.is_from_client)]
    return f", and {units.duration(server_ns)} more passed at {server} or in delays of the path"


def _are_trips(flow: Flow, own: pd.DataFrame) -> bool:
    """Return whether round trips of requests took most of some rounds' time, and the programs of both ends did not."""
    rtt_ns = trip_ns(flow)
    if rtt_ns is None or (found := waits(flow, own)) is None:
        return False
    half_ns = int((own["end_ns"] - own["start_ns"]).sum()) / 2
    trips_ns = len(flow.exchanges) * rtt_ns
    return bool(trips_ns >= half_ns > found.own_ns + found.peer_ns)


def _flights(flow: Flow, own: pd.DataFrame) -> pd.DataFrame:
    """Return the rounds of such flights that took one round trip; none where that is unknown."""
    whole, rtt_ns = _whole_flights(own), flow.summary["rtt_min_ns"]
    trips_ns = 0 if pd.isna(rtt_ns) else ONE_TRIP * rtt_ns
    return whole.loc[whole["end_ns"] - whole["start_ns"] <= trips_ns]


def _are_flights(flow: Flow, own: pd.DataFrame) -> bool:
    """Return whether round trips of small flights took most of some rounds' time, and most followed without a pause.

    A larger flight is a part of its program's write, and a program with a timer pauses after each.
    """
    flights, half_ns = _flights(flow, own), int((own["end_ns"] - own["start_ns"]).sum()) / 2
    window = INITIAL_WINDOW * int(flow.summary["mss_bytes"])
    if 2 * pauses.of(flow.rtts).count >= len(flights) or flights["in_flight_max_bytes"].median() > window:
        return False
    return bool((flights["end_ns"] - flights["start_ns"]).sum() >= half_ns > answering_ns(flow, owing(own)))


def _detail(flow: Flow, own: pd.DataFrame) -> str | None:
    """Return the detail that holds for longest, or whose time a program waited for: its peer's, or round trips."""
    if relay.relayed(flow):
        return "relayed"
    detail = longest(own, "detail")
    if detail == "small writes" and _are_slight(flow, own):
        detail = "idle"
    if detail in ("idle", "small writes") and (_are_trips(flow, own) or _are_flights(flow, own)):
        return "round trips"
    if detail == "response time":
        if (told := requests.told(flow)) is not None and requests.are_messages(told):
            return "events"
        if told is None and _signals(flow):
            return "events"
        slow = _slow(flow, own)
        proxy = slow == detail and flow.capture._contents.streams.asks_proxy(flow.stream)
        return "proxy" if proxy else slow
    return _by_itself(flow, own, str(detail)) if detail in ("small writes", "idle") else detail


def _by_itself(flow: Flow, own: pd.DataFrame, detail: str) -> str:
    """Return the detail of a program with little to send: a timer, another habit, a tunnel, or the wait for its peer."""
    found, paused = _waiting(flow, own, detail), pauses.of(flow.rtts)
    # Data of the peer may have come by its timer, and repairs of lost flights by that of TCP.
    alone = found in ("small writes", "idle") and 2 * paused.after_peer <= paused.count
    if alone and pauses.period_ns(flow.rtts) and not may_be_losses(flow):
        return "timer"
    tunnels = found in ("small writes", "idle") and not flow.is_from_client
    return "tunnel" if tunnels and flow.capture._contents.streams.asks_proxy(flow.stream) else found


def _slow(flow: Flow, own: pd.DataFrame) -> str:
    """Return the detail of a server that owed answers for most of its program's time."""
    if _is_slow(flow, own) or flow.exchanges.empty or trip_ns(flow) is None:
        return "response time"
    owed = owing(own)
    waited_ns = int((owed["end_ns"] - owed["start_ns"]).sum())
    quick = 2 * answering_ns(flow, owed) < waited_ns
    return "round trips" if quick else _waiting(flow, own, "idle")


def _signals(flow: Flow) -> bool:
    """Return whether most bytes of a stream went both ways at once, and fewer from the server: it hardly answered any."""
    if flow.is_from_client or not flow.capture._contents.has_exchanges:
        return False
    found = shares(flow)
    if found is None or found.bytes_share > 1 / 2:
        return False
    both_bytes = np.sum(flow.capture._contents.streams.sides(flow.stream)["payload_bytes"])
    return bool(2 * flow.summary["payload_bytes"] < both_bytes)


def _are_slight(flow: Flow, own: pd.DataFrame) -> bool:
    """Return whether small writes carried a slight part of a flow's data, as the handshake of TLS does."""
    small_bytes = own.loc[own["detail"] == "small writes", "acked_bytes"].sum()
    return bool(small_bytes < NOTABLE_SHARE * flow.rtts["acked_bytes"].sum())


def _waiting(flow: Flow, own: pd.DataFrame, detail: str) -> str:
    """Return the detail of a program with little to send: its own habit, or the wait for its peer."""
    found = waits(flow, own)
    held_ns = flow.summary["app_share"] * flow.summary["active_ns"]
    if found is not None and detail == "idle" and found.peer_ns > max(found.own_ns, held_ns / 2):
        return "peer's time"
    caused = pauses.of(flow.rtts).cause
    if found is None or flow.is_from_client:
        return caused or detail
    # A server's wait for the next request is nobody's loss: its own answers are what held the active time.
    # Most of it may lie within an answer, at the pace of a server that has news.
    if 2 * found.own_ns >= held_ns and _is_slow(flow, own):
        return "response time" if 2 * began_ns(flow, own) >= found.own_ns else detail
    return detail if caused == "peer's data" else caused or detail


def _findings(flow: Flow, facts: Facts | None) -> list[Finding]:
    # A constant flight is due to the send buffer or a program: a known buffer that agrees decides.
    if facts is not None and send.agrees(flow, facts):
        return send.limits(flow, facts.sndbuf)
    return program.idle(flow)


LIMIT: Final = Limit(
    code="app",
    name="application",
    colour=palette.SKY,
    meaning="The sending application offered no more data.",
    usual=_IDLE,
    causes={
        "idle": _IDLE,
        "small writes": replace(_IDLE, headline="The sending program wrote small pieces"),
        "timer": Cause(
            "A timer set the pace of the sending program",
            _period,
            places.sender,
            "TCP and the path waited for the program. To send faster, it has to write more at once, or more often.",
            _IDLE.then,
            asked="whether it is to write more often",
        ),
        "response time": Cause(
            "The server's program let its client wait",
            _answers,
            places.sender,
            "See what the server does between a request and its answer: that time is not in the capture.",
            paced("as fast as the server answers"),
            _waited,
            asked="what the server did between a request and its answer",
            owed=True,
        ),
        "proxy": Cause(
            "The proxy let its client wait, for itself or for servers behind it",
            _answers,
            places.sender,
            "See in the proxy's log which servers it asked, and how long each took.",
            paced("as fast as these servers answer"),
            _waited,
            asked="which servers it asked, and how long each took",
            owed=True,
        ),
        "tunnel": Cause(
            "The proxy had nothing to pass on",
            _pauses,
            places.sender,
            "It waited for the server behind it, or for the path there. See in its log which server that was.",
            paced("as fast as that server and the path to it"),
            asked="which server it waited for",
        ),
        "events": Cause(
            "The server's program waited, not for the network",
            _sent_on,
            places.nowhere,
            "Nothing to mend on the path: that program may have waited for events, as a remote screen does.",
            paced("as fast as the program writes"),
            _waited,
            owed=True,
        ),
        "peer's time": Cause(
            "The sending program waited for the other end",
            _peer,
            places.receiver,
            "See what takes its time there: its program, its user, its host, or the path to it.",
            paced("as fast as that end asks and answers"),
        ),
        "peer's data": Cause(
            "The sending program waited for data of the other end",
            _peers_data,
            places.receiver,
            "See what takes its time there: its program, its user, its host, or the path to it.",
            paced("as fast as that end sends"),
        ),
        "round trips": Cause(
            "Round trips held the programs back, not bandwidth",
            _trips,
            places.programs,
            "Make fewer round trips: keep connections open, resume TLS sessions, and ask for more at once. A nearer host "
            "shortens them.",
            paced("as fast as the programs ask"),
            _tripped,
        ),
        "relayed": Cause(
            "The NAT or proxy had nothing to pass on",
            lambda _flow, _own: "it waited for the far end's program, or for the path behind it",
            relay.place,
            "Capture there, on its interface to the network: only there is the path seen.",
            paced("as fast as the far end and the path behind it"),
        ),
        "own window": Cause(
            "The program's own window held the sender back",
            _outstanding,
            _window_owner,
            "Let the program keep more outstanding: its own window, or the number of its requests.",
            with_change("with more data outstanding"),
            overrules=frozenset({Code.SENDER_IDLE}),
        ),
    },
    detail=_detail,
    findings=_findings,
    first=(relay.first, _after_losses),
    overrules=frozenset({Code.CAPTURE_INCOMPLETE}),
)
