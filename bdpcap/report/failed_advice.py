"""Advice on connections that failed or opened late, by their kind and surroundings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap._core import NULL
from bdpcap.report import tls, unclosed
from bdpcap.report.failed_around import RACING, SEVERAL
from bdpcap.report.failed_lines import NAMED, REPEATED_NS, WITHOUT_DATA
from bdpcap.report.failures import (
    HTTP_UNANSWERED,
    LATE,
    ON_THE_WAY,
    REPEATED,
    TLS_FAILED,
    TLS_UNANSWERED,
    TOO_LATE,
)
from bdpcap.timers import FIRST_TIMEOUT_NS
from bdpcap.words import units
from bdpcap.words.endpoints import is_loopback, is_public

if TYPE_CHECKING:
    from bdpcap.report.failed_around import Around
    from bdpcap.report.failed_lines import Line
    from bdpcap.report.talks import Talks

__all__ = ["AT_CLIENT", "BY_CHANCE", "OF_STRANGERS", "UNREACHABLE", "advice", "of_several"]

_AT_ONCE: Final = (
    "Both ends agreed to talk, and one left at once: a health check, a scan, or a service that is overloaded."
)
_ADVICE: Final = {
    "never answered": "Check the host, the route and the firewalls: the host is down, or something drops these packets.",
    "refused": "Start the service, or check the address and the port.",
    "challenged": "The server, or a NAT or balancer before it, missed its end: see why, and use other client ports.",
    "never completed": "Check the way back to the client, and whether it meant to connect: port scans and floods of SYNs "
    "end so.",
    "withdrawn": "The client did not want it any more: it had stopped waiting, or only probed the port.",
    TLS_UNANSWERED: "The host acknowledged the hello, and its program sent nothing: see whether that hung, or speaks "
    "another protocol on this port.",
    HTTP_UNANSWERED: "The host acknowledged the request, and its program sent nothing: "
    "see in its log what became of it.",
    "timeout": "Find what drops the data, or whether the far end is gone: they were never acknowledged.",
    "unread": "Its program had stopped reading: see in its log why, and why it ended.",
    ON_THE_WAY: "The resets passed fewer routers than other packets from that address. "
    "So a firewall, a filter or a proxy made them: see its rules.",
    "cut off": "Ask the end that reset it: its log says why.",
    "unanswered": "See why the service reset it: its log, or a proxy before it. Either may forget an idle connection.",
    TOO_LATE: "No program got these data. An end that still needs some must read until the other has closed.",
    "unused": _AT_ONCE,
}
"""Advice by the kind of failure; `_advice` has better where the capture shows more."""

_FILTERED: Final = (
    "Both hosts exchanged packets at that time, so the route works: "
    "a filter, or the server itself, drops these."
)
_SOME_UP: Final = (
    "The client exchanged other packets with {} at that time, so the route there works: "
    "a filter, or the server itself, drops these."
)
_TOO_SOON: Final = (
    "Both hosts exchanged packets at that time, so the route works. The capture ends too soon to tell whether the SYN "
    "was lost, or a filter drops it."
)
_UP: Final = (
    "Both hosts exchanged packets at another time, so that host was up: "
    "look for a filter on it, or before it, that drops these."
)
_LOST: Final = (
    "The port answered other connections: SYNs or answers were lost, or a limit or a full queue dropped them."
)
_LOST_OR_LACKING: Final = (
    "The port answered other connections: a SYN or its answer was lost, or the capture lacks it."
)
_LOST_OR_OLDER: Final = (
    "The port answered other connections: a SYN or its answer was lost, or this was the last of a series begun before "
    "the capture."
)
_LOST_ONCE: Final = (
    "The port answered other connections: a SYN or its answer was lost, or the client gave up at once."
)
_KEYED: Final = (
    "The port opened other connections meanwhile, so this is no loss by chance. "
    "Something drops these: a balancer with a dead server, the state of a NAT or firewall, "
    "or a limit for each client."
)
_TRACE: Final = (
    "Their TTLs run from 1 to {}: a path trace by TCP, as tcptraceroute makes it, whose SYNs were to expire "
    "on the way. Nothing to mend."
)
_THESE_ALONE: Final = (
    "Others answered this client, so its link works. These hosts are down, or something drops packets to them alone, "
    "such as a block of addresses."
)
_SCAN: Final = (
    "The client tried many ports of one host, as a port scan does: "
    "nothing to mend, unless nobody wanted the scan."
)
_UPDATES: Final = (
    "Port 7680 is where Windows offers updates to its peers (Delivery Optimization). Peers are often gone, or drop it: "
    "nothing to mend."
)
_FINGERPRINTED: Final = (
    "The client sent SYNs that no TCP makes, as a scanner does to know a host's system: nothing to mend, if the scan was "
    "wanted."
)
_PEERS: Final = (
    "The client tried many ports of many hosts, as file sharing and scans do. "
    "Peers of file sharing are often gone: nothing to mend, unless it reaches nobody."
)
_SWEEP: Final = (
    "The client tried many hosts and sent data to none: it looked for hosts with that service, as scans do. "
    "Nothing to mend, unless it should reach one of them."
)
_PROBE: Final = (
    "Probably probes of scanners: nothing to mend, unless a client was to have that service; then start it."
)
_BARE_PROBE: Final = (
    "Their SYNs have no options but the MSS, as those of scanners: nothing to mend, unless the port should be closed to "
    "strangers."
)
_MADE: Final = (
    "Their SYNs have no options but the MSS, as those of scanners and floods: "
    "see which program of the client makes them."
)
_NO_HOST: Final = (
    "No host has such an address (0.0.0.0/8): see what the client was to open, such as a bare number."
)
_PROBED: Final = (
    "The client left as soon as it was answered: it only probed the port, or had no use for the connection."
)
_WITHDREW: Final = (
    "The client reset what was answered: it only probed the port, or had left before the answer came."
)
_RACED: Final = (
    "Nothing to mend: a connection to this port over the other IP version was just opening. "
    "Programs that try both keep the first one (RFC 8305)."
)
_FELL_BACK: Final = (
    "Probably nothing to mend: a connection to this port over the other IP version followed at once. "
    "The service may listen on that version alone."
)
_LEFT_FOR_OTHER: Final = (
    "Probably nothing to mend: a connection to this port over the other IP version followed at once. "
    "Programs that try both keep one (RFC 8305)."
)
# A program that tries both versions keeps the first one that opens (RFC 8305).
_OVER_IPV4: Final = (
    "A connection to this port over IPv4 followed at once: if to that service, nobody waited long."
)
_DROPPED: Final = (
    "These SYNs entered the router that captured them and never left it: "
    "it dropped them, as its filter may do."
)
_FALSE_SOURCES: Final = (
    "No packet of another host comes over loopback: "
    "a program made these packets with false addresses, as a flood has."
)
_DROPPED_THERE: Final = (
    "The SYNs reached the capture next to the server, which answered nothing: its own filter drops them."
)
_SCANNED: Final = (
    f"{_DROPPED_THERE} Strangers of the Internet look for open ports so: "
    "nothing to mend, unless the service was wanted."
)
_GENERATED: Final = (
    "No TCP sends one SYN so often: a program makes these packets, such as a generator or a flood."
)
UNREACHABLE: Final = (
    "No SYN of {} was answered anywhere, while other addresses got answers. "
    "Check whether this is the right source address, and the route back to it, as of a VPN."
)
_NO_IPV6: Final = (
    "No server answered over IPv6, and others did over IPv4. See whether this network has a route to the Internet over "
    "IPv6, or a firewall drops it."
)
_GIVEN_UP: Final = (
    "No SYN was sent again: the client gave up at once, as probes do, or programs with several addresses."
)
_GIVEN_UP_OR_OLDER: Final = (
    "No SYN was sent again: the client gave up at once, or this was the last of a series "
    "begun before the capture."
)
_GIVEN_UP_OR_LACKING: Final = (
    "No SYN was sent again: the client gave up at once, or the capture lacks packets of this connection, too."
)
_ONE_DEVICE: Final = (
    "All answers have one TTL ({}), whatever network was asked: one device on the way answers for these hosts, as a "
    "firewall or a proxy does."
)
_SUBFLOWS: Final = (
    "These hosts use Multipath TCP: it may be a further path of a connection that closed, or whose data took another "
    "path. Nothing to mend, unless the program failed."
)
_TAKEN: Final = "A NAT or proxy next to {} acknowledged the hello in its place: see there what became of it."
_OTHER_PROTOCOL: Final = (
    "The host acknowledged the hello, and its program sent data only once an end had closed. So it seems to speak "
    "another protocol on this port."
)
_NO_SERVICE: Final = (
    "Check the address and the port: no such service is there now. Its operator can start it. Peers of file sharing are "
    "often gone."
)
_TURNED_DOWN: Final = (
    "The port accepted other connections meanwhile, so the service was there: a limit, a balancer, or a device on the "
    "way refused these."
)
_STARTED: Final = (
    "The port accepted a later connection: the service had not started yet, or its queue was full."
)
_STOPPED: Final = (
    "Such connections had been accepted before, the last one {} after the capture began: the service stopped. "
    "See why in its log, and start it."
)
_STOPPED_THERE: Final = (
    "Such connections had been accepted before, the last one {} after the capture began. The service stopped, or a "
    "limit, a balancer or a device on the way refused these."
)
_GAVE_UP: Final = (
    "The reset came when all timers of the SYNs had run out, as of a NAT or proxy that gave up a silent host."
)
_RESTARTED: Final = (
    "Such connections were accepted before and afterwards: the service was down meanwhile, as for a restart, "
    "or its queue of new connections was full. Windows refuses then."
)
_LEFT_BY_CLIENT: Final = (
    "The answers reached the capture next to the client: "
    "see whether its firewall dropped them, or it had given up."
)
_GIVEN_UP_FIRST: Final = (
    "The answers reached the capture next to the client, which had given up, or whose firewall dropped them."
)
_TURNED_AWAY: Final = (
    "The server opened it and reset it at once: "
    "see in its log whether a rule, a limit of connections, or a crash did that."
)
_UNREAD_ANSWER: Final = (
    "Nothing to mend, unless the client needs these data: then it must read on until the server closes."
)
_UNREAD_REQUEST: Final = (
    "The server's program never got these data, and the client must send them over a new connection. "
    "A client that drops idle connections sooner than the server avoids that."
)
_RESET_SOON: Final = (
    "See why the service, or a filter or proxy on the way, reset it so soon after the opening: "
    "their logs may say."
)
_CLOSED_SOON: Final = (
    "The server's program never got these data: it closed soon after the opening. See in what it sent, or in its log, "
    "whether a limit turned the client away."
)
_RESET_HERE: Final = (
    "The server's own host reset it: see in its log whether the service refuses this client, or its request."
)
_ENDED: Final = {TOO_LATE: _CLOSED_SOON, "unanswered": _RESET_SOON}
"""Advice by kind on a connection that a server ended sooner than an idle one."""
_UNANSWERED_NEAR: Final = (
    "Retransmissions reached the capture next to {}, which answered none: see whether it hung, had changed its address, "
    "or dropped them."
)
_ONLY_OPENED: Final = (
    "They opened one after the other, and no data passed. So the path is there: see what drops packets with data, as a "
    "filter or a proxy may."
)
_ONLY_SYN: Final = (
    "The server sent its SYN-ACK again though the client had confirmed it: only the SYN arrived. See what drops the "
    "packets after it, as a firewall near the server may."
)
_SPARE: Final = "Nobody asked for anything: a spare connection, or a program that hung."
_NOT_NEEDED: Final = "Another connection of these hosts was alive: perhaps no further one was needed."
_CONFIRMED_LATE: Final = (
    "The server answered in time, and the client confirmed late: it was busy, or the way to it was slow."
)
_ANSWERED_AGAIN: Final = (
    "The answer came as late as a second one does, a second and a round trip: the first was probably lost."
)
_ANSWERED_LATE: Final = (
    "The answers came late: the server, the way there, or a proxy or NAT before it was slow."
)
_SILENT: Final = (
    "The SYNs reached the capture next to the server, and it did not answer. A filter there dropped them, or the "
    "server was busy: not up yet, or its queue of new connections was full (its backlog)."
)
_ANSWERS_LOST: Final = (
    "The server answered again before the client's confirmation came: a packet was lost, or the way takes longer than "
    "the timer."
)
_QUEUE_OR_LOST: Final = (
    "The port opened other connections {}: SYNs or answers were lost, "
    "or the server's queue of new connections was full (its backlog)."
)
_ROUTE_WORKS: Final = (
    "Both hosts exchanged packets at that time, so the route works: "
    "nothing listened there yet, or a filter dropped the SYNs."
)
_ONE_LOST: Final = "A SYN or its answer was lost, or came later than the timer of the SYN allows."
_LOST_OR_DROPPED: Final = "SYNs or their answers were lost, or a filter dropped them."
_LOST_OR_EARLY: Final = (
    "SYNs or their answers were lost, or nothing listened there yet: see when the service started."
)
BY_CHANCE: Final = 2
"""Most SYNs in a row that loss takes from a connection while others pass; a choice: of three, 1 in 8,000 at 5 %."""
_LEAST_IDLE_NS: Final = 5_000_000_000
"""Least time after which servers close an idle connection: Apache's ``KeepAliveTimeout``, the shortest in wide use."""
_MOST_SYNS: Final = 20
"""Most SYNs of one connection of a TCP, with room for copies: Linux sends seven (``tcp_syn_retries``), Windows five."""
_LAST_REPEAT_NS: Final = 32_000_000_000
"""Time before the last SYN of a series: of Linux's seven, doubled from 1 s on (``tcp_syn_retries``; RFC 6298)."""
AT_CLIENT: Final = (
    _ADVICE["never answered"],
    _GIVEN_UP,
    _GIVEN_UP_OR_OLDER,
    _GIVEN_UP_OR_LACKING,
    _DROPPED,
    _UPDATES,
    _NO_IPV6,
)
"""Advice on SYNs that were never answered, whatever their server: one client's have one cause."""
_TRIED: Final = ("never answered", "refused")
"""Kinds of connections to a peer that is gone."""
OF_STRANGERS: Final = (_SCANNED, _PROBE, _BARE_PROBE, _FALSE_SOURCES)
"""Advice on what strangers tried, each of them a port or two."""


