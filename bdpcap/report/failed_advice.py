"""Advice on connections that failed or opened late, by their kind and surroundings."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap._core import NULL
from bdpcap.limits.classify import NEXT_TO_NS
from bdpcap.limits.evidence.writes import TLS_FAREWELL_BYTES
from bdpcap.read import hops
from bdpcap.report import failed_words, tls, unclosed
from bdpcap.report.failed_around import RACING, SEVERAL
from bdpcap.report.failed_lines import WITHOUT_DATA
from bdpcap.report.failures import (
    LATE,
    MOST_SYNS,
    REPEATED,
    REPEATED_NS,
    TLS_FAILED,
    TLS_UNANSWERED,
    TOO_LATE,
)
from bdpcap.report.many_names import NAMED
from bdpcap.timers import FIRST_TIMEOUT_NS
from bdpcap.words import units
from bdpcap.words.endpoints import is_link_local, is_loopback, is_public, is_unique_local

if TYPE_CHECKING:
    from bdpcap.report.failed_around import Around
    from bdpcap.report.failed_line import Line
    from bdpcap.report.talks import Talks

__all__ = ["BY_CHANCE", "advice", "of_several", "shortly"]


BY_CHANCE: Final = 2
"""Most SYNs in a row that loss takes from a connection while others pass; a choice: of three, 1 in 8,000 at 5 %."""
_LEAST_IDLE_NS: Final = 5_000_000_000
"""Least time after which servers close an idle connection: Apache's ``KeepAliveTimeout``, the shortest in wide use."""
_LOOKED_AT: Final = 100
"""Most connections of a line at whose times others are looked at; a choice."""
_LAST_REPEAT_NS: Final = 32_000_000_000
"""Time before the last SYN of a series: of Linux's seven, doubled from 1 s on (``tcp_syn_retries``; RFC 6298)."""
_UNSURE: Final = (
    failed_words.BY_KIND["refused"],
    failed_words.NO_SERVICE,
    failed_words.ONE_LOST,
    failed_words.LOST_OR_DROPPED,
    failed_words.LOST_OR_EARLY,
    failed_words.ROUTE_WORKS,
    failed_words.ANSWERED_LATE,
    failed_words.LATE_FOR_SEVERAL,
)
"""Advice on refused or late connections that the place of the answers, or other connections, make surer."""
_TRIED: Final = ("never answered", "refused")
"""Kinds of connections to a peer that is gone."""
_END_OF_CLAUSE: Final = r"(?<!:)[:;.](?: |$)"
"""No colon of an address or point of a number: those have no space after them, or two colons."""


def advice(line: Line, kind: str, around: Around) -> str:
    """Return the advice on connections of one kind, as far as their surroundings leave it open."""
    if kind == "never answered" and around.by_router and not line.routed and not line.is_trace:
        passed = around.others.answered_each(line.every_try[0])
        return failed_words.DROPPED_SOME if passed else failed_words.DROPPED
    if searched := _searched(line, kind, around):
        return searched
    if kind == "never answered":
        return f"{_without_answer(line, around)}{_over_ipv4(line, around.others)}"
    if line.ends in around.multipath:
        return failed_words.SUBFLOWS
    if kind in (LATE, "refused"):
        words = _late(line, around.others) if kind == LATE else _refused(line, around)
        return _by_others(line, kind, around) or words if words in _UNSURE else words
    return _opened(line, kind, around)


def of_several(line: Line, words: str, around: Around) -> str:
    """Return the advice on all SYNs of a line to several servers, given that on each: together they may show more."""
    several = len(line.servers) >= SEVERAL and len(line.clients) == 1
    alone = (
        several
        and words == failed_words.BY_KIND["never answered"]
        and around.others.answered(line.clients.one)
    )
    if not alone:
        return words
    port = line.ports.one
    blocked = len(line.ports) == 1 and not around.others.opened(line.clients.one, port)
    return failed_words.ONE_PORT.format(port) if blocked else failed_words.THESE_ALONE


def shortly(words: str) -> str:
    """Return the first clause of an advice, for a line that follows one with the whole of it."""
    return f"{re.split(_END_OF_CLAUSE, words, maxsplit=1)[0]}."


