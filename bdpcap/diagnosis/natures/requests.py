"""Requests one after the other that fill no path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pandas as pd

from bdpcap.diagnosis import again, relay
from bdpcap.diagnosis.model import Nature, Shown, exchange
from bdpcap.diagnosis.nearly_all import initial_window_bytes
from bdpcap.explain.exchange_shares import followed, sent_on, trip_ns
from bdpcap.explain.findings import requests
from bdpcap.explain.notable import NOTICED_NS
from bdpcap.explain.reached import lacks
from bdpcap.explain.remedies.host import is_ours
from bdpcap.explain.sent_again import sent_again
from bdpcap.words import units
from bdpcap.words.endpoints import both, host

if TYPE_CHECKING:
    from bdpcap.capture import Flow
    from bdpcap.explain.exchange_shares import Shares

__all__ = ["MESSAGES", "NATURE", "named", "nobody_waited", "slowest_side"]

QUICK_ROUNDS: Final = 2
"""Round trips that a request takes at most if its response fills no path: the request's, and one of the response."""

SLIGHT: Final = 0.1
"""Share of a round trip by which round trips scatter: less is no time of a transfer, and no other part of an exchange."""
MOST: Final = 2 / 3
"""Share of the time from which on one side alone is named."""
SECOND: Final = 1 / 4
"""Share of the time from which on a second side is named, too; a choice."""
FEW_PAUSES: Final = 4
"""Most exchanges whose pauses have no usual length; a choice."""
_CAPTURE_THERE: Final = (
    "Capture there, too: only that keeps the time of its program apart from that of the path."
)
FEWEST: Final = 10
"""Fewest exchanges of which shares are given: of fewer, a single wait decides."""


def _asks(flow: Flow) -> bool:
    """Return whether a stream is requests one after the other that fill no path: small, or done in two round trips.

    A stream of which one exchange has most bytes is that transfer, from an initial window on.
    """
    # Exchanges that end within a tick of the capture's clock show no time.
    if requests.limited(flow) is None or flow._requests["duration_ns"].median() <= 0:
        return False
    each = flow._requests
    each_bytes, rtt_ns = each["request_bytes"] + each["response_bytes"], flow.summary["rtt_min_ns"]
    if each_bytes.max() > max(each_bytes.sum() / 2, initial_window_bytes(flow)):
        return False
    quick = pd.notna(rtt_ns) and each["duration_ns"].median() <= QUICK_ROUNDS * rtt_ns
    return bool(quick or each_bytes.mean() < initial_window_bytes(flow))


def _are_messages(flow: Flow) -> bool:
    """Return whether such a stream is messages: its client often sends on before an answer comes."""
    if not _asks(flow) or sent_again(flow) is not None:
        return False
    shares = requests.told(flow)
    return shares is not None and requests.are_messages(shares)


def _messages(flow: Flow) -> str:
    shares = requests.told(flow)
    if shares is None:
        return ""
    often = requests.sent_on(shares)
    return f"{often[0].upper()}{often[1:]}: these are messages, not requests."


def _requests(flow: Flow) -> str:
    shares = requests.told(flow)
    if shares is None:
        return ""
    number = units.number(shares.count, "request")
    turn = "" if requests.overlap(shares) or _is_partial(flow) else " one after the other"
    answered = _answered(flow, shares) if shares.typical.answered_ns else ""
    return f"{number}{turn}{answered}.{_more(flow, shares)}"


def _more(flow: Flow, shares: Shares) -> str:
    """Return a sentence on the waits of exchanges, after a space; of a part of them, only that it is one."""
    if _is_partial(flow):
        return " The capture lacks parts of others."
    if flow._counts["data_alone"]:
        return ""
    more = requests.held(shares) or again.said(flow)
    return f" {more}" if more else _longest(flow, shares)