def advice(line: Line, kind: str, around: Around) -> str:
    """Return the advice on connections of one kind, as far as their surroundings leave it open."""
    if kind == "never answered" and around.by_router and not line.routed and not line.is_trace:
        return _DROPPED
    if searched := _searched(line, kind, around):
        return searched
    if kind == "never answered":
        given_up = f" {_GAVE_UP}" if line.reset_late else ""
        return f"{_without_answer(line, around)}{_over_ipv4(line, around.others)}{given_up}"
    if line.ends in around.multipath:
        return _SUBFLOWS
    if kind == LATE:
        return _late(line, around.others)
    return _refused(line, around) if kind == "refused" else _opened(line, kind, around)


def of_several(line: Line, words: str, around: Around) -> str:
    """Return the advice on all SYNs of a line to several servers, given that on each: together they may show more."""
    several = len(line.servers) >= SEVERAL and len(line.clients) == 1
    alone = several and words == _ADVICE["never answered"] and around.others.answered(line.clients.one)
    return _THESE_ALONE if alone else words


def _searched(line: Line, kind: str, around: Around) -> str:
    """Return the advice on connections of a client that looked for routers, ports or peers, or is no TCP; else empty."""
    if line.is_trace:
        return _TRACE.format(max(line.ttls))
    if made := _made(line, kind):
        return made
    if kind in WITHOUT_DATA and line.ends in around.scanned:
        return _SCAN
    if kind in WITHOUT_DATA and line.ends in around.fingerprinted:
        return _FINGERPRINTED
    if peers := _peers(line, kind, around):
        return peers
    sweeps = kind in WITHOUT_DATA and len(line.clients) == 1 and line.clients.one in around.sweeping
    return _SWEEP if sweeps else ""