def _searched(line: Line, kind: str, around: Around) -> str:
    """Return the advice on connections of a client that looked for routers, ports or peers, or is no TCP; else empty."""
    if line.is_trace:
        return failed_words.TRACE.format(max(line.ttls))
    if made := _made(line, kind):
        return made
    if kind in WITHOUT_DATA and line.ends in around.scanned:
        return failed_words.SCAN
    if kind in WITHOUT_DATA and line.ends in around.fingerprinted:
        return failed_words.FINGERPRINTED
    if peers := _peers(line, kind, around):
        return peers
    sweeps = kind in WITHOUT_DATA and len(line.clients) == 1 and line.clients.one in around.sweeping
    return failed_words.SWEEP if sweeps else ""


def _peers(line: Line, kind: str, around: Around) -> str:
    """Return the advice on connections to peers that may be gone; empty for others."""
    if kind not in _TRIED:
        return ""
    if line.of_updates:
        return failed_words.UPDATES
    return failed_words.PEERS if len(line.clients) == 1 and line.clients.one in around.searching else ""


def _made(line: Line, kind: str) -> str:
    """Return the advice on SYNs to no host, that no TCP made, or that a device answered or gave up; empty for others."""
    if kind == "refused" and line.by_one_device:
        return failed_words.ONE_DEVICE.format(*line.answer_ttls)
    if kind != "never answered":
        return ""
    if line.reset_late:
        return failed_words.GAVE_UP
    if len(line.servers) == 1 and (of_no_host := _of_no_host(line.servers.one)):
        return of_no_host
    if is_loopback(line.servers.one) and not is_loopback(line.clients.one):
        return failed_words.FALSE_SOURCES
    return failed_words.GENERATED if line.most_syns > MOST_SYNS else ""


def _of_no_host(address: str) -> str:
    """Return the advice on an address that no host of the Internet has; empty for any other."""
    if address == failed_words.OF_CLOUDS:
        return failed_words.NO_CLOUD
    return failed_words.NO_HOST if address.startswith("0.") else ""


def _without_answer(line: Line, around: Around) -> str:
    """Return the advice on SYNs that were never answered."""
    if by_icmp := _by_icmp(line, around):
        return by_icmp
    accepted = line.is_one_port and around.others.accepted(line.servers.one, line.ports.one, 0)
    if line.at_server:
        dropped = failed_words.SCANNED if line.of_strangers else failed_words.DROPPED_THERE
        return failed_words.SILENT if accepted else dropped
    if without := _of_client(line, around):
        return without
    if accepted:
        return _lost(line, around)
    if line.once_each and around.last_ns - line.end_ns > REPEATED_NS:
        return _never_repeated(line, around)
    return failed_words.LATE_MEANWHILE if _are_late(line, around) else _silent_host(line, around.others)


def _by_icmp(line: Line, around: Around) -> str:
    """Return the advice from ICMP messages about most SYNs of a line, in the same words; empty without them."""
    if not around.by_icmp:
        return ""
    tried, counts = np.unique(line.every_try[0], return_counts=True)
    advised: Counter[str] = Counter()
    for key, count in zip(tried.tolist(), counts.tolist(), strict=True):
        advised[around.by_icmp.get(key, "")] += count
    words, connections = advised.most_common(1)[0]
    if not words or 2 * connections <= line.connections:
        return ""
    return words if connections == line.connections else failed_words.FOR_MOST.format(words)


def _are_late(line: Line, around: Around) -> bool:
    """Return whether connections to several servers opened late as most of a line were tried, whose client is near."""
    if not line.at_client:
        return False
    servers, at_ns = around.late
    _, tried_ns = line.every_try
    late = [
        len(np.unique(servers[abs(at_ns - one_ns) <= REPEATED_NS])) >= SEVERAL
        for one_ns in tried_ns[:_LOOKED_AT]
    ]
    return 2 * sum(late) > len(late)


def _over_ipv4(line: Line, others: Talks) -> str:
    """Return a sentence on a connection over IPv4 that followed SYNs over IPv6 at once; empty without one."""
    if not (line.at_client and line.is_one_service and line.clients.one.startswith("[")):
        return ""
    followed = others.followed(line.clients.one, line.ports.one, line.start_ns, line.start_ns)
    return f" {failed_words.OVER_IPV4}" if followed >= line.connections else ""


