"""Servers whose responses in clear text are errors: TCP carried them well, and the fault is there."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.explain.once import once
from bdpcap.words import units
from bdpcap.words.endpoints import host, port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bdpcap.capture import Capture

__all__ = ["FTP_PORT", "TITLE", "sentences"]

TITLE: Final = "Requests answered with an error"
"""Title above `sentences`."""

SERVER_ERROR: Final = 500
"""Least status of an error of the server (RFC 9110 section 15.6): one is worth a look, whatever else it answered."""
MOST: Final = 1 / 2
"""Share of a server's responses above which errors of the client count; a choice.

Browsers ask for icons that many servers lack.
"""
MANY: Final = 1000
"""Most connections whose servers are named, the first ones; a choice: a server with an error mostly has more of it."""
FTP_PORT: Final = 21
"""Port of FTP (RFC 959 section 5.2)."""
_FTP: Final = {
    425: "it opened no connection for data ({}). In active mode it connects to the client, which a NAT or a firewall may "
    "stop: passive mode (PASV or EPSV) avoids that.",
    426: "a transfer was aborted ({}): its connection for data ended early. See in the server's log why.",
    530: "it refused a login ({}): see which user and password the client sent.",
}
"""What a server of FTP reports, by the code (RFC 959 section 4.2), and the advice."""

_ADVICE: Final = {
    400: "see what the client sent, since the server would not process it",
    401: "see which credentials the client sent",
    403: "see the server's rules of access",
    404: "see which address the client asked for",
    407: "see which credentials the client sent to the proxy",
    429: "the client asked too often",
    502: "see the server behind this one, which it could not reach, or which answered badly",
    504: "see the server behind this one, which did not answer it in time",
}
"""Advice by the status (RFC 9110 section 15, RFC 6585 section 4)."""
_OF_CLIENT: Final = "see what the client asked for"
_OF_SERVER: Final = "see the server's log"


@dataclass
class _Responses:
    """Responses of one server: all of them, its errors, and the status of the last error, one of the server first."""

    responses: int = 0
    errors: int = 0
    status: int = 0
    others: bool = False
    """Whether errors may have another status: a connection with several has that of the last."""


@once
def sentences(capture: Capture) -> list[tuple[str, int]]:
    """Return a sentence about each server whose responses are errors, with their number; most errors first."""
    found: defaultdict[tuple[str, int, int], _Responses] = defaultdict(_Responses)
    for server, responses, errors, status in _responses(capture):
        # What a server of FTP reports differs in its advice.
        own = found[host(server), port(server), status if port(server) == FTP_PORT else 0]
        own.responses, own.errors = own.responses + responses, own.errors + errors
        own.others |= errors > 1 or status not in (0, own.status or status)
        # An error of the server comes before one of the client.
        if status >= SERVER_ERROR or own.status < SERVER_ERROR:
            own.status = status or own.status
    grave = {
        end: own
        for end, own in found.items()
        if own.errors
        and (_is_ftp(end[1], own) or own.status >= SERVER_ERROR or own.errors > MOST * own.responses)
    }
    most_first = sorted(grave.items(), key=lambda item: -item[1].errors)
    return [(_sentence(*end[:2], own), own.errors) for end, own in most_first]


def _responses(capture: Capture) -> Iterator[tuple[str, int, int, int]]:
    """Yield server, number of responses, number of errors and last status of connections with some in clear text."""
    left = MANY
    for life, _ in capture._contents.streams.lifecycles(capture.info.last_ns):
        rows = np.flatnonzero(life["http_responses"] + life["error_responses"])[:left]
        left -= len(rows)
        streams = life["stream"][rows].astype(np.int64)
        servers = capture._contents.streams.endpoints(2 * streams + 1)
        columns = (
            life[name][rows].tolist() for name in ("http_responses", "error_responses", "error_status")
        )
        for server, responses, errors, status in zip(servers, *columns, strict=True):
            yield str(server), responses, errors, status if errors else 0


def _is_ftp(port: int, own: _Responses) -> bool:
    return port == FTP_PORT and own.status in _FTP


def _sentence(server: str, port: int, own: _Responses) -> str:
    if _is_ftp(port, own):
        times = "" if own.errors == 1 else f", {units.number(own.errors, 'time')}, "
        return f"The FTP server {server} reported{times or ' '}that {_FTP[own.status].format(own.status)}"
    words = HTTPStatus(own.status).phrase if own.status in set(HTTPStatus) else "an error"
    which = f"{units.count(own.errors)} of {units.number(own.responses, 'HTTP response')}"
    of_errors = (
        "was an error:" if own.errors == 1 else "were errors, such as" if own.others else "were errors:"
    )
    advice = _ADVICE.get(own.status, _OF_SERVER if own.status >= SERVER_ERROR else _OF_CLIENT)
    last = f"{own.status} ({words.lower()})"
    return f"{which} from port {port} of {server} {of_errors} {last}. TCP carried them: {advice}."