def _peers(line: Line, kind: str, around: Around) -> str:
    """Return the advice on connections to peers that may be gone; empty for others."""
    if kind not in _TRIED:
        return ""
    if line.of_updates:
        return _UPDATES
    return _PEERS if len(line.clients) == 1 and line.clients.one in around.searching else ""


def _made(line: Line, kind: str) -> str:
    """Return the advice on SYNs to no host, that no TCP made, or that a device on the way answered; empty for others."""
    if kind == "refused" and line.by_one_device:
        return _ONE_DEVICE.format(*line.answer_ttls)
    if kind != "never answered":
        return ""
    if line.servers.one.startswith("0.") and len(line.servers) == 1:
        return _NO_HOST
    if is_loopback(line.servers.one) and not is_loopback(line.clients.one):
        return _FALSE_SOURCES
    return _GENERATED if line.most_syns > _MOST_SYNS else ""


def _without_answer(line: Line, around: Around) -> str:
    """Return the advice on SYNs that were never answered."""
    service = f"{line.servers.one}:{line.ports.one}"
    if line.is_one_service and (line.clients.one, service) in around.by_icmp:
        return around.by_icmp[line.clients.one, service]
    accepted = line.is_one_port and around.others.accepted(line.servers.one, line.ports.one, 0)
    if line.at_server:
        dropped = _SCANNED if line.of_strangers else _DROPPED_THERE
        return _SILENT if accepted else dropped
    if without := _of_client(line, around):
        return without
    if accepted:
        return _lost(line, around)
    if line.once_each and around.last_ns - line.end_ns > REPEATED_NS:
        return _never_repeated(line, around)
    return _silent_host(line, around.others)