def _of_client(line: Line, around: Around) -> str:
    """Return the advice on a client that nobody answered, by this address or over this IP version; empty for others."""
    own, other = (side.one.strip("[]") for side in (line.clients, line.servers))
    if len(line.clients) == 1 and is_link_local(own) and is_public(other):
        return failed_words.LINK_LOCAL
    site = len(line.clients) == 1 and is_unique_local(own) and is_public(other)
    if site and not around.others.reached_internet(line.clients.one):
        return failed_words.UNIQUE_LOCAL
    if len(line.clients) == 1 and line.clients.one in around.unreachable:
        return failed_words.UNREACHABLE.format(line.clients.one)
    return around.without_ipv6.get(line.clients.one, "") if len(line.clients) == 1 else ""


def _never_repeated(line: Line, around: Around) -> str:
    """Return the advice on SYNs that were not sent again in the time that the capture shows."""
    if around.lacks_packets:
        return failed_words.GIVEN_UP_OR_LACKING
    return (
        failed_words.GIVEN_UP
        if line.start_ns - around.first_ns > _LAST_REPEAT_NS
        else failed_words.GIVEN_UP_OR_OLDER
    )


def _silent_host(line: Line, others: Talks) -> str:
    """Return the advice on SYNs to a port that answered nobody, by what else passed between the hosts."""
    # Of one SYN, the time just before it is part of that time.
    before_ns = FIRST_TIMEOUT_NS if line.once_each else 0
    if line.ends and others.passed(*line.ends, line.start_ns - before_ns, line.end_ns):
        return failed_words.TOO_SOON if line.once_each else failed_words.FILTERED
    if not line.ends and len(line.clients) == 1 and len(line.servers) <= NAMED:
        pairs = ((line.clients.one, server) for server in line.servers.first)
        up = [pair[1] for pair in pairs if others.passed(*pair, line.start_ns, line.end_ns)]
        if up:
            return failed_words.SOME_UP.format(" and ".join(up))
    return failed_words.UP if line.ends and others.met(*line.ends) else failed_words.BY_KIND["never answered"]


def _opened_others(line: Line, others: Talks, start_ns: int, end_ns: int) -> bool:
    """Return whether the only port of a line opened other connections during a time."""
    return line.is_one_port and others.at_once(line.servers.one, line.ports.one, start_ns, end_ns)


def _lost(line: Line, around: Around) -> str:
    """Return the advice on SYNs that were never answered, to a port that accepted other connections."""
    if line.once_each:
        sooner = (
            failed_words.LOST_ONCE
            if line.start_ns - around.first_ns > _LAST_REPEAT_NS
            else failed_words.LOST_OR_OLDER
        )
        return failed_words.LOST_OR_LACKING if around.lacks_packets else sooner
    meanwhile = _opened_others(line, around.others, line.start_ns, line.end_ns)
    return failed_words.KEYED if meanwhile and line.least_syns > BY_CHANCE else failed_words.LOST


def _refused(line: Line, around: Around) -> str:
    """Return the advice on connections that were refused."""
    others = around.others
    if stopped := _stopped(line, around):
        return stopped
    if _opened_others(line, others, line.start_ns, line.end_ns):
        return failed_words.TURNED_DOWN
    if line.is_one_port and others.accepted(line.servers.one, line.ports.one, line.end_ns):
        return failed_words.STARTED
    if _fell_back(line, others):
        return failed_words.FELL_BACK
    probe = line.came_once and (line.of_strangers or line.bare)
    alone = line.of_strangers or (line.public and len(line.servers) == 1)
    probe |= alone and line.servers.one in around.probed
    if probe:
        return failed_words.PROBE
    return failed_words.NO_SERVICE if _of_others(line) else failed_words.BY_KIND["refused"]


def _of_others(line: Line) -> bool:
    """Return whether the first server is of the Internet, and not next to the capture: its service is no reader's."""
    return is_public(line.servers.one.strip("[]")) and not line.at_server


