"""Findings on requests and responses: the time that server, network and client took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.explain import gateways
from bdpcap.explain.exchange_shares import Held, Shares, shares, slowest
from bdpcap.explain.findings.finding import Code, Finding
from bdpcap.explain.notable import NOTABLE_SHARE
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = [
    "BEHIND",
    "EVENTS",
    "OFTEN",
    "advice",
    "are_messages",
    "explains",
    "held",
    "held_sides",
    "limited",
    "overlap",
    "sent_on",
    "told",
]

FEWEST: Final = 3
"""Smallest number of exchanges to report on; fewer have no meaningful median."""

_POLL_NS: Final = 1_000_000_000
"""Shortest wait that may be a long poll, which lasts seconds: RFC 6202 section 5.5 recommends timeouts of 30 s."""

_POLL: Final = ", or held the request until it had news (a long poll)"
_NEWS: Final = (
    "Nothing to mend on the path: the server also sends unasked, so it may have waited for news, not worked."
)

_PROXY: Final = "The server is a proxy: see in its log which servers it asked at these times."

EVENTS: Final = (
    "Nothing to mend on the path: the client sends on without an answer. The server may have waited for events, as a "
    "remote screen does."
)
"""Advice on messages that are no requests."""

_REMEDY: Final = {
    "server": "See in the server's own log whether it worked at these times{poll}.",
    "network": "Make fewer round trips: ask for more at once, send requests without waiting (pipelining, HTTP/2), or "
    "bring the server nearer.",
    "client": "Look at what the client does between a response and its next request.",
}
"""Advice by the side that took most of the time."""

WORKED_ON: Final = (
    "Answers begin soon: see whether the server works on within them, or sends news as it comes."
)
"""Advice on a server that sent most of its answers later."""
BEHIND: Final = "the server and the way to it behind a NAT or proxy"
"""Words for the server where a NAT or proxy ends TCP before it: a wait there may be for either."""

_HABIT: Final = 3
"""Smallest number of waits that show a habit of a program; one or two may be chance."""
_TWICE: Final = 2
"""Smallest number of waits that show a habit where they are half of the exchanges; a choice."""
OFTEN: Final = 1 / 8
"""Share of exchanges in which the client sent on from which it waits for no answer; a choice: fewer are exceptions."""
_OFTEN_IN_TLS: Final = 1 / 4
"""Share of such exchanges inside TLS, where control frames look like messages; a choice, twice `OFTEN`."""
_AT_ONCE: Final = (
    "Set TCP_NODELAY in {whose}, or let it write each message at once. Nagle's algorithm holds the second part of a "
    "message until the first is acknowledged."
)


def held_sides(found: Shares) -> list[Held]:
    """Return the sides that Nagle's algorithm held, the longer first; none if few, or below a tenth of all answers."""
    sides = [side for side in found.held if side.times >= min(_HABIT, max(_TWICE, found.count / 2))]
    answering_ns = (1 - found.parts["client"]) * found.lasting_ns
    notable = sum(side.lasting_ns for side in sides) >= NOTABLE_SHARE * answering_ns
    return sides if notable else []


def held(found: Shares) -> str:
    """Return a sentence on parts of messages that Nagle's algorithm held; empty if few, or hardly any of the time."""
    sides = held_sides(found)
    if not sides:
        return ""
    times = [f"{units.count(side.times)} times, {units.duration(side.lasting_ns)} in all" for side in sides]
    if len(sides) == 1:
        return (
            f"Nagle's algorithm held the {sides[0].by} back until a delayed acknowledgment came: {times[0]}."
        )
    each = ", and ".join(f"the {side.by} {said}" for side, said in zip(sides, times, strict=True))
    return f"Nagle's algorithm held both ends back until a delayed acknowledgment came: {each}."


def are_messages(found: Shares) -> bool:
    """Return whether the client often sent on before its answer came, so that it waits for none.

    Inside TLS, some of that may be control frames, so it counts if it is a habit in more exchanges. And requests of
    HTTP/2 overlap.
    """
    return _often_sent_on(found) or (found.is_plain and overlap(found))


def _often_sent_on(found: Shares) -> bool:
    return found.sent_on >= max(_HABIT, (_OFTEN_IN_TLS if found.tls else OFTEN) * found.count)