def _over_ipv4(line: Line, others: Talks) -> str:
    """Return a sentence on a connection over IPv4 that followed SYNs over IPv6 at once; empty without one."""
    if not (line.at_client and line.is_one_service and line.clients.one.startswith("[")):
        return ""
    followed = others.followed(line.clients.one, line.ports.one, line.start_ns, line.start_ns)
    return f" {_OVER_IPV4}" if followed >= line.connections else ""


def _of_client(line: Line, around: Around) -> str:
    """Return the advice on a client that nobody answered, by this address or over this IP version; empty for others."""
    if len(line.clients) == 1 and line.clients.one in around.unreachable:
        return UNREACHABLE.format(line.clients.one)
    return _NO_IPV6 if len(line.clients) == 1 and line.clients.one in around.without_ipv6 else ""


def _never_repeated(line: Line, around: Around) -> str:
    """Return the advice on SYNs that were not sent again in the time that the capture shows."""
    if around.lacks_packets:
        return _GIVEN_UP_OR_LACKING
    return _GIVEN_UP if line.start_ns - around.first_ns > _LAST_REPEAT_NS else _GIVEN_UP_OR_OLDER


def _silent_host(line: Line, others: Talks) -> str:
    """Return the advice on SYNs to a port that answered nobody, by what else passed between the hosts."""
    if line.ends and others.passed(*line.ends, line.start_ns, line.end_ns):
        return _TOO_SOON if line.once_each else _FILTERED
    if not line.ends and len(line.clients) == 1 and len(line.servers) <= NAMED:
        pairs = ((line.clients.one, server) for server in line.servers.first)
        up = [pair[1] for pair in pairs if others.passed(*pair, line.start_ns, line.end_ns)]
        if up:
            return _SOME_UP.format(" and ".join(up))
    return _UP if line.ends and others.met(*line.ends) else _ADVICE["never answered"]