def _stopped(line: Line, around: Around) -> str:
    """Return the advice on refusals where each client had been accepted before at each port; empty for others."""
    before_ns, after_ns = around.others.accepted_around(*line.first_tries)
    if (before_ns == NULL).any():
        return ""
    if (after_ns == NULL).all():
        stopped = failed_words.STOPPED_THERE if _of_others(line) else failed_words.STOPPED
        return stopped.format(units.duration(before_ns.max() - around.first_ns))
    return "" if (after_ns == NULL).any() else failed_words.RESTARTED


def _by_device(line: Line, kind: str, tick_ns: int) -> str:
    """Return the advice on connections that a device next to a private client refused or opened late, for public hosts.

    The answers passed no router. It is empty for others.
    """
    is_far = not line.public and is_public(line.servers.one.strip("[]"))
    near = {hops.routers(ttl) for ttl in line.ttls | line.answer_ttls} == {0}
    if not (is_far and near and line.answer_ttls):
        return ""
    ttl = max(line.answer_ttls)
    if kind == LATE:
        return failed_words.OPENED_BY_DEVICE.format(ttl)
    at_once = line.syns == line.connections and tick_ns < line.longest_ns < NEXT_TO_NS
    more = failed_words.WITHOUT_WAY.format(units.duration(NEXT_TO_NS)) if at_once else failed_words.PASSED_ON
    return f"{failed_words.OF_DEVICE.format(ttl)} {more}"


def _by_others(line: Line, kind: str, around: Around) -> str:
    """Return the advice that the answers' TTLs give, or other connections of the client that opened late; else empty."""
    if by_device := _by_device(line, kind, around.tick_ns):
        return by_device
    shared = kind == LATE and len(line.servers) < SEVERAL and _are_late(line, around)
    return failed_words.LATE_MEANWHILE if shared else ""


def _late(line: Line, others: Talks) -> str:
    """Return the advice on connections that opened late."""
    twice = REPEATED * line.connections
    if line.syns < twice and line.syn_acks < twice:
        return _answered_once(line)
    if not line.at_client and line.syn_acks >= twice:
        return failed_words.ANSWERS_LOST
    # Next to the client, each answer that the capture has reached it.
    if line.at_client and line.syn_acks >= line.syns and not line.retried:
        return failed_words.ANSWERED_LATE
    if _opened_others(line, others, line.start_ns, line.opened_ns):
        return failed_words.QUEUE_OR_LOST.format("meanwhile")
    if line.at_server:
        return failed_words.SILENT
    return failed_words.ONE_LOST if line.most_syns <= REPEATED else _several_lost(line, others)


def _answered_once(line: Line) -> str:
    """Return the advice on connections that opened late after one SYN and one SYN-ACK each."""
    if line.confirmed_late:
        return failed_words.CONFIRMED_LATE
    return failed_words.ANSWERED_AGAIN if line.answered_again else failed_words.ANSWERED_LATE


def _several_lost(line: Line, others: Talks) -> str:
    """Return the advice on connections that opened after several SYNs in a row."""
    if line.at_client and len(line.servers) >= SEVERAL:
        return failed_words.LATE_FOR_SEVERAL
    if _opened_others(line, others, 0, line.start_ns):
        return failed_words.QUEUE_OR_LOST.format("before")
    # A service of the Internet has long been there.
    if is_public(line.servers.one.strip("[]")):
        return failed_words.LOST_OR_DROPPED
    beside = line.ends and others.beside(*line.ends, line.start_ns, line.opened_ns)
    return failed_words.ROUTE_WORKS if beside else failed_words.LOST_OR_EARLY


def _tls(line: Line, kind: str, around: Around) -> str:
    """Return the advice on handshakes of TLS."""
    if kind == TLS_FAILED:
        description, by_client = line.alert
        return tls.advice(description, by_client=by_client)
    client = line.clients.one
    if any((client, ttl) in around.stand_ins for ttl in line.answer_ttls):
        return failed_words.TAKEN.format(client)
    return failed_words.OTHER_PROTOCOL if line.spoke_late else failed_words.BY_KIND[kind]