def overlap(found: Shares) -> bool:
    """Return whether both ends often sent at once, so that a stream is no requests one after the other."""
    return found.at_once >= max(_HABIT, NOTABLE_SHARE * found.count)


def sent_on(found: Shares) -> str:
    """Return how often the client sent on, as the end of a sentence; short pauses within exchanges do not show."""
    if not _often_sent_on(found):
        turns = units.number(found.count, "time")
        return f"both ends sent at once {units.number(found.at_once, 'time')}, and in turn {turns}"
    least = "" if found.sent_on == found.count else "at least "
    part = f"in {least}{units.count(found.sent_on)} of {units.number(found.count, 'exchange')}"
    return f"{part} the client sent on before an answer came"


def advice(found: Shares, side: str) -> str:
    """Return the advice: on parts of messages that were held if there are some, else on the side that took most."""
    sides = held_sides(found)
    if not sides:
        if are_messages(found):
            return EVENTS
        if side == "server" and found.news:
            return _NEWS
        if side == "server" and found.relayed:
            return gateways.REMEDY
        if side == "server" and found.asks_proxy:
            return _PROXY
        return _REMEDY[side].format(poll=_POLL if found.longest_ns[side] >= _POLL_NS else "")
    return _AT_ONCE.format(whose="each program" if len(sides) > 1 else f"the {sides[0].by}'s program")


def told(flow: Flow) -> Shares | None:
    """Return the shares of a stream of requests with responses, whose flows wait for most of their life; else None."""
    if not flow.capture._contents.has_exchanges or len(flow._requests) < FEWEST:
        return None
    flows = flow.capture.flows[flow.capture.flows["stream"] == flow.stream]
    waiting = flows["idle_share"] + (1 - flows["idle_share"]) * flows["app_share"]
    if (waiting <= 1 / 2).any():
        return None
    found = shares(flow)
    if found is None or found.count < FEWEST or found.bytes_share <= 1 / 2:
        return None
    return found


def limited(flow: Flow) -> Shares | None:
    """Return the shares of `told` where a flow's program limited it; None elsewhere.

    A subflow of Multipath TCP may have one half of each exchange.
    """
    return told(flow) if flow.summary["limit"] == "app" and not flow._counts["multipath"] else None


_ALL: Final = 0.995
"""Share of the bytes above which the rest rounds to nothing in whole per cent."""


def explains(flow: Flow) -> list[Finding]:
    """Return a finding on the exchanges: time by side, slowest exchange, and advice on the largest share."""
    found = told(flow)
    if found is None:
        return []
    side = next(iter(found.parts))
    worst = slowest(flow, side, 1).iloc[0]
    median = found.medians_ns[side]
    typical = f" (median {units.duration(median)} an exchange)" if median else ""
    names = {one: f"the {one}" for one in found.parts} | ({"server": BEHIND} if found.relayed else {})
    parts = [f"{names[one]} {units.share(part)}" for one, part in found.parts.items()]
    parts[0] = parts[0].replace(names[side], f"{names[side]} took", 1) + f" of the time{typical}"
    rest = units.share(1 - found.bytes_share)
    waits = held(found)
    left_out = "" if found.bytes_share > _ALL else f" {rest} of the bytes went in no such exchange."
    began = int(worst["request_start_ns"]) - int(flow.summary["start_ns"])
    return [
        Finding(
            code=Code.REQUEST_RESPONSE,
            sentence=f"In {found.count:,} requests with their responses {', '.join(parts)}.{left_out}"
            + (f" {waits}" if waits else ""),
            cause="Each request waits for the response to the one before. A captured wait, less one round trip to that "
            "side, is the side's own time; the network's is round trips and transfer.",
            remedy=advice(found, side),
            evidence=f"slowest: exchange {int(worst['exchange'])}, {units.duration(worst[f'{side}_ns'])} of the {side}'s "
            f"time, asked {units.duration(began)} after the stream began",
            frames=(int(worst["first_frame"]), int(worst["last_frame"])),
            values={
                "exchanges": found.count,
                **{f"{one}_share": part for one, part in found.parts.items()},
                **{f"{one}_median_ns": value for one, value in found.medians_ns.items()},
                "exchanged_bytes_share": found.bytes_share,
                "holds": sum(one.times for one in found.held),
                "held_ns": sum(one.lasting_ns for one in found.held),
            },
            source="turns, by what each segment acknowledges (RFC 9293 section 3.4)",
        )
    ]