def _opened_others(line: Line, others: Talks, start_ns: int, end_ns: int) -> bool:
    """Return whether the only port of a line opened other connections during a time."""
    return line.is_one_port and others.at_once(line.servers.one, line.ports.one, start_ns, end_ns)


def _lost(line: Line, around: Around) -> str:
    """Return the advice on SYNs that were never answered, to a port that accepted other connections."""
    if line.once_each:
        sooner = _LOST_ONCE if line.start_ns - around.first_ns > _LAST_REPEAT_NS else _LOST_OR_OLDER
        return _LOST_OR_LACKING if around.lacks_packets else sooner
    meanwhile = _opened_others(line, around.others, line.start_ns, line.end_ns)
    return _KEYED if meanwhile and line.least_syns > BY_CHANCE else _LOST


def _refused(line: Line, around: Around) -> str:
    """Return the advice on connections that were refused."""
    others = around.others
    if stopped := _stopped(line, around):
        return stopped
    if _opened_others(line, others, line.start_ns, line.end_ns):
        return _TURNED_DOWN
    if line.is_one_port and others.accepted(line.servers.one, line.ports.one, line.end_ns):
        return _STARTED
    if _fell_back(line, others):
        return _FELL_BACK
    probe = line.came_once and (line.of_strangers or line.bare)
    alone = line.of_strangers or (line.public and len(line.servers) == 1)
    probe |= alone and line.servers.one in around.probed
    if probe:
        return _PROBE
    return _NO_SERVICE if _of_others(line) else _ADVICE["refused"]


