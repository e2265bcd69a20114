"""Connections that failed, opened late or were reset, a block of streams at a time: a flood has millions of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap._core import NULL
from bdpcap.explain import place
from bdpcap.hosts.syn import is_bare, is_crafted
from bdpcap.limits.evidence.writes import FAREWELL_BYTES, TLS_FAREWELL_BYTES
from bdpcap.read import hops, vantage
from bdpcap.read.quality import NEEDED, acknowledgments_missing
from bdpcap.tables.connections import confirmed_in_vain
from bdpcap.timers import FIRST_TIMEOUT_NS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from bdpcap.capture import Capture

    Columns = dict[str, NDArray[Any]]
    """Columns of `blocks` by name, all of one length."""

__all__ = [
    "DONE",
    "HTTP_UNANSWERED",
    "LATE",
    "MOST_SYNS",
    "ON_THE_WAY",
    "REPEATED",
    "REPEATED_NS",
    "TLS_FAILED",
    "TLS_UNANSWERED",
    "TOO_LATE",
    "blocks",
    "next_to",
    "still_waiting",
]

TIMER_ERROR_NS: Final = 50_000_000
"""Most by which a timer of a second misses it: Linux rounds it up by 32 ms at most (``timer.c``, 250 ticks a second)."""

REQUEST_BYTES: Final = 14_600
"""Most bytes of a request: an initial window of ten segments (RFC 6928). More is an upload, whose receiver may end it."""

GIVEN_UP: Final = 3
"""Fewest timers that ran out for the same data before a sender gives up: R1 (RFC 1122 section 4.2.3.5)."""

REPEATED: Final = 2
"""Fewest SYNs or SYN-ACKs that show a missing answer: one without an answer is repeated (RFC 6298 section 2.1)."""

REPEATED_NS: Final = 3_000_000_000
"""Time after which a SYN without an answer was sent again, also by hosts that wait for 3 s (RFC 2988 section 2.1)."""

LONGEST_REFUSAL_NS: Final = 500_000_000
"""Longest time until a SYN is refused, a round trip; a choice: few paths take longer."""

MOST_SYNS: Final = 20
"""Most SYNs of one connection of a TCP, with room for copies: Linux sends seven (``tcp_syn_retries``), Windows five."""

ON_THE_WAY: Final = "reset on the way"
"""Kind of a connection that a device on the way reset: its reset came over fewer routers than the end's packets."""
FEWER_ROUTERS: Final = 3
"""Routers that a reset passed less than other packets from its address, from which on another device made it; a choice.

Packets of one host may take ways that differ by a router or two.
"""

TLS_FAILED: Final = "TLS failed"
"""Kind of a connection in which an end gave up the TLS handshake: it sent a fatal alert in clear text."""

TLS_UNANSWERED: Final = "TLS unanswered"
"""Kind of a connection whose TLS hello the server acknowledged and never answered, until an end closed."""

HTTP_UNANSWERED: Final = "HTTP unanswered"
"""Kind of a connection that ended without an answer to a request that the server's TCP had acknowledged."""

LATER: Final = 0.95
"""Share of the handshake's round trip below which the least one is that of later data, and not its own; a choice."""

IN_VAIN_NS: Final = 3_000_000_000
"""Least time that a client waits for an answer in vain before it gives up; a choice. A server may close sooner."""

TOO_LATE: Final = "too late"
"""Kind of a connection whose one end had closed when data of the other came: resets answered them."""

DONE: Final = "done"
"""Kind of a connection that an end reset once it was done, which is no failure."""

LATE: Final = "late"
"""Kind of a connection that opened only after its first SYN or SYN-ACK had timed out, which is no failure.

However it ended, it may have a kind for that, too.
"""

OTHER: Final = -1
"""Number of any other kind."""

_DIRECTIONS: Final = (
    *NEEDED, "start_ns", "timeouts", "timeout_wait_ns", "longest_stall_ns", "syn_layout", "ttl",
    "window_last_bytes", "routed_copies", "rtt_min_ns", "initial_rtt_ns", "reset_ttl",
    "standstill_ns", "acked_bytes", "disowned", "retransmits",
)  # fmt: skip
"""Columns about directions that are read."""


