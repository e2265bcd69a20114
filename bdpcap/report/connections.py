"""Sentences about failed connections: unanswered, refused, reset or timed out; one for each pair of hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pandas as pd

from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Capture

__all__ = ["sentences"]

_LINES: Final = 5
"""Maximum number of lines per kind of failure; the remaining pairs of hosts share the last line."""

_ADVICE: Final = {
    "never answered": "Check the route and the firewalls: a host without that service would have refused.",
    "refused": "Start the service, or check the address and the port.",
    "never completed": "Check the way back to the client, and whether it meant to connect: port scans end so.",
    "timeout": "Find where the path broke: retransmissions went unanswered to the end.",
    "reset with data": "Ask the end that reset it: its log says why. Data were lost.",
    "reset": "Nothing was lost if the application expected it: all data had been acknowledged.",
}


def sentences(capture: Capture) -> list[str]:
    """Return sentences about failed connections with advice, gravest first; empty if none failed."""
    table = capture.connections
    kind = _kinds(table)
    found = []
    for name, advice in _ADVICE.items():
        failed = table[kind == name]
        if not failed.empty:
            found += [f"{line} {advice}" if first else line for first, line in _lines(name, failed)]
    return found


def _kinds(table: pd.DataFrame) -> pd.Series:
    """Return the kind of failure of each connection, a key of ``_ADVICE``; null if the connection did not fail."""
    kind = pd.Series(None, index=table.index, dtype="str")
    reset = (table["ended"] == "rst") & table["handshake"].isin(["complete", "not captured"])
    kind = kind.mask(reset, "reset").mask(reset & (table["unacknowledged_bytes"] > 0), "reset with data")
    kind = kind.mask(table["ended"] == "timeout", "timeout")
    never = table["handshake"].isin(["never answered", "refused", "never completed"])
    return kind.mask(never, table["handshake"])


def _lines(name: str, failed: pd.DataFrame) -> list[tuple[bool, str]]:
    """Return a line for each pair of hosts, most connections first; True is with the first line only."""
    hosts = failed.assign(**{side: failed[side].str.rpartition(":")[0] for side in ("client", "server")})
    hosts["port"] = failed["server"].str.rpartition(":")[2]
    pairs = [pair for _, pair in hosts.groupby(["client", "server"], sort=False)]
    pairs.sort(key=len, reverse=True)
    if len(pairs) > _LINES:
        pairs = [*pairs[: _LINES - 1], pd.concat(pairs[_LINES - 1 :])]
    return [(index == 0, _line(name, pair)) for index, pair in enumerate(pairs)]


def _line(name: str, pair: pd.DataFrame) -> str:
    what = {
        "never answered": f"never answered ({_tries(pair)})",
        "refused": "refused",
        "never completed": "answered, and never completed by the client",
        "timeout": f"given up with {units.exact_bytes(pair['unacknowledged_bytes'].sum())} unacknowledged",
        "reset with data": f"reset with {units.exact_bytes(pair['unacknowledged_bytes'].sum())} unacknowledged",
        "reset": "ended by a reset",
    }[name]
    were = "was" if len(pair) == 1 else "were"
    return f"{units.number(len(pair), 'connection')} from {_clients(pair)} to {_servers(pair)} {were} {what}."


def _tries(pair: pd.DataFrame) -> str:
    lasted = pair["end_ns"].max() - pair["start_ns"].min()
    return f"{units.number(int(pair['syns'].sum()), 'SYN')} in {units.duration(lasted)}"


def _clients(pair: pd.DataFrame) -> str:
    clients = pair["client"].unique()
    return str(clients[0]) if len(clients) == 1 else units.number(len(clients), "host")


def _servers(pair: pd.DataFrame) -> str:
    servers, ports = pair["server"].unique(), pair["port"].unique()
    host = str(servers[0]) if len(servers) == 1 else units.number(len(servers), "host")
    if len(ports) == 1:
        return f"port {ports[0]} of {host}"
    return f"{units.number(len(ports), 'port')} of {host}"