def _of_others(line: Line) -> bool:
    """Return whether the first server is of the Internet, and not next to the capture: its service is no reader's."""
    return is_public(line.servers.one.strip("[]")) and not line.at_server


def _stopped(line: Line, around: Around) -> str:
    """Return the advice on refusals where each client had been accepted before at each port; empty for others."""
    before_ns, after_ns = around.others.accepted_around(*line.first_tries)
    if (before_ns == NULL).any():
        return ""
    if (after_ns == NULL).all():
        stopped = _STOPPED_THERE if _of_others(line) else _STOPPED
        return stopped.format(units.duration(before_ns.max() - around.first_ns))
    return "" if (after_ns == NULL).any() else _RESTARTED


def _late(line: Line, others: Talks) -> str:
    """Return the advice on connections that opened late."""
    twice = REPEATED * line.connections
    if line.syns < twice and line.syn_acks < twice:
        return _answered_once(line)
    if not line.at_client and line.syn_acks >= twice:
        return _ANSWERS_LOST
    # Next to the client, each answer that the capture has reached it.
    if line.at_client and line.syn_acks >= line.syns and not line.retried:
        return _ANSWERED_LATE
    if _opened_others(line, others, line.start_ns, line.opened_ns):
        return _QUEUE_OR_LOST.format("meanwhile")
    if line.at_server:
        return _SILENT
    return _ONE_LOST if line.most_syns <= REPEATED else _several_lost(line, others)


def _answered_once(line: Line) -> str:
    """Return the advice on connections that opened late after one SYN and one SYN-ACK each."""
    if line.confirmed_late:
        return _CONFIRMED_LATE
    return _ANSWERED_AGAIN if line.answered_again else _ANSWERED_LATE


def _several_lost(line: Line, others: Talks) -> str:
    """Return the advice on connections that opened after several SYNs in a row."""
    if _opened_others(line, others, 0, line.start_ns):
        return _QUEUE_OR_LOST.format("before")
    beside = line.ends and others.beside(*line.ends, line.start_ns, line.opened_ns)
    if beside:
        return _ROUTE_WORKS
    # A service of the Internet has long been there.
    return _LOST_OR_DROPPED if is_public(line.servers.one.strip("[]")) else _LOST_OR_EARLY