def blocks(capture: Capture, kinds: Sequence[str]) -> Iterator[Columns]:
    """Yield the connections of some kinds; a block without one is left out. One that opened late may come twice.

    The columns are ``kind``, its place in `kinds`, the hosts ``client`` and ``server``, and the server's ``port``.
    Times are ``start_ns``, ``end_ns``, ``answered_ns`` and ``opening_ns``; counts are ``syns``,
    ``syn_acks``, ``unanswered_fins`` and ``unacknowledged_bytes``. ``stream`` is the number of its stream.
    ``fins_by_client`` is whether the client sent the FINs without an answer.
    ``answered_again`` is whether the only SYN-ACK came as late as a second one would. ``retried`` is whether it came a
    round trip after a SYN that was sent again.
    ``alert`` is the description of the TLS alert that ended the handshake, and ``alert_by_client`` whether the client
    sent it. ``at_client`` and ``at_server`` are whether the capture was taken next to that end.
    ``by_client`` and ``by_server`` are whether that end ended it, and ``reset`` whether a reset did.
    ``deaf`` is whether one end's FINs and the other end's data were sent again, both in vain.
    ``had_closed`` is whether the end that answered no FIN had sent the first one.
    ``only_opened`` is whether no data passed after the handshake. ``confirmed_in_vain`` is whether the server also sent
    its SYN-ACK again after the client had confirmed it.
    ``in_vain_ns`` is the time for which a TLS hello or an HTTP request waited in vain.
    ``with_data`` is whether the client sent payload, as a SYN may have it.
    ``bare`` is whether its SYN has at most the MSS as an option, and ``crafted`` whether no TCP orders them so.
    ``ttl`` is the client's TTL, and ``answer_ttl`` the server's.
    ``routed`` is whether a packet of the client was captured on both sides of a router. ``reached`` is whether the
    capture was taken next to the end that answered nothing: no FIN of the other end, or none of its retransmissions.
    """
    in_batches = LATE in kinds and place.in_batches(capture)
    for life, both in capture._contents.streams.lifecycles(capture.info.last_ns, *_DIRECTIONS):
        kind = _kinds(life, both, capture.info.last_ns or 0, kinds)
        rows = np.flatnonzero(kind != OTHER)
        if len(rows):
            yield _table(capture, kind[rows], life, both, rows)
        late = _opened_late(life, both, in_batches=in_batches)
        rows = np.flatnonzero(late) if LATE in kinds else rows[:0]
        if len(rows):
            yield _table(capture, np.full(len(rows), kinds.index(LATE)), life, both, rows)


