"""Places to act on, in words: an end of a flow by its address, both ends, or the path between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdpcap.explain.behind import is_behind
from bdpcap.explain.remedies.host import is_ours
from bdpcap.words.endpoints import both, host, on_one_machine

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = [
    "both_ways",
    "either",
    "full_link",
    "nowhere",
    "path",
    "path_back",
    "path_back_or_sender",
    "path_from_capture",
    "path_to_capture",
    "programs",
    "receiver",
    "sender",
]


def sender(flow: Flow) -> str:
    """Return the sending host."""
    return f"the sender, {_behind(flow, flow.sender)}{both(flow.sender, flow.receiver)[0]}"


def receiver(flow: Flow) -> str:
    """Return the receiving host."""
    return f"the receiver, {_behind(flow, flow.receiver)}{both(flow.sender, flow.receiver)[1]}"


def _behind(flow: Flow, end: str) -> str:
    """Return the words before the address of a NAT that stands for an end; empty for any other address."""
    return "a host behind " if is_behind(flow, end) else ""


def nowhere(_: Flow) -> str:
    """Return no place: nothing is to be mended."""
    return ""


def path(flow: Flow) -> str:
    """Return the path of the data; on one machine, that machine."""
    return _only_host(flow) or f"the path from {host(flow.sender)} to {host(flow.receiver)}"


def full_link(flow: Flow) -> str:
    """Return the part of the path on which a full link lies, as far as the place of the capture shows it."""
    vantage = str(flow.summary["vantage"])
    if vantage not in ("sender", "receiver") or _only_host(flow):
        return path(flow)
    return path_from_capture(flow) if vantage == "sender" else path_to_capture(flow)


def path_to_capture(flow: Flow) -> str:
    """Return the path of the data up to the capture."""
    return f"the path from {host(flow.sender)} to the capture"


def path_from_capture(flow: Flow) -> str:
    """Return the path of the data behind the capture."""
    return f"the path from the capture to {host(flow.receiver)}"


def path_back(flow: Flow) -> str:
    """Return the path of the acknowledgments; on one machine, that machine."""
    return _only_host(flow) or f"the path from {host(flow.receiver)} to {host(flow.sender)}"


def both_ways(flow: Flow) -> str:
    """Return the path of data and acknowledgments; on one machine, that machine."""
    return _only_host(flow) or f"the path between {host(flow.sender)} and {host(flow.receiver)}"


def path_back_or_sender(flow: Flow) -> str:
    """Return the path of the acknowledgments, or the sending host if the capture is next to it."""
    return sender(flow) if flow.summary["vantage"] == "sender" else path_back(flow)


def either(flow: Flow) -> str:
    """Return the end that belongs to the reader of the capture, or both, of which one is enough."""
    own = [end for end in ("sender", "receiver") if is_ours(flow, end)]
    if len(own) == 1:
        return sender(flow) if own == ["sender"] else receiver(flow)
    if (alone := _only_host(flow)) is not None:
        return alone
    return f"either end, {host(flow.sender)} or {host(flow.receiver)}"


def programs(flow: Flow) -> str:
    """Return both hosts."""
    return _only_host(flow) or f"both ends, {host(flow.sender)} and {host(flow.receiver)}"


def _only_host(flow: Flow) -> str | None:
    """Return the host on which both ends run; None if there are two."""
    one = host(flow.sender)
    return f"the host of both ends, {one}" if on_one_machine(one, host(flow.receiver)) else None