def _tls(line: Line, kind: str, around: Around) -> str:
    """Return the advice on handshakes of TLS."""
    if kind == TLS_FAILED:
        description, by_client = line.alert
        return tls.advice(description, by_client=by_client)
    client = line.clients.one
    if any((client, ttl) in around.stand_ins for ttl in line.answer_ttls):
        return _TAKEN.format(client)
    return _OTHER_PROTOCOL if line.spoke_late else _ADVICE[kind]


def _opened(line: Line, kind: str, around: Around) -> str:
    """Return the advice on connections that a server answered."""
    others = around.others
    if kind in (TLS_FAILED, TLS_UNANSWERED):
        return _tls(line, kind, around)
    if kind in _ENDED and line.open_ns < _LEAST_IDLE_NS and not line.by_client:
        here = line.at_server or is_loopback(line.servers.one)
        return _RESET_HERE if kind == "unanswered" and here else _ENDED[kind]
    if kind == "unclosed":
        return unclosed.advice(line)
    brief = line.longest_ns < FIRST_TIMEOUT_NS
    advice = _ADVICE[kind]
    if kind == "unused":
        advice = _unused(line, others, brief=brief)
    elif kind == TOO_LATE and line.by_client != line.by_server:
        advice = _UNREAD_ANSWER if line.by_client else _UNREAD_REQUEST
    elif kind == "timeout":
        advice = _given_up(line)
    elif kind in RACING and _is_raced(line, others):
        advice = _RACED
    elif kind == "never completed":
        advice = _left_half_open(line, others)
    elif kind == "withdrawn" and (brief or line.bare):
        advice = _MADE if line.bare else _WITHDREW
    return advice


def _given_up(line: Line) -> str:
    """Return the advice on connections whose retransmissions nothing answered."""
    if line.reached:
        return _UNANSWERED_NEAR.format(line.nearest)
    if line.confirmed_in_vain:
        return _ONLY_SYN
    # One of them opened after the data of another had waited for a timer.
    again = line.connections > 1 and line.opened_ns - line.start_ns >= FIRST_TIMEOUT_NS
    return _ONLY_OPENED if again and line.only_opened else _ADVICE["timeout"]


def _left_half_open(line: Line, others: Talks) -> str:
    """Return the advice on connections that the server answered, and the client did not confirm."""
    if line.bare and line.public:
        return _BARE_PROBE
    if not line.at_client:
        return _ADVICE["never completed"]
    if _is_spare(line, others):
        return f"{_GIVEN_UP_FIRST} {_NOT_NEEDED}"
    return _LEFT_FOR_OTHER if _fell_back(line, others) else _LEFT_BY_CLIENT


def _unused(line: Line, others: Talks, *, brief: bool) -> str:
    """Return the advice on connections that an end reset before any data."""
    at_once = _TURNED_AWAY if line.by_server else _PROBED if line.by_client else _AT_ONCE
    return f"{at_once if brief else _SPARE}{f' {_NOT_NEEDED}' if _is_spare(line, others) else ''}"


def _is_spare(line: Line, others: Talks) -> bool:
    """Return whether another connection of the two hosts carried payload at that time."""
    return line.ends is not None and others.alive(*line.ends, line.start_ns, line.end_ns)


def _is_raced(line: Line, others: Talks) -> bool:
    """Return whether as many connections over the other IP version were opening at the only port."""
    if not (line.at_client and line.is_one_service):
        return False
    return others.raced(line.clients.one, line.ports.one, line.start_ns) >= line.connections


def _fell_back(line: Line, others: Talks) -> bool:
    """Return whether as many connections over the other IP version followed at the only port."""
    if not line.is_one_service:
        return False
    followed = others.followed(line.clients.one, line.ports.one, line.start_ns, line.end_ns)
    return followed >= line.connections