def _is_partial(flow: Flow) -> bool:
    """Return whether the capture lacks data of a stream: then its exchanges are a part, and their pauses hold others."""
    return any(lacks(one) for one in (flow, flow.capture.flow(flow.stream, flow.receiver)))


def named(flow: Flow) -> tuple[str, str]:
    """Return the server and the client of a flow's stream in words."""
    first = flow._requests.iloc[0]
    return both(str(first["server"]), str(first["client"]))


def _is_held(flow: Flow) -> bool:
    """Return whether the path held many packets of a stream for so long that they were sent again."""
    found = sent_again(flow)
    return found is not None and found.arrived


def _answered(flow: Flow, shares: Shares) -> str:
    """Return when the usual answer came; of one that goes on for long, whose work that is remains open.

    Without separate acknowledgments, no round trip is apart from the time of a program.
    """
    if flow._counts["data_alone"]:
        each = flow._requests
        usual_ns = (each["response_end_ns"] - each["request_end_ns"]).median()
        return f", with answers that usually came {units.duration(usual_ns)} later"
    if _goes_on(flow, shares):
        began, ended = shares.typical.began_ns, shares.typical.answered_ns
        return (
            f": answers usually began after {units.duration(began)}, and ended after {units.duration(ended)}"
        )
    return f", typically answered in {_typical(flow, shares)}"


def _goes_on(flow: Flow, shares: Shares) -> bool:
    """Return whether most of a usual answer's time lies within it, and neither path nor acknowledgments explain that."""
    typical = shares.typical
    explained = shares.relayed or requests.held_sides(shares) or sent_again(flow)
    return not explained and typical.server_ns > typical.network_ns and _usually_soon(shares)


def _typical(flow: Flow, shares: Shares) -> str:
    """Return the time from a request to the end of its answer, and its largest part."""
    typical = shares.typical
    each_ns, took_ns, rtt_ns = typical.answered_ns, typical.network_ns, trip_ns(flow)
    if _is_held(flow):
        # What the path held looks like time of the server behind it.
        return units.duration(each_ns)
    if not _knows_way(flow) and 2 * typical.held_ns < each_ns:
        least = f": {units.duration(typical.server_ns)} of it or more {_by_server(flow, shares)}"
        return f"{units.duration(each_ns)}{least if typical.server_ns > took_ns else ''}"
    if 2 * typical.held_ns >= each_ns:
        share = f"{units.duration(typical.held_ns)} of it waits for delayed acknowledgments"
    elif typical.server_ns > took_ns:
        share = f"{units.duration(typical.server_ns)} of it {_by_server(flow, shares)}"
    elif rtt_ns is not None and took_ns <= QUICK_ROUNDS * rtt_ns:
        # The minimum of the data, whose acknowledgments may be late, can exceed the time of an exchange.
        least_ns = took_ns if _in_one_segment(flow) else min(rtt_ns, took_ns)
        transfer = took_ns - least_ns
        trips = f"round trips ({units.duration(least_ns)})"
        part = took_ns < each_ns * (1 - SLIGHT)
        if transfer > least_ns * SLIGHT:
            of_it = f"{units.duration(took_ns)} of it " if part else ""
            share = f"{of_it}{trips} and transfer ({units.duration(transfer)})"
        else:
            share = f"{f'{units.duration(took_ns)} of it round trips' if part else trips}, not bandwidth"
    else:
        share = f"{units.duration(took_ns)} of it on the network"
    return f"{units.duration(each_ns)}: {share}"


def _knows_way(flow: Flow) -> bool:
    """Return whether the capture shows the way to the server: else the quickest answer passes for a round trip to it."""
    answers = flow.capture.flow(flow.stream, flow.receiver) if flow.is_from_client else flow
    return answers._counts["sender_side_ns"] is not None


def _in_one_segment(flow: Flow) -> bool:
    """Return whether the usual request and its answer are a segment each: no transfer adds to the round trip."""
    sizes = flow._requests[["request_bytes", "response_bytes"]].median()
    return bool((sizes <= flow.summary["mss_bytes"]).all())


