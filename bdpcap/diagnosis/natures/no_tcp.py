"""Data that nobody acknowledges, never sent again or too often: a program makes the packets, and no TCP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.diagnosis import places
from bdpcap.diagnosis.model import Nature
from bdpcap.diagnosis.natures.outage import OUTAGE_NS
from bdpcap.explain.capacity import INITIAL_WINDOW
from bdpcap.words import units
from bdpcap.words.endpoints import host, on_one_machine

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["NATURE"]

_MOST_REPEATS: Final = 15
"""Most times that a TCP sends a segment again: Linux's ``tcp_retries2``; Windows gives up after fewer."""
_LOOK: Final = "Look at the program that makes these packets"
_BOTH_SYNS: Final = 3
"""Value of ``handshake`` in the core's counts where both SYNs were captured."""


def _is_no_tcp(flow: Flow) -> bool:
    return _is_repeated(flow) or _is_never_repeated(flow)


def _is_repeated(flow: Flow) -> bool:
    """Return whether the same segments came more often than a TCP sends them, and none was acknowledged."""
    acknowledged = flow._counts["acked_bytes"] or flow._counts["unseen_bytes"]
    return bool(not acknowledged and _repeats(flow) > _MOST_REPEATS * _segments(flow))


def _repeats(flow: Flow) -> int:
    """Return the number of segments that came again, as retransmissions, as copies, or as SYNs with data."""
    return int(flow._counts["retransmits"] + flow._counts["payload_copies"]) + _repeated_syns(flow)


def _repeated_syns(flow: Flow) -> int:
    """Return how often a SYN with data came again; 0 without a SYN, and if one without data came first."""
    counts = flow._counts
    if not counts["handshake"] or counts["acks"] or _segments(flow) > 1:
        return 0
    more = int(flow.summary["packets"]) - int(counts["retransmits"]) - 1
    return more if more > 1 else 0


def _segments(flow: Flow) -> int:
    """Return the number of different segments with data, one at least."""
    return -(-int(flow.summary["payload_bytes"]) // max(1, int(flow._counts["largest_bytes"] or 0))) or 1


def _is_never_repeated(flow: Flow) -> bool:
    """Return whether data went on without an acknowledgment, and without the retransmission that its timer calls for.

    Next to an end, a capture with both SYNs has the packets of both ends.
    """
    counts, summary = flow._counts, flow.summary
    seen = (
        counts["handshake"] == _BOTH_SYNS and counts["acks"] and summary["vantage"] in ("sender", "receiver")
    )
    none = not (
        counts["acked_bytes"] or counts["unseen_bytes"] or summary["retransmits"] or counts["disowned"]
    )
    return bool(seen and none and _sent(flow) > INITIAL_WINDOW and summary["longest_stall_ns"] >= OUTAGE_NS)


def _sent(flow: Flow) -> int:
    """Return the number of packets after the SYN."""
    return int(flow.summary["packets"]) - 1


def _no_tcp(flow: Flow) -> str:
    if _is_repeated(flow):
        segments, repeats = _segments(flow), _repeats(flow)
        what = "The same segment" if segments == 1 else f"The same {segments:,} segments"
        source = "a generator or a replay"
        if _repeated_syns(flow):
            what = f"The same SYN, with {units.exact_bytes(int(flow.summary['payload_bytes']))} of data,"
            source = "a flood of SYNs"
        return (
            f"{what} came {units.count(repeats)} times more, and no acknowledgment did. A TCP would have given up: "
            f"a program makes these packets, such as {source}."
        )
    sent = units.number(_sent(flow), "packet")
    waited = units.duration(flow.summary["longest_stall_ns"])
    return (
        f"In {waited}, none of {sent} was acknowledged, and none was sent again. A TCP would do so: a program makes "
        "these packets, such as a tunnel that looks like TCP."
    )


def _advice(flow: Flow) -> tuple[str, str]:
    answers = flow.capture._contents.streams.counts_of(flow.stream, flow.receiver)["packets"]
    one_machine = on_one_machine(host(flow.sender), host(flow.receiver))
    if answers or one_machine:
        # A tunnel's program runs at both ends.
        where = places.sender if _is_repeated(flow) and not one_machine else places.programs
        return where(flow), f"{_LOOK}: it makes its rules, and no limit of TCP holds it."
    return (
        places.sender(flow),
        f"{_LOOK}. The address may be false: their Ethernet source shows the host, or the router before it.",
    )


NATURE: Final = Nature("a program's own packets", _is_no_tcp, _no_tcp, _advice)
"""A sender repeats data that are not acknowledged in time (RFC 6298 section 5.4)."""
