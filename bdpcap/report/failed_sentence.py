"""The sentence on connections of one kind that failed or opened late: how many, between whom, and how they ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdpcap.report import tls
from bdpcap.report.failures import (
    DONE,
    HTTP_UNANSWERED,
    LATE,
    ON_THE_WAY,
    TLS_FAILED,
    TLS_UNANSWERED,
    TOO_LATE,
)
from bdpcap.report.many_names import NAMED
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.report.failed_line import Line

__all__ = ["sentence"]


def sentence(line: Line, kind: str) -> str:
    """Return the sentence on the connections, which are of one kind."""
    servers = line.servers
    named = _listed(servers.first) if len(servers) <= NAMED else servers.text("host")
    to = f"{_port(line)} of {named}"
    subject = f"{units.number(line.connections, 'connection')} from {line.clients.text('host')} to {to}"
    if kind == LATE:
        return f"{subject} opened only after {_opening(line)}."
    if kind == TLS_FAILED:
        return f"{subject} ended in a failed TLS handshake: {_alert(line)}."
    if kind in (TLS_UNANSWERED, HTTP_UNANSWERED):
        # Times that run backwards show no wait.
        after = f", and ended after {_span(line.in_vain_ns)}" if line.in_vain_ns[0] > 0 else ""
        what = "a TLS hello" if kind == TLS_UNANSWERED else "an HTTP request"
        return f"{subject} got no answer to {what}{after}."
    left = f"{units.exact_bytes(line.unacknowledged_bytes)} unacknowledged"
    fins = units.number(line.unanswered_fins, "FIN")
    unread = " without the data in the SYN" if line.with_data else ""
    what = {
        "never answered": f"never answered ({_tries(line)})",
        "refused": "refused",
        "challenged": f"answered only by ACKs of an older one ({_tries(line)})",
        "never completed": "answered, and never completed by the client",
        "withdrawn": f"answered{unread}, and reset by the client{'' if unread else ' before any data'}",
        "timeout": f"left with {left}",
        "unread": f"reset by {_resetter(line)} with its window closed",
        ON_THE_WAY: "reset by a device on the way",
        "cut off": f"reset with {left}",
        "unanswered": "reset without an answer",
        TOO_LATE: f"closed{_side(line)} before all data came, which a reset answered ({left})",
        "unclosed": f"closed, and no FIN of {_closer(line)} was answered ({fins})",
        "unused": f"reset{_side(line)} before any data",
        DONE: f"ended by a reset of {_resetter(line)}, which was done",
    }[kind]
    were = "was" if line.connections == 1 else "were"
    return f"{subject} {were} {what}."


def _alert(line: Line) -> str:
    description, by_client = line.alert
    if description is None:
        return f"the ends sent {units.number(len(line.alerts), 'different alert')}"
    return f"the {'client' if by_client else 'server'} sent the alert {tls.name(description)}"


def _tries(line: Line) -> str:
    # Of many servers, it shows how long the client tried each.
    if len(line.servers) > 1 and line.most_syns > 1:
        most = units.number(line.most_syns, "SYN")
        return f"up to {most} in {units.duration(line.longest_ns)} each"
    tries = units.number(line.syns, "SYN")
    lasted_ns = line.end_ns - line.start_ns
    if line.reset_late:
        resets = "a reset" if line.connections == 1 else "resets up to"
        return f"{tries}, and {resets} {units.duration(line.longest_ns)} after the first"
    return f"{tries} in {units.duration(lasted_ns)}" if lasted_ns else tries


def _opening(line: Line) -> str:
    """Return how long the handshakes took, with their SYNs, and with their SYN-ACKs if these are more."""
    tries = units.number(line.syns, "SYN")
    answers = f", {units.number(line.syn_acks, 'SYN-ACK')}" if line.syn_acks > line.syns else ""
    return f"{_span(line.opening_ns)} ({tries}{answers})"


def _side(line: Line) -> str:
    """Return the words on the end that ended each connection; empty if it was not always the same."""
    return " by the server" if line.by_server else " by the client" if line.by_client else ""


def _closer(line: Line) -> str:
    """Return the end that sent the FINs without an answer."""
    if len(line.fins_by_client) > 1:
        return "one end"
    return "the client" if True in line.fins_by_client else "the server"


def _resetter(line: Line) -> str:
    return line.resetters.one if len(line.resetters) == 1 else "one end"


def _port(line: Line) -> str:
    if len(line.ports) > NAMED:
        return line.ports.text("port")
    ports = sorted(line.ports.first, key=int)
    return f"port{'' if len(ports) == 1 else 's'} {_listed(ports)}"


def _span(span_ns: tuple[int, int]) -> str:
    shortest, longest = map(units.duration, span_ns)
    return longest if shortest == longest else f"{shortest} to {longest}"


def _listed(names: list[str]) -> str:
    """Return names with commas between them, and the last after "and"."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
