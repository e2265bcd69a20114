"""Sentences on a capture in which no TCP flow carried payload: only UDP, only handshakes, or nothing at all."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from bdpcap.report.failed_line import MANY
from bdpcap.report.failures import still_waiting
from bdpcap.words import units
from bdpcap.words.endpoints import host

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bdpcap.capture import Capture
    from bdpcap.read.facts import CaptureInfo

__all__ = ["FEWEST", "datagrams", "sentence"]

_LINES: Final = 5
"""Maximum number of UDP flows with a line, the largest; the table of `bdpcap info` has all."""
_REASONS: Final = 3
"""Most reasons why frames hold nothing to judge, the most frequent; `bdpcap info` has all."""
FEWEST: Final = 10
"""Fewest datagrams of which a rate is given: of fewer, the moment at which they were captured decides it."""
OTHERS: Final = 0.1
"""Share of frames without TCP and UDP from which on the sentence on a capture of UDP names them; a choice."""
_WAITING: Final = "waiting"
"""Kind of a connection whose only SYN was sent just before the capture ended, so no report counts it as failed."""
_HANDSHAKES: Final = {
    "complete": "opened",
    "not captured": "begun before the capture",
    "never answered": "never answered",
    "refused": "refused",
    "challenged": "answered only for an older connection",
    "never completed": "never completed by the client",
    _WAITING: "still unanswered as the capture ended",
}
"""What became of a connection without payload, by its handshake or kind."""
_ACK_AND_RST: Final = 4 + 32
"""An acknowledgment and a reset, as Wireshark's ``tcp.completeness`` adds them up."""
_SERVER: Final = 1
"""The server, as the core numbers the ends."""
_LOOKED_AT: Final = 1000
"""Most such connections of a block of streams whose ends are looked at; a choice."""
_PROBED: Final = "probed"
"""Kind of a connection that is only an acknowledgment and the reset that answered it (RFC 9293 section 3.10.7.1)."""


def sentence(capture: Capture) -> str:
    """Return the verdict on a capture without a flow that carried payload."""
    info = capture.info
    if info.segments:
        return _connections(capture)
    if info.datagrams:
        flows = capture.datagrams
        alone = sum(info.undecoded.values()) < OTHERS * info.frames
        others = "" if alone else f"; other frames: {_held(info)}"
        # Beyond a limit, flows are left out.
        number, ways = units.number(flows["packets"].sum(), "datagram"), units.number(len(flows), "flow")
        carried = f"{number} in {ways} carried {units.data_size(flows['payload_bytes'].sum())}{others}"
        judged = "UDP has no window and no acknowledgments, so there is no limit to judge."
        return f"{'Only UDP' if alone else 'No TCP. UDP'}: {carried}. {judged}"
    return _nothing(info)


def _connections(capture: Capture) -> str:
    found: Counter[str] = Counter()
    lone = 0
    asked: defaultdict[str, set[str]] = defaultdict(set)
    streams = capture._contents.streams
    for columns, both in streams.lifecycles(capture.info.last_ns, "packets"):
        probed = _is_probed(columns, both)
        lone += int(_is_lone(columns, both).sum())
        kind = np.where(probed, _PROBED, columns["handshake"])
        kind[still_waiting(columns, both, capture.info.last_ns)] = _WAITING
        found.update(kind[columns["seen"]].tolist())
        first = 2 * columns["stream"][probed][:_LOOKED_AT].astype(np.int64)
        for client, server in zip(*(streams.endpoints(first + end) for end in (0, 1)), strict=True):
            asked[host(client)].add(server)
    if not found:
        return "No flow carried payload: there is nothing to judge."
    # Those of many clients answer older connections, as of a server or a NAT that lost its state.
    most = max(asked.values(), key=len, default=set())
    if len(most) >= MANY:
        return _scanned(found, most)
    found += Counter({"not captured": found.pop(_PROBED, 0)})
    if MANY <= lone == found.total():
        return (
            f"{units.number(lone, 'connection')} are one packet each, and nobody answered: packets of older connections, "
            "or those of a scan, a flood or a test tool. There is nothing to judge."
        )
    number = units.number(found.total(), "connection")
    each = ", ".join(f"{units.count(count)} {_HANDSHAKES[kind]}" for kind, count in found.most_common())
    if any(flaw.code == "no-data" for flaw in capture._contents.quality):
        kinds = f": {each}" if len(found) > 1 else ""
        lacks = f"The capture holds no payload of {number}, though some was acknowledged{kinds}."
        return f"{lacks} There is nothing to judge."
    if found.total() == 1:
        return f"The connection was {_HANDSHAKES[next(iter(found))]} and carried no payload: there is nothing to judge."
    return f"{number} carried no payload: {each}. There is nothing to judge."