def _by_server(flow: Flow, shares: Shares) -> str:
    """Return to whom the server's time of a typical answer is due, in words."""
    if shares.relayed:
        return f"for {requests.BEHIND}"
    if sent_again(flow) and _answers_soon(flow, shares):
        return "in pauses within the answer, the server's or for lost packets"
    return "by the server"


def _answers_soon(flow: Flow, shares: Shares) -> bool:
    """Return whether most of the server's time lies within its answers, usually and in all."""
    return _usually_soon(shares) and _within(followed(flow, flow._requests))


def _within(each: pd.DataFrame) -> bool:
    """Return whether most of the server's time in exchanges lies after the first byte of its answers."""
    waited_ns = (each["response_start_ns"] - each["request_end_ns"]).sum()
    return bool(2 * waited_ns < each["server_ns"].sum())


def _usually_soon(shares: Shares) -> bool:
    """Return whether most of the server's time in a usual exchange lies within its answer."""
    return 2 * shares.typical.began_ns < shares.typical.server_ns


def _longest(flow: Flow, shares: Shares) -> str:
    if shares.count >= FEWEST:
        return _sum(flow, shares)
    return _slow_answer(flow) or _long_pause(flow) or _pauses(shares)


def _sum(flow: Flow, shares: Shares) -> str:
    """Return a sentence on the side that took most of the time, on a single wait that is half of it, and on the next."""
    if not _knows_way(flow):
        return _apart_from_client(shares)
    (side, part), (second, next_part), *_ = shares.parts.items()
    longest = flow._requests[f"{side}_ns"].max()
    once = pd.notna(longest) and longest >= part * shares.lasting_ns / 2
    wait = f", {units.duration(longest)} of it at once" if once else ""
    who = {
        "network": "round trips and transfer",
        "client": "pauses of the client",
        "server": "the server, and the way to it behind a NAT or proxy,"
        if shares.relayed
        else "the server's answers",
    }
    if side == "server" and not wait and not sent_again(flow) and _within(flow._requests):
        wait = ", most of it after the first byte of an answer"
    beside = f", {who[second]} {units.share(next_part)}" if next_part >= SECOND else ""
    # What a server sends unasked may be no answer.
    slow = "" if side == "server" or shares.news else _slow_answer(flow)
    news = " The server also sent unasked." if side != "network" and shares.news else ""
    return f" {who[side][0].upper()}{who[side][1:]} took {units.share(part)} of their time{wait}{beside}.{news}{slow}"


def _apart_from_client(shares: Shares) -> str:
    """Return a sentence on the larger part of the time, where the server's is not apart from that of the way to it."""
    client = shares.parts["client"]
    who, part = (
        ("Pauses of the client", client) if client > 1 / 2 else ("The server and the way to it", 1 - client)
    )
    return f" {who} took {units.share(part)} of their time."


def _longest_wait(flow: Flow) -> str:
    """Return the longest time for which a request waited until its answer began; empty if nobody notices that."""
    # Data that the server sends later may be no part of the answer.
    waited_ns = (flow._requests["response_start_ns"] - flow._requests["request_end_ns"]).max()
    return units.duration(waited_ns) if waited_ns >= NOTICED_NS else ""


def _slow_answer(flow: Flow) -> str:
    """Return a sentence on the answer that let its request wait for longest; empty if nobody notices that."""
    waited = _longest_wait(flow)
    return f" The longest answer began after {waited}." if waited else ""


def _long_pause(flow: Flow) -> str:
    """Return a sentence on the client's longest time from an answer to its next request; empty if nobody notices that."""
    between = (_until_ns(flow._requests) - flow._requests["response_end_ns"]).dropna()
    longest_ns = 0 if between.empty else int(between.max())
    return (
        f" The client's longest pause after an answer took {units.duration(longest_ns)}."
        if longest_ns >= NOTICED_NS
        else ""
    )