def _table(
    capture: Capture,
    kind: NDArray[np.int64],
    life: dict[str, np.ndarray],
    both: dict[str, Any],
    rows: NDArray[np.int64],
) -> Columns:
    """Return the columns of `blocks` for some connections of a block."""
    first = 2 * life["stream"][rows].astype(np.int64)
    ends = capture._contents.streams.endpoints((first[:, None] + np.arange(2)).ravel())
    parts = [end.rpartition(":") for end in ends.tolist()]
    client, server = np.array([host for host, _, _ in parts], dtype=object).reshape(-1, 2).T
    at_client, at_server = next_to(capture, first, both["ttl"].reshape(-1, 2)[rows])
    own = [f"[{name}]" if ":" in name else name for name in place.own(capture)]
    # On one machine, a capture at both ends shows no part of the path between them.
    apart = client != server
    at_client, at_server = at_client | np.isin(client, own) & apart, at_server | np.isin(server, own) & apart
    only_opened = _only_opened(life, both)[rows]
    return {
        "kind": kind,
        "client": client,
        "server": server,
        "port": np.array([port for _, _, port in parts[1::2]], dtype=object),
        "stream": life["stream"][rows],
        "start_ns": both["start_ns"][::2][rows],
        "end_ns": both["end_ns"][::2][rows],
        "answered_ns": life["answered_ns"][rows],
        "answered_again": _answered_again(life, both)[rows],
        "retried": _retried(life, both)[rows],
        "opening_ns": life["opening_ns"][rows],
        "syns": life["syns"][rows],
        "syn_acks": life["syn_acks"][rows],
        "unanswered_fins": life["unanswered_fins"][rows],
        "fins_by_client": life["unanswered_fins_by"][rows] == 0,
        "unacknowledged_bytes": life["unacknowledged_bytes"][rows],
        "at_client": at_client,
        "at_server": at_server,
        "by_client": life["ended_by"][rows] == 0,
        "by_server": life["ended_by"][rows] == 1,
        "in_vain_ns": np.maximum(life["tls_unanswered_ns"], life["http_unanswered_ns"])[rows],
        "spoke_late": life["server_bytes"][rows] > TLS_FAREWELL_BYTES,
        "alert": life["tls_alert"][rows],
        "alert_by_client": life["tls_alert_by"][rows] == 0,
        "reset": life["ended"][rows] == "rst",
        "reset_late": _reset_late(life, both)[rows],
        "deaf": _is_deaf(life, both)[rows],
        "had_closed": ((life["closed_by"] != NULL) & (life["closed_by"] != life["unanswered_fins_by"]))[rows],
        "only_opened": only_opened,
        "confirmed_in_vain": only_opened & (confirmed_in_vain(life)[rows] > 0),
        "with_data": life["client_bytes"][rows] > 0,
        "bare": is_bare(both["syn_layout"][::2][rows]),
        "crafted": is_crafted(both["syn_layout"][::2][rows]),
        "ttl": both["ttl"][::2][rows],
        "answer_ttl": both["ttl"][1::2][rows],
        "routed": both["routed_copies"][::2][rows] > 0,
        "reached": (_silent(life, both)[rows] & np.stack([at_client, at_server], axis=1)).any(axis=1),
    }