def _is_probed(columns: dict[str, np.ndarray], both: dict[str, Any]) -> NDArray[np.bool_]:
    """Return which connections are one acknowledgment of the client without a SYN, and the reset that answered it."""
    one_each: NDArray[np.bool_] = (np.asarray(both["packets"]).reshape(-1, 2) == 1).all(axis=1)
    bare = columns["completeness"] == _ACK_AND_RST
    probed: NDArray[np.bool_] = bare & (columns["ended_by"] == _SERVER) & one_each
    return probed


def _is_lone(columns: dict[str, np.ndarray], both: dict[str, Any]) -> NDArray[np.bool_]:
    """Return which connections are one packet without an answer, and not a SYN."""
    packets = np.asarray(both["packets"]).reshape(-1, 2).sum(axis=1)
    lone: NDArray[np.bool_] = columns["seen"] & (packets == 1) & (columns["handshake"] == "not captured")
    return lone


def _scanned(found: Counter[str], asked: set[str]) -> str:
    """Return the verdict on a capture of a scan with acknowledgments, which belong to no connection.

    `asked` are the ends that one client asked: a port at many hosts, or many ports.
    """
    probes = units.number(found.pop(_PROBED), "lone acknowledgment")
    others = ", ".join(f"{units.count(count)} {_HANDSHAKES[kind]}" for kind, count in found.most_common())
    rest = f" Connections without payload: {others}." if others else ""
    sought = "It is a scan with ACKs: it asks which ports a filter lets through."
    if len({end.rpartition(":")[2] for end in asked}) < MANY <= len({host(end) for end in asked}):
        sought = "It is a search for hosts with ACKs: it asks which addresses answer."
    return f"A reset answered each of {probes}, which belong to no connection. {sought}{rest} There is nothing to judge."


def _nothing(info: CaptureInfo) -> str:
    if info.frames > info.filtered_out:
        frames = units.number(info.frames - info.filtered_out, "frame")
        return f"{frames}, and no TCP segment or UDP datagram to judge: {_held(info)}."
    if info.filtered_out:
        return f"The filter left out all of {units.number(info.filtered_out, 'frame')}: nothing to judge."
    return "The capture has no frames."


def _held(info: CaptureInfo) -> str:
    """Return what frames hold that are neither TCP nor UDP, or are broken, each with its number."""
    held = Counter(info.undecoded).most_common()
    shown = ", ".join(f"{reason} ({units.count(count)})" for reason, count in held[:_REASONS])
    rest = sum(count for _, count in held[_REASONS:])
    return f"{shown}, others ({units.count(rest)})" if rest else shown


def datagrams(capture: Capture) -> list[str]:
    """Return a sentence for each of the largest UDP flows of a capture without other flows; empty for other captures."""
    if len(capture.flows) or not capture.info.datagrams:
        return []
    flows = capture.datagrams.sort_values("payload_bytes", ascending=False, kind="stable")
    lines = [_datagrams(row) for _, row in flows.head(_LINES).iterrows()]
    if len(flows) > _LINES:
        lines.append(
            f"{units.number(len(flows) - _LINES, 'more flow')} not shown; `bdpcap info FILE` lists all."
        )
    return lines


def _datagrams(flow: pd.Series) -> str:
    ends = f"{flow['sender']} → {flow['receiver']}"
    rate = flow["throughput_bps"] if flow["packets"] >= FEWEST else pd.NA
    parts = [
        f"{ends}: {units.number(flow['packets'], 'datagram')}",
        units.data_size(flow["payload_bytes"]) + ("" if pd.isna(rate) else f" at {units.rate(rate)}"),
    ]
    if pd.notna(flow["lost"]):
        parts.append(f"{units.count(flow['lost'])} lost")
    if pd.notna(flow["jitter_ns"]):
        parts.append(f"jitter {units.duration(flow['jitter_ns'])}")
    return f"{', '.join(parts)}."
