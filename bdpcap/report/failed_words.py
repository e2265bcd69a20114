"""Advice on connections that failed or opened late, in words; `bdpcap.report.failed_advice` chooses among them."""

from __future__ import annotations

from typing import Final

from bdpcap.report.failures import HTTP_UNANSWERED, ON_THE_WAY, TLS_UNANSWERED, TOO_LATE

AT_ONCE: Final = (
    "Both ends agreed to talk, and one left at once: a health check, a scan, or a service that is overloaded."
)
BY_KIND: Final = {
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
    "unused": AT_ONCE,
}
"""Advice by the kind of failure; the others are for captures that show more."""
FILTERED: Final = (
    "Both hosts exchanged packets at that time, so the route works: "
    "a filter, or the server itself, drops these."
)
SOME_UP: Final = (
    "The client exchanged other packets with {} at that time, so the route there works: "
    "a filter, or the server itself, drops these."
)
LATE_MEANWHILE: Final = (
    "Connections of this client to several services opened late at that time: packets to all of them, or answers, were "
    "lost or late."
)
TOO_SOON: Final = (
    "Both hosts exchanged packets at that time, so the route works. The capture ends too soon to tell whether the SYN "
    "was lost, or a filter drops it."
)
UP: Final = (
    "Both hosts exchanged packets at another time: that host was down meanwhile, or a filter on it, or before it, drops "
    "these."
)
LOST: Final = (
    "The port answered other connections: SYNs or answers were lost, or a limit or a full queue dropped them."
)
LOST_OR_LACKING: Final = (
    "The port answered other connections: a SYN or its answer was lost, or the capture lacks it."
)
LOST_OR_OLDER: Final = (
    "The port answered other connections: a SYN or its answer was lost, or this was the last of a series begun before "
    "the capture."
)
LOST_ONCE: Final = (
    "The port answered other connections: a SYN or its answer was lost, or the client gave up at once."
)
KEYED: Final = (
    "The port opened other connections meanwhile, so this is no loss by chance. "
    "Something drops these: a balancer with a dead server, the state of a NAT or firewall, "
    "or a limit for each client."
)
TRACE: Final = (
    "Their TTLs run from 1 to {}: a path trace by TCP, as tcptraceroute makes it, whose SYNs were to expire "
    "on the way. Nothing to mend."
)
ONE_PORT: Final = (
    "Others answered this client, but no connection to port {} opened. Something drops SYNs to that port or to these "
    "hosts alone, as a rule of a firewall does."
)
THESE_ALONE: Final = (
    "Others answered this client, so its link works. These hosts are down, or something drops packets to them alone, "
    "such as a block of addresses."
)
SCAN: Final = (
    "The client tried many ports of one host, as a port scan does: "
    "nothing to mend, unless nobody wanted the scan."
)
UPDATES: Final = (
    "Port 7680 is where Windows offers updates to its peers (Delivery Optimization). Peers are often gone, or take no "
    "connection: nothing to mend."
)
FINGERPRINTED: Final = (
    "The client sent SYNs that no TCP makes, as a scanner does to know a host's system: nothing to mend, if the scan was "
    "wanted."
)
FOR_MOST: Final = "For most of these, {}"
"""Words before the advice that holds for most connections of a line."""
PEERS: Final = (
    "The client tried many ports of many hosts, as file sharing and scans do. "
    "Peers of file sharing are often gone: nothing to mend, unless it reaches nobody."
)
SWEEP: Final = (
    "The client tried many hosts and sent data to none: it looked for hosts with that service, as scans do. "
    "Nothing to mend, unless it should reach one of them."
)
PROBE: Final = (
    "Probably probes of scanners: nothing to mend, unless a client was to have that service; then start it."
)
BARE_PROBE: Final = (
    "Their SYNs have no options but the MSS, as those of scanners: nothing to mend, unless the port should be closed to "
    "strangers."
)
MADE: Final = (
    "Their SYNs have at most the MSS as an option, as those of scanners, floods and scripts: "
    "see which program of the client makes them."
)
OF_CLOUDS: Final = "169.254.169.254"
"""Address of the metadata service of clouds: it describes a machine to its programs."""
NO_CLOUD: Final = (
    "At this address, clouds have a service for their machines (metadata): a program asked whether it runs in one. "
    "Nothing to mend elsewhere."
)
NO_HOST: Final = (
    "No host has such an address (0.0.0.0/8): see what the client was to open, such as a bare number."
)
PROBED: Final = (
    "The client left as soon as it was answered: it only probed the port, or had no use for the connection."
)
WITHDREW: Final = (
    "The client reset what was answered: it only probed the port, or had left before the answer came."
)
RACED: Final = (
    "Nothing to mend: a connection to this port over the other IP version was just opening. "
    "Programs that try both keep the first one (RFC 8305)."
)
MOSTLY_RACED: Final = (
    "As most of them began, connections to this port over the other IP version opened. "
    "Programs that try both keep the first one (RFC 8305): for these, there is nothing to mend."
)
FELL_BACK: Final = (
    "Probably nothing to mend: a connection to this port over the other IP version followed at once. "
    "The service may listen on that version alone."
)
LEFT_FOR_OTHER: Final = (
    "Probably nothing to mend: a connection to this port over the other IP version followed at once. "
    "Programs that try both keep one (RFC 8305)."
)
# A program that tries both versions keeps the first one that opens (RFC 8305).
OVER_IPV4: Final = (
    "A connection to this port over IPv4 followed at once: if to that service, nobody waited long."
)
DROPPED: Final = (
    "These SYNs entered the router that captured them and never left it: "
    "it dropped them, as its filter may do."
)
DROPPED_SOME: Final = (
    "These SYNs entered the router that captured them and never left it. It passed others to the same ports: see whether "
    "a limit of new connections there, or a full queue, dropped these."
)
FALSE_SOURCES: Final = (
    "No packet of another host comes over loopback: "
    "a program made these packets with false addresses, as a flood has."
)
DROPPED_THERE: Final = (
    "The SYNs reached the capture next to the server, which answered nothing: its own filter drops them."
)
SCANNED: Final = (
    f"{DROPPED_THERE} Strangers of the Internet look for open ports so: "
    "nothing to mend, unless the service was wanted."
)
GENERATED: Final = (
    "No TCP sends one SYN so often: a program makes these packets, such as a generator or a flood."
)
LINK_LOCAL: Final = (
    "A link-local address reaches no other network. See why the client has no global address of this IP version, and "
    "which router it sends these packets to."
)
UNIQUE_LOCAL: Final = (
    "An address of fc00::/7 is valid within its site alone (RFC 4193). See why the client used it, and whether it has a "
    "global address."
)
UNREACHABLE: Final = (
    "No SYN of {} was answered anywhere, while other addresses got answers. "
    "Check whether this is the right source address, and the route back to it, as of a VPN."
)
NO_IPV6: Final = (
    "No server answered over IPv6, and others did over IPv4. See whether this network has a route to the Internet over "
    "IPv6, or a firewall drops it."
)
LOST_IPV6: Final = (
    "The last connection over IPv6 opened {} the start, and later ones opened over IPv4 alone. This network lost "
    "IPv6, or the host's address there is no longer valid: connect it again."
)
GIVEN_UP: Final = (
    "No SYN was sent again: the client gave up at once, as probes do, or programs with several addresses."
)
GIVEN_UP_OR_OLDER: Final = (
    "No SYN was sent again: the client gave up at once, or this was the last of a series "
    "begun before the capture."
)
GIVEN_UP_OR_LACKING: Final = (
    "No SYN was sent again: the client gave up at once, or the capture lacks packets of this connection, too."
)
ONE_DEVICE: Final = (
    "All answers have one TTL ({}), whatever network was asked: one device on the way answers for these hosts, as a "
    "firewall or a proxy does."
)
SUBFLOWS: Final = (
    "These hosts use Multipath TCP: it may be a further path of a connection that closed, or whose data took another "
    "path. Nothing to mend, unless the program failed."
)
TAKEN: Final = "A NAT or proxy next to {} acknowledged the hello in its place: see there what became of it."
OTHER_PROTOCOL: Final = (
    "The host acknowledged the hello. Where its program sent data at all, that was once an end had closed: it seems to "
    "speak another protocol on this port."
)
NO_SERVICE: Final = (
    "Check the address and the port: no such service is there now. Its operator can start it. Peers of file sharing are "
    "often gone."
)
OF_DEVICE: Final = (
    "The reset passed no router (TTL {}). Unless that host is next to the client, a NAT, proxy or firewall there "
    "made it."
)
WITHOUT_WAY: Final = (
    "It came within {}, sooner than from afar: that device has no way there, or a rule against it."
)
PASSED_ON: Final = "Capture behind that device to see whether it has a way there, and what refused."
TURNED_DOWN: Final = (
    "The port accepted other connections meanwhile, so the service was there: a limit, a balancer, or a device on the "
    "way refused these."
)
STARTED: Final = (
    "The port accepted a later connection: the service had not started yet, or its queue was full."
)
STOPPED: Final = (
    "Such connections had been accepted before, the last one {} after the capture began: the service stopped. "
    "See why in its log, and start it."
)
STOPPED_THERE: Final = (
    "Such connections had been accepted before, the last one {} after the capture began. The service stopped, or a "
    "limit, a balancer or a device on the way refused these."
)
GAVE_UP: Final = (
    "The reset came long after the last SYN, as of a NAT or proxy that gave up a silent host. "
    "See what drops the SYNs or their answers."
)
RESTARTED: Final = (
    "Such connections were accepted before and afterwards: the service was down meanwhile, as for a restart, "
    "or its queue of new connections was full. Windows refuses then."
)
LEFT_BY_CLIENT: Final = (
    "The answers reached the capture next to the client: "
    "see whether its firewall dropped them, or it had given up."
)
GIVEN_UP_FIRST: Final = (
    "The answers reached the capture next to the client, which had given up, or whose firewall dropped them."
)
TURNED_AWAY: Final = (
    "The server opened it and reset it at once: "
    "see in its log whether a rule, a limit of connections, or a crash did that."
)
TURNED_AWAY_FTP: Final = (
    "The server opened it and reset it at once. These hosts had a connection of FTP meanwhile. If this one was for its "
    "data, a reply there has the reason, such as 550 (no such file)."
)
UNREAD_ANSWER: Final = (
    "Nothing to mend, unless the client needs these data: then it must read on until the server closes."
)
UNREAD_REQUEST: Final = (
    "The server's program never got these data, and the client must send them over a new connection. "
    "A client that drops idle connections sooner than the server avoids that."
)
RESET_SOON: Final = (
    "See why the service, or a filter or proxy on the way, reset it so soon after the opening: "
    "their logs may say."
)
CLOSED_SOON: Final = (
    "The server's program never got these data: it closed soon after the opening. See in what it sent, or in its log, "
    "whether a limit turned the client away."
)
RESET_HERE: Final = (
    "The server's own host reset it: see in its log whether the service refuses this client, or its request."
)
ENDED: Final = {TOO_LATE: CLOSED_SOON, "unanswered": RESET_SOON}
"""Advice by kind on a connection that a server ended sooner than an idle one."""
UNANSWERED_NEAR: Final = (
    "Retransmissions reached the capture next to {}, which answered none: see whether it hung, had changed its address, "
    "or dropped them."
)
ONLY_OPENED: Final = (
    "They opened one after the other, and no data passed. So the path is there: see what drops packets with data, as a "
    "filter or a proxy may."
)
FORGOTTEN: Final = (
    "So few bytes are mostly a farewell, as of TLS: the other end, or a NAT or firewall on the way, had forgotten the "
    "connection. Nothing to mend, unless the program needed it."
)
ONLY_SYN: Final = (
    "The server sent its SYN-ACK again though the client had confirmed it. Its queue of new connections was full (its "
    "backlog), or something drops the packets after the SYN, as a firewall may."
)
SPARE: Final = "Nobody asked for anything: a spare connection, or a program that hung."
NOT_NEEDED: Final = "Another connection of these hosts was alive: perhaps no further one was needed."
CONFIRMED_LATE: Final = (
    "The server answered in time, and the client confirmed late: it was busy, or the way to it was slow."
)
OPENED_BY_DEVICE: Final = (
    "The answers passed no router (TTL {}). Unless that host is next to the client, a NAT or proxy there made them, "
    "after it had reached the host. Then SYNs were lost or late behind it: capture there."
)
ANSWERED_AGAIN: Final = (
    "The answer came as late as a second one does, a second and a round trip: the first was probably lost."
)
ANSWERED_LATE: Final = (
    "The answers came late: the server, the way there, or a proxy or NAT before it was slow."
)
SILENT: Final = (
    "The SYNs reached the capture next to the server, and it did not answer. A filter there dropped them, nothing "
    "listened yet, or the server's queue of new connections was full (its backlog)."
)
ANSWERS_LOST: Final = (
    "The server answered again before the client's confirmation came: a packet was lost, or the way takes longer than "
    "the timer."
)
QUEUE_OR_LOST: Final = (
    "The port opened other connections {}: SYNs or answers were lost, "
    "or the server's queue of new connections was full (its backlog)."
)
ROUTE_WORKS: Final = (
    "Both hosts exchanged packets at that time, so the route works: "
    "nothing listened there yet, or a filter dropped the SYNs."
)
ONE_LOST: Final = "A SYN or its answer was lost, or came later than the timer of the SYN allows."
LATE_FOR_SEVERAL: Final = (
    "To several hosts, SYNs or their answers were lost, or came later than the timer of the SYN allows. "
    "See the link near the client first."
)
LOST_OR_DROPPED: Final = "SYNs or their answers were lost, or a filter dropped them."
LOST_OR_EARLY: Final = (
    "SYNs or their answers were lost, or nothing listened there yet: see when the service started."
)
AT_CLIENT: Final = (
    BY_KIND["never answered"],
    GIVEN_UP,
    GIVEN_UP_OR_OLDER,
    GIVEN_UP_OR_LACKING,
    DROPPED,
    DROPPED_SOME,
    UNIQUE_LOCAL,
    UPDATES,
    NO_IPV6,
)
"""Advice on SYNs that were never answered, whatever their server: one client's have one cause."""
OF_STRANGERS: Final = (SCANNED, PROBE, BARE_PROBE, FALSE_SOURCES)
"""Advice on what strangers tried, each of them a port or two."""