def next_to(
    capture: Capture, first: NDArray[np.int64], ttl: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which connections were captured next to the client, and which next to the server.

    Their first directions are `first`, and `ttl` has a TTL of the client and of the server. TTLs show the place where
    delays do not.
    """
    places = vantage.NAMES[capture._contents.paths.places[first]]
    client, server = ttl[:, 0], ttl[:, 1]
    unplaced = places == "unknown"
    at_client = (places == "sender") | unplaced & hops.nearer(client, server)
    at_server = (places == "receiver") | unplaced & hops.nearer(server, client)
    return at_client, at_server


def _kinds(
    life: dict[str, np.ndarray], both: dict[str, Any], capture_end_ns: int, kinds: Sequence[str]
) -> NDArray[np.int64]:
    """Return the place in `kinds` of each connection's kind of failure, or of `DONE`; `OTHER` of any other."""
    handshake, ended = life["handshake"], life["ended"]
    by_client = life["ended_by"] == 0
    complete = handshake == "complete"
    reset = (ended == "rst") & (complete | (handshake == "not captured"))
    client_bytes, server_bytes = life["client_bytes"], life["server_bytes"]
    # The data of an end have the window that its peer advertises.
    windows = both["window_last_bytes"].reshape(-1, 2)
    own_window = np.where(by_client, windows[:, 1], windows[:, 0])
    # A TLS alert or a quit command is no loss.
    cut = _unacknowledged(life, by_client) >= FAREWELL_BYTES
    asked = (client_bytes > 0) & (client_bytes <= REQUEST_BYTES)
    # From the middle of a connection on, only data without an acknowledgment show that the reset answers them.
    # A client needs no more of an answer whose request the capture lacks.
    dropped = (handshake == "not captured") & (life["client_unacknowledged_bytes"] >= FAREWELL_BYTES)
    # A client that resets a connection is done with it. It may close its half before and wait for an answer; a server
    # that closes gives none.
    waits = ~by_client & (life["closed_by"] != 1)
    unanswered = (complete | dropped) & waits & (server_bytes == 0) & asked
    # Without acknowledgments in the capture, its end does not show.
    acks_missing = acknowledgments_missing(both).reshape(-1, 2).any(axis=1)
    waiting = still_waiting(life, both, capture_end_ns)
    timed_out = both["timeouts"].reshape(-1, 2) >= GIVEN_UP
    # Most of the wait was one: the timers ran out in a row.
    in_a_row = timed_out & (2 * both["longest_stall_ns"] >= both["timeout_wait_ns"]).reshape(-1, 2)
    gave_up = np.where(by_client, in_a_row[:, 0], in_a_row[:, 1])
    # Either end may close then: the request never arrived.
    acked = both["acked_bytes"].reshape(-1, 2)
    never_arrived = complete & (client_bytes > 0) & (acked[:, 0] == 0) & timed_out[:, 0] & ~acks_missing
    incomplete = handshake == "never completed"
    withdrawn = incomplete & (ended == "rst") & by_client
    # A lone SYN-ACK was answered, and the capture lacks the answer.
    repeated = life["syn_acks"] >= REPEATED
    reset_late = _reset_late(life, both)
    no_answer = (handshake == "never answered") & ~waiting | reset_late
    places = {name: place for place, name in enumerate(kinds)}
    kind = np.full(len(handshake), OTHER)
    # A later kind outranks an earlier one.
    for name, holds in (
        (DONE, reset),
        ("unclosed", life["unanswered_fins"] > GIVEN_UP),
        (TOO_LATE, _came_too_late(life, both)),
        (TLS_UNANSWERED, _was_unanswered(life["tls_unanswered_ns"], life) & (both["acked_bytes"][::2] > 0)),
        (
            HTTP_UNANSWERED,
            _was_unanswered(life["http_unanswered_ns"], life) & (life["client_unacknowledged_bytes"] == 0),
        ),
        ("cut off", reset & cut),
        ("unanswered", reset & unanswered),
        (ON_THE_WAY, reset & (cut | unanswered) & _made_on_the_way(both, by_client)),
        ("unread", reset & (own_window == 0)),
        ("unused", reset & complete & (life["closed_by"] == NULL) & (client_bytes + server_bytes == 0)),
        (
            "timeout",
            (ended == "timeout") & timed_out.any(axis=1) & ~acks_missing
            | reset & (_unacknowledged(life, by_client) > 0) & gave_up
            | never_arrived,
        ),
        ("refused", (handshake == "refused") & ~reset_late),
        ("never completed", incomplete & repeated),
        ("withdrawn", withdrawn),
        ("never answered", no_answer),
        ("challenged", (handshake == "challenged") & ~waiting),
        (TLS_FAILED, life["tls_alert"] != NULL),
    ):
        kind[holds & life["seen"]] = places.get(name, OTHER)
    return kind


def still_waiting(
    life: dict[str, np.ndarray], both: dict[str, Any], capture_end_ns: int | None
) -> NDArray[np.bool_]:
    """Return which only SYNs had no answer and no timeout when the capture ended: a later SYN may still open them.

    Without times, none are.
    """
    unanswered = np.isin(life["handshake"], ("never answered", "challenged"))
    young = capture_end_ns is not None and capture_end_ns - both["end_ns"][::2] < FIRST_TIMEOUT_NS
    waiting: NDArray[np.bool_] = unanswered & (life["syns"] == 1) & young
    return waiting


def _was_unanswered(waited_ns: NDArray[np.int64], life: dict[str, np.ndarray]) -> NDArray[np.bool_]:
    """Return which connections ended with a question that waited so long for an answer of the server's program.

    A client that closes soon may not have wanted the connection any more.
    """
    by_server = (waited_ns != NULL) & (life["closed_by"] == 1)
    unanswered: NDArray[np.bool_] = (waited_ns >= IN_VAIN_NS) | by_server
    return unanswered


def _came_too_late(life: dict[str, np.ndarray], both: dict[str, Any]) -> NDArray[np.bool_]:
    """Return which connections had been closed by one end before data of the other came, which its resets answered.

    A closed end reads nothing more (RFC 9293 section 3.10.7.1). A client that had a part of its answer may need no more;
    a server misses a request. A farewell is none, nor is the rest of an upload.
    """
    by_client = life["closed_by"] == 0
    closed = by_client | (life["closed_by"] == 1)
    acked, disowned, again = (
        np.where(by_client, *both[name].reshape(-1, 2).T[::-1])
        for name in ("acked_bytes", "disowned", "retransmits")
    )
    late_bytes = _unacknowledged(life, ~by_client)
    first = (life["handshake"] == "complete") & (acked == 0)
    request = ~by_client & (life["client_bytes"] <= REQUEST_BYTES) & (late_bytes >= FAREWELL_BYTES)
    # What had to be sent again was lost on the way, perhaps before the end closed.
    late: NDArray[np.bool_] = closed & (disowned > 0) & (again == 0) & (first & (late_bytes > 0) | request)
    return late


def _silent(life: dict[str, np.ndarray], both: dict[str, Any]) -> NDArray[np.bool_]:
    """Return for client and server of each connection whether it answered no FIN or no retransmission of the other end.

    No router is known between the capture and that end: behind one, the way to it may be broken.
    """
    timed_out = both["timeouts"].reshape(-1, 2) >= GIVEN_UP
    gave_up = timed_out[:, ::-1] & ~timed_out
    unanswered = (life["unanswered_fins"] > GIVEN_UP)[:, None]
    closed = unanswered & (life["unanswered_fins_by"][:, None] == np.array([1, 0]))
    near = np.isin(hops.passed(both["ttl"]).reshape(-1, 2), (0, hops.UNKNOWN_ROUTERS))
    silent: NDArray[np.bool_] = near & (gave_up | closed)
    return silent


def _is_deaf(life: dict[str, np.ndarray], both: dict[str, Any]) -> NDArray[np.bool_]:
    """Return which connections passed no packet on either way: one end repeated its FIN, the other its last data."""
    fins_by, again = life["unanswered_fins_by"], both["retransmits"].reshape(-1, 2)
    # The other end is the client where the server sent the FINs.
    by_client = fins_by == 1
    often = np.where(by_client, again[:, 0], again[:, 1]) >= GIVEN_UP
    in_vain = often & (_unacknowledged(life, by_client) > 0)
    deaf: NDArray[np.bool_] = (life["unanswered_fins"] > GIVEN_UP) & (fins_by != NULL) & in_vain
    return deaf


def _only_opened(life: dict[str, np.ndarray], both: dict[str, Any]) -> NDArray[np.bool_]:
    """Return which connections opened, and then passed no data of either end."""
    passed = (both["acked_bytes"].reshape(-1, 2) > 0).any(axis=1)
    opened: NDArray[np.bool_] = (life["handshake"] == "complete") & ~passed
    return opened


def _opened_late(
    life: dict[str, np.ndarray], both: dict[str, Any], *, in_batches: bool = False
) -> NDArray[np.bool_]:
    """Return which connections opened only after the timer of a SYN had run out, and after two round trips.

    The client sent its SYN again, the server its SYN-ACK, or the only SYN was answered late. Without a timed handshake,
    the capture may lack the client's answer to the only SYN-ACK. Where each SYN was answered, the longer of two known
    round trips counts: the other may cover a part of the path. Packets in batches are late by themselves, so only a SYN
    that was sent again counts.
    """
    opening_ns = life["opening_ns"]
    known_ns = both["rtt_min_ns"].reshape(-1, 2)
    again = (life["syns"] > 1) | (life["syn_acks"] > 1)
    each = (life["syns"] > 1) & (life["syn_acks"] >= life["syns"])
    rtt_ns = np.where(each, known_ns.max(axis=1), _least_rtt_ns(known_ns, opening_ns))
    initial_ns = both["initial_rtt_ns"].reshape(-1, 2)
    # Where nothing was sent again, and later round trips are hardly shorter, the path is as slow.
    later_ns = np.where(known_ns < LATER * initial_ns, known_ns, NULL).max(axis=1)
    rtt_ns = np.where(again, rtt_ns, np.maximum(rtt_ns, later_ns))
    timed = initial_ns[:, 0] != NULL
    far = (known_ns != NULL).any(axis=1) & (opening_ns // 2 < rtt_ns)
    # While both timestamp clocks stood still, no time passed.
    passed_ns = opening_ns - both["standstill_ns"][::2]
    opened = life["seen"] & (life["handshake"] == "complete")
    sure = life["syns"] > 1 if in_batches else again | timed
    late: NDArray[np.bool_] = opened & (passed_ns >= FIRST_TIMEOUT_NS) & ~far & sure
    return late


def _least_rtt_ns(known_ns: NDArray[np.int64], otherwise_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the least round trip of each connection's two directions; another time where neither has one."""
    least: NDArray[np.int64] = np.where(known_ns == NULL, otherwise_ns[:, None], known_ns).min(axis=1)
    return least


def _reset_late(life: dict[str, np.ndarray], both: dict[str, Any]) -> NDArray[np.bool_]:
    """Return which connections were reset after SYNs whose timers had all run out: the reset answers none of them.

    Each timer is twice the last (RFC 6298 section 5.5). Where the first is of three seconds, a refusal of the last SYN
    comes soon after it. A NAT gives a connection up so, in the place of a silent host.
    """
    lasted_ns, doublings = (both["end_ns"] - both["start_ns"])[::2], np.minimum(life["syns"], MOST_SYNS)
    timers_ns = FIRST_TIMEOUT_NS * (2.0**doublings - 1)
    refused_ns = REPEATED_NS * (2.0 ** (doublings - 1) - 1) + LONGEST_REFUSAL_NS
    late: NDArray[np.bool_] = (
        (life["handshake"] == "refused")
        & (life["syns"] >= GIVEN_UP)
        & (lasted_ns >= np.maximum(timers_ns, refused_ns))
    )
    return late


def _answered_again(life: dict[str, np.ndarray], both: dict[str, Any]) -> NDArray[np.bool_]:
    """Return which only SYNs were answered once, after the timer of a SYN-ACK and a round trip: the first was lost."""
    rtt_ns = _least_rtt_ns(both["rtt_min_ns"].reshape(-1, 2), life["answered_ns"])
    beyond_ns = life["answered_ns"] - rtt_ns - FIRST_TIMEOUT_NS
    again: NDArray[np.bool_] = (
        (life["syns"] == 1) & (life["syn_acks"] == 1) & (abs(beyond_ns) <= TIMER_ERROR_NS)
    )
    return again


def _retried(life: dict[str, np.ndarray], both: dict[str, Any]) -> NDArray[np.bool_]:
    """Return in which connections the first SYN-ACK came a round trip after the timer of a SYN that was sent again.

    The SYN before, or its answer, was lost: an answer that is late comes at any time. Each timer is twice the last (RFC
    6298 section 5.5).
    """
    rtt_ns = both["rtt_min_ns"][::2]
    beyond_ns = life["answered_ns"] - np.where(rtt_ns == NULL, life["answered_ns"], rtt_ns)
    again = np.round(np.log2(np.maximum(beyond_ns / FIRST_TIMEOUT_NS + 1, 1)))
    expected_ns = FIRST_TIMEOUT_NS * (2**again - 1)
    retried: NDArray[np.bool_] = (
        (again >= 1) & (again < life["syns"]) & (abs(beyond_ns - expected_ns) <= TIMER_ERROR_NS)
    )
    return retried


def _made_on_the_way(both: dict[str, Any], by_client: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return whether the reset of each connection passed clearly fewer routers than other packets from its address."""
    first, reset = (hops.passed(both[name]).reshape(-1, 2) for name in ("ttl", "reset_ttl"))
    fewer = (reset != hops.UNKNOWN_ROUTERS) & (first - reset >= FEWER_ROUTERS)
    made: NDArray[np.bool_] = np.where(by_client, fewer[:, 0], fewer[:, 1])
    return made


def _unacknowledged(life: dict[str, np.ndarray], by_client: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the payload of the client, or else of the server, that the other end had not acknowledged."""
    clients = life["client_unacknowledged_bytes"]
    own: NDArray[np.int64] = np.where(by_client, clients, life["unacknowledged_bytes"] - clients)
    return own