def _opened(line: Line, kind: str, around: Around) -> str:
    """Return the advice on connections that a server answered."""
    others = around.others
    if kind in (TLS_FAILED, TLS_UNANSWERED):
        return _tls(line, kind, around)
    if kind in failed_words.ENDED and line.open_ns < _LEAST_IDLE_NS and not line.by_client:
        here = line.at_server or is_loopback(line.servers.one)
        return failed_words.RESET_HERE if kind == "unanswered" and here else failed_words.ENDED[kind]
    if kind == "unclosed":
        return unclosed.advice(line)
    brief = line.longest_ns < FIRST_TIMEOUT_NS
    advice = failed_words.BY_KIND[kind]
    if kind == "unused":
        advice = _unused(line, others, brief=brief)
    elif kind == TOO_LATE and line.by_client != line.by_server:
        advice = failed_words.UNREAD_ANSWER if line.by_client else failed_words.UNREAD_REQUEST
    elif kind == "timeout":
        advice = _given_up(line)
    elif kind in RACING and (raced := _raced(line, others)):
        advice = raced
    elif kind == "never completed":
        advice = _left_half_open(line, others)
    elif kind == "withdrawn" and (brief or line.bare):
        advice = failed_words.MADE if line.bare else failed_words.WITHDREW
    return advice


def _given_up(line: Line) -> str:
    """Return the advice on connections whose retransmissions nothing answered."""
    if line.reached:
        return failed_words.UNANSWERED_NEAR.format(line.nearest)
    if line.confirmed_in_vain:
        return failed_words.ONLY_SYN
    if not line.only_opened and line.unacknowledged_bytes <= TLS_FAREWELL_BYTES * line.connections:
        return failed_words.FORGOTTEN
    # One of them opened after the data of another had waited for a timer.
    again = line.connections > 1 and line.opened_ns - line.start_ns >= FIRST_TIMEOUT_NS
    return failed_words.ONLY_OPENED if again and line.only_opened else failed_words.BY_KIND["timeout"]


def _left_half_open(line: Line, others: Talks) -> str:
    """Return the advice on connections that the server answered, and the client did not confirm."""
    if line.bare and line.public:
        return failed_words.BARE_PROBE
    if not line.at_client:
        return failed_words.BY_KIND["never completed"]
    if line.bare:
        return failed_words.MADE
    if _is_spare(line, others):
        return f"{failed_words.GIVEN_UP_FIRST} {failed_words.NOT_NEEDED}"
    return failed_words.LEFT_FOR_OTHER if _fell_back(line, others) else failed_words.LEFT_BY_CLIENT


def _unused(line: Line, others: Talks, *, brief: bool) -> str:
    """Return the advice on connections that an end reset before any data."""
    if brief and line.by_server and line.ends and others.controlled(*line.ends, line.start_ns, line.end_ns):
        return failed_words.TURNED_AWAY_FTP
    at_once = (
        failed_words.TURNED_AWAY
        if line.by_server
        else failed_words.PROBED
        if line.by_client
        else failed_words.AT_ONCE
    )
    return f"{at_once if brief else failed_words.SPARE}{f' {failed_words.NOT_NEEDED}' if _is_spare(line, others) else ''}"


def _is_spare(line: Line, others: Talks) -> bool:
    """Return whether another connection of the two hosts carried payload at that time."""
    return line.ends is not None and others.alive(*line.ends, line.start_ns, line.end_ns)


def _raced(line: Line, others: Talks) -> str:
    """Return the advice on connections at one port that others over the other IP version outran; empty for others.

    Of several servers, they outran most.
    """
    if not (line.at_client and len(line.clients) == len(line.ports) == 1):
        return ""
    client, port = line.clients.one, line.ports.one
    if line.is_one_service:
        opening = others.raced(client, port, line.start_ns)
        return failed_words.RACED if opening >= line.connections else ""
    _, at_ns = line.every_try
    return failed_words.MOSTLY_RACED if 2 * others.outran(client, port, at_ns) > len(at_ns) else ""


def _fell_back(line: Line, others: Talks) -> bool:
    """Return whether as many connections over the other IP version followed at the only port."""
    if not line.is_one_service:
        return False
    followed = others.followed(line.clients.one, line.ports.one, line.start_ns, line.end_ns)
    return followed >= line.connections
