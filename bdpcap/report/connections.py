"""Sentences about connections that failed, and about resets of an end that was done, which are no failures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from bdpcap.read.quality import NEEDED, acknowledgments_missing
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Capture

__all__ = ["ends", "sentences"]

_LINES: Final = 5
"""Maximum number of lines per kind of failure; the remaining pairs of hosts share the last line."""

FIRST_TIMEOUT_NS: Final = 1_000_000_000
"""Time until a SYN is sent again (RFC 6298 section 2.1): one that young when the capture ends may still be answered."""

FAREWELL_BYTES: Final = 536
"""Own data of a resetting end below which nothing was cut off: a TLS alert or a quit command, less than any segment.

The least MSS that every host takes is 536 bytes (RFC 9293 section 3.7.1).
"""

REQUEST_BYTES: Final = 14_600
"""Most bytes of a request: an initial window of ten segments (RFC 6928). More is an upload, whose receiver may end it."""

_ADVICE: Final = {
    "never answered": "Check the route and the firewalls: a host without that service would have refused.",
    "refused": "Start the service, or check the address and the port.",
    "never completed": "Check the way back to the client, and whether it meant to connect: port scans end so.",
    "timeout": "Find where the path broke: retransmissions went unanswered to the end.",
    "cut off": "Ask the end that reset it: its log says why.",
    "unanswered": "See why the service reset it: its log, or a proxy before it.",
    "unused": "Both ends agreed to talk, and one left at once: a health check, a scan, or a service that is overloaded.",
}

_DONE: Final = "done"


def sentences(capture: Capture) -> list[str]:
    """Return sentences about failed connections with advice, gravest first; empty if none failed."""
    table = capture.connections
    kind = _kinds(capture, table)
    found = []
    for name, advice in _ADVICE.items():
        failed = table[kind == name]
        if not failed.empty:
            found += [f"{line} {advice}" if first else line for first, line in _lines(name, failed)]
    return found


def ends(capture: Capture) -> list[str]:
    """Return sentences about connections that an end reset once it was done; empty if there are none."""
    table = capture.connections
    done = table[_kinds(capture, table) == _DONE]
    return [] if done.empty else [line for _, line in _lines(_DONE, done)]


def _kinds(capture: Capture, table: pd.DataFrame) -> pd.Series:
    """Return the kind of failure of each connection, or `_DONE`; null if a connection ended otherwise."""
    kind = pd.Series(None, index=table.index, dtype="str")
    complete = table["handshake"] == "complete"
    reset = (table["ended"] == "rst") & (complete | (table["handshake"] == "not captured"))
    by_client = (table["ended_by"] == table["client"]).to_numpy()
    sent = table[["client_bytes", "server_bytes"]].to_numpy()
    own_bytes, peers_bytes = np.where(by_client[:, None], sent, sent[:, ::-1]).T
    cut = _unacknowledged(capture, table, by_client) >= FAREWELL_BYTES
    unanswered = complete & (own_bytes == 0) & (peers_bytes > 0) & (peers_bytes <= REQUEST_BYTES)
    kind = kind.mask(reset, _DONE).mask(reset & cut, "cut off")
    kind = kind.mask(reset & unanswered, "unanswered").mask(
        reset & complete & (sent.sum(axis=1) == 0), "unused"
    )
    kind = kind.mask((table["ended"] == "timeout") & ~_acks_missing(capture, table), "timeout")
    never = table["handshake"].isin(["never answered", "refused", "never completed"])
    young = (capture.info.last_ns or 0) - table["end_ns"] < FIRST_TIMEOUT_NS
    waiting = (table["handshake"] == "never answered") & (table["syns"] == 1) & young
    return kind.mask(never & ~waiting, table["handshake"])


def _acks_missing(capture: Capture, table: pd.DataFrame) -> np.ndarray:
    """Return whether the capture lacks acknowledgments of a connection, so that its end does not show."""
    missing = acknowledgments_missing(capture.directions(*NEEDED))
    rows = 2 * table["stream"].to_numpy()
    either: np.ndarray = missing[rows] | missing[rows + 1]
    return either


def _unacknowledged(capture: Capture, table: pd.DataFrame, by_client: np.ndarray) -> np.ndarray:
    """Return the payload of the end that reset each connection which its peer had not acknowledged."""
    rows = 2 * table["stream"].to_numpy() + ~by_client
    both = capture.directions("payload_bytes", "acked_bytes")
    own = np.asarray(both["payload_bytes"])[rows] - np.asarray(both["acked_bytes"])[rows]
    left: np.ndarray = np.clip(own, 0, table["unacknowledged_bytes"].to_numpy())
    return left


def _lines(name: str, failed: pd.DataFrame) -> list[tuple[bool, str]]:
    """Return a line for each pair of hosts, most connections first; True is with the first line only."""
    hosts = failed.assign(**{side: failed[side].str.rpartition(":")[0] for side in ("client", "server")})
    hosts["port"] = failed["server"].str.rpartition(":")[2]
    number = hosts.groupby(["client", "server"], sort=False).ngroup().to_numpy()
    largest = np.argsort(-np.bincount(number), kind="stable")
    # A flood comes from millions of hosts: only the pairs with a line become tables.
    single = largest if len(largest) <= _LINES else largest[: _LINES - 1]
    pairs = [hosts[number == one] for one in single]
    if len(single) < len(largest):
        pairs.append(hosts[~np.isin(number, single)])
    return [(index == 0, _line(name, pair)) for index, pair in enumerate(pairs)]


def _line(name: str, pair: pd.DataFrame) -> str:
    what = {
        "never answered": f"never answered ({_tries(pair)})",
        "refused": "refused",
        "never completed": "answered, and never completed by the client",
        "timeout": f"given up with {units.exact_bytes(pair['unacknowledged_bytes'].sum())} unacknowledged",
        "cut off": f"reset with {units.exact_bytes(pair['unacknowledged_bytes'].sum())} unacknowledged",
        "unanswered": "reset without an answer",
        "unused": "reset before any data",
        _DONE: f"ended by a reset of {_resetters(pair)}, which was done",
    }[name]
    were = "was" if len(pair) == 1 else "were"
    return f"{units.number(len(pair), 'connection')} from {_clients(pair)} to {_servers(pair)} {were} {what}."


def _tries(pair: pd.DataFrame) -> str:
    lasted_ns = pair["end_ns"].max() - pair["start_ns"].min()
    tries = units.number(int(pair["syns"].sum()), "SYN")
    return f"{tries} in {units.duration(lasted_ns)}" if lasted_ns else tries


def _resetters(pair: pd.DataFrame) -> str:
    hosts = pair["ended_by"].str.rpartition(":")[0].dropna().unique()
    return str(hosts[0]) if len(hosts) == 1 else "one end"


def _clients(pair: pd.DataFrame) -> str:
    clients = pair["client"].unique()
    return str(clients[0]) if len(clients) == 1 else units.number(len(clients), "host")


def _servers(pair: pd.DataFrame) -> str:
    servers, ports = pair["server"].unique(), pair["port"].unique()
    host = str(servers[0]) if len(servers) == 1 else units.number(len(servers), "host")
    if len(ports) == 1:
        return f"port {ports[0]} of {host}"
    return f"{units.number(len(ports), 'port')} of {host}"