def _until_ns(each: pd.DataFrame) -> pd.Series[float]:
    """Return when the client sent again after each answer, perhaps in no exchange; NaN where it is not known to have."""
    ended_ns = each["request_start_ns"] + each["duration_ns"]
    # Where the server had news, or nothing followed, the exchange ended with its answer.
    return ended_ns.where(ended_ns > each["response_end_ns"], each["request_start_ns"].shift(-1))


def _pauses(shares: Shares) -> str:
    """Return a sentence on the client's pauses where they are usually longer than an answer, or longer in all."""
    pause_ns = shares.medians_ns["client"]
    if pause_ns > shares.typical.answered_ns and shares.count > FEW_PAUSES:
        return f" Pauses of the client took {units.duration(pause_ns)} in the median."
    if _most(shares) == "client":
        in_all_ns = shares.parts["client"] * shares.lasting_ns
        return f" Pauses of the client took {units.duration(in_all_ns)} in all."
    return ""


def slowest_side(flow: Flow) -> str:
    """Return the side that took most of the time of a stream's requests; empty where that is unknown."""
    shares = requests.told(flow)
    return "" if shares is None else _side(flow, shares)


def _side(flow: Flow, shares: Shares) -> str:
    """Return the side that took most of the time; of few exchanges, one with a wait that a person notices."""
    if shares.count < FEWEST and _slow_answer(flow):
        return "server"
    if shares.count < FEWEST and _long_pause(flow):
        return "client"
    return _most(shares)


def _most(shares: Shares) -> str:
    return next(iter(shares.parts))


def _requests_advice(flow: Flow) -> tuple[str, str]:
    shares = requests.told(flow)
    if shares is None:
        return "", ""
    side = _side(flow, shares)
    first = flow._requests.iloc[0]
    client, server = host(str(first["client"])), host(str(first["server"]))
    if sides := requests.held_sides(shares):
        ends = dict(zip(("server", "client"), named(flow), strict=True))
        where = ", and ".join(f"the {one.by}, {ends[one.by]}" for one in sides)
        return where, requests.advice(shares, side)
    # Where packets were lost, their repair is the network's time, and the server's own remains.
    if (side != "server" or _is_held(flow)) and (path := again.advice(flow)):
        return path
    if said := _nothing_to_mend(flow, (client, server), side, shares):
        return "", said
    if others := _unknown_way(flow, side, server) or _of_others(flow, shares, side, server):
        return others
    where = f"the server, {server}" if side == "server" else f"the client, {client}"
    worked_on = side == "server" and _answers_soon(flow, shares)
    return where, requests.WORKED_ON if worked_on else requests.advice(shares, side)


def _unknown_way(flow: Flow, side: str, server: str) -> tuple[str, str] | None:
    """Return the advice on a server whose time may pass for that of the network; None for any other."""
    return (f"the server, {server}", _CAPTURE_THERE) if side == "network" and not _knows_way(flow) else None


def _is_server_ours(flow: Flow, shares: Shares) -> bool:
    """Return whether the reader of a capture can change the server, which no NAT or proxy hides."""
    return not shares.relayed and is_ours(flow, "receiver" if flow.is_from_client else "sender")


def _of_others(flow: Flow, shares: Shares, side: str, server: str) -> tuple[str, str] | None:
    """Return the advice on a server behind a NAT or proxy, or of others, whose operator is asked; None for any other.

    Where nobody waited long for an answer, there is nothing to ask.
    """
    if side != "server" or _is_server_ours(flow, shares):
        return None
    if _answers_soon(flow, shares):
        began = units.duration(shares.typical.began_ns)
        words = f"answers began after {began}, and {server} sent the rest at its own pace."
        return "", f"Nothing to mend at this end: {words}"
    if shares.relayed:
        return relay.place(flow), requests.advice(shares, "server")
    if quick := nobody_waited(flow, server):
        return "", quick
    return (
        f"the server, {server}",
        "Ask its operator what it did at these times: the capture shows only when.",
    )


def nobody_waited(flow: Flow, server: str) -> str:
    """Return a sentence on a server of others that let nobody wait so long that it is noticed; empty for any other."""
    noticed = flow._requests["server_ns"].max() >= NOTICED_NS
    return "" if noticed else f"Nothing to mend at this end: no answer of {server} took longer than a second."


def _nothing_to_mend(flow: Flow, ends: tuple[str, str], side: str, shares: Shares) -> str:
    """Return the advice where nothing is to be mended between client and server; empty elsewhere."""
    client, server = ends
    if client == server:
        return "Nothing to mend on a path: both programs run on one host, and they decide."
    if requests.are_messages(shares):
        return requests.EVENTS
    if side == "client":
        return _of_client(flow, client, server, shares)
    taken_ns = shares.parts[side] * shares.lasting_ns
    if not _knows_way(flow):
        taken_ns, side = (1 - shares.parts["client"]) * shares.lasting_ns, "server"
    if taken_ns < NOTICED_NS:
        whose = "" if shares.relayed else " of the server"
        what = f"answers{whose}" if side == "server" else "round trips and transfers"
        return f"Nothing to mend: all {what} took {units.duration(taken_ns)}."
    return requests.advice(shares, side) if side == "server" and shares.news else ""


def _of_client(flow: Flow, client: str, server: str, shares: Shares) -> str:
    """Return the advice where a client's pauses took most of the time."""
    whose = f"{client}, with its program or its user"
    if shares.parts["client"] >= MOST:
        waited = "" if shares.news else _longest_wait(flow)
        ours = waited and _is_server_ours(flow, shares)
        slow = f" See why {server} began one answer after {waited}." if ours else ""
        quick = "" if waited else f" or at {server}"
        return f"Nothing to mend on the path{quick}: the time passes at {whose}.{slow}"
    own, other = (units.share(shares.parts[end]) for end in ("client", "server"))
    if shares.relayed:
        return (
            f"Nothing to mend here: {own} of the time passes at {whose}, and {other} behind the NAT or proxy."
        )
    return f"Nothing to mend on the path: {own} of the time passes at {whose}, and {other} at {server}."


def _shown(flow: Flow) -> Shown | None:
    """Return the frames of the exchange, or of the client's pause, that took longest of what the sentence names."""
    shares = requests.told(flow)
    if shares is None:
        return None
    each = flow._requests
    if sides := requests.held_sides(shares):
        return exchange(flow, each[f"{'request' if sides[0].by == 'client' else 'response'}_held_ns"])
    if sent_again(flow):
        return exchange(flow, each["network_ns"])
    if requests.are_messages(shares):
        return exchange(flow, each["request_pause_ns"][sent_on(flow)])
    side = _side(flow, shares)
    return _pause(each) if side == "client" else exchange(flow, each[f"{side}_ns"])


def _pause(each: pd.DataFrame) -> Shown | None:
    """Return the frames of the client's longest pause: from an answer, or the request before it, to the next request."""
    follows = _until_ns(each) == each["request_start_ns"].shift(-1)
    known = each["client_ns"].where(follows)[:-1].fillna(-1)
    place = known.argmax()
    if known.iloc[place] < 0:
        return None
    one, then = each.iloc[place], each.iloc[place + 1]
    until_ns, since_ns = int(then["request_start_ns"]), int(one["response_end_ns"])
    within = int(one["request_end_ns"] - one["request_start_ns"]) > until_ns - since_ns
    frame, since_ns = (
        (one["first_frame"], int(one["request_start_ns"])) if within else (one["last_frame"], since_ns)
    )
    return Shown(int(frame), int(then["first_frame"]), since_ns, until_ns)


NATURE: Final = Nature("requests and responses", _asks, _requests, _requests_advice, _shown)
MESSAGES: Final = Nature("messages both ways", _are_messages, _messages, _requests_advice, _shown)
