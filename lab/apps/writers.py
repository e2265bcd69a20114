"""Writers of kinds that no common application shows alone, and a reader for what is served.

    python writers.py KIND ADDRESS PORT [name=value ...]

Options: seconds, write (bytes a call), sndbuf, nodelay, lowat. The kinds are below.
"""

from __future__ import annotations

import hashlib
import os
import select
import socket
import sys
import tempfile
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["KINDS"]

Options = dict[str, int]
KINDS: dict[str, Callable[[socket.socket, Options, float], None]] = {}
RECORD = 16384
RECORD_EXTRA = 22  # header, type and tag of TLS 1.3


def kind(run: Callable[[socket.socket, Options, float], None]) -> Callable[..., None]:
    """Enter a kind under the function's name."""
    KINDS[run.__name__] = run
    return run


@kind
def writes(sock: socket.socket, options: Options, until: float) -> None:
    """Blocking writes of one size."""
    block = bytes(options["write"])
    while time.monotonic() < until:
        sock.sendall(block)


@kind
def selects(sock: socket.socket, options: Options, until: float) -> None:
    """A select() loop: each write when the socket is said to have room, and as much as it takes."""
    sock.setblocking(False)
    block = bytes(options["write"])
    while time.monotonic() < until:
        if select.select([], [sock], [], 0.1)[1]:
            sock.send(block)


@kind
def blocks(sock: socket.socket, options: Options, until: float) -> None:
    """One block for each that the peer's application has acknowledged by a byte."""
    block = bytes(options["write"])
    while time.monotonic() < until:
        sock.sendall(block)
        if not sock.recv(1):
            return


@kind
def records(sock: socket.socket, _options: Options, until: float) -> None:
    """Records as of TLS, each computed before it is written."""
    block = bytes(RECORD)
    while time.monotonic() < until:
        digest = hashlib.sha256(block).digest()
        sock.sendall(block + digest[:RECORD_EXTRA])


@kind
def files(sock: socket.socket, options: Options, until: float) -> None:
    """A file by sendfile()."""
    with tempfile.TemporaryFile() as file:
        file.truncate(options["write"])
        while time.monotonic() < until:
            os.sendfile(sock.fileno(), file.fileno(), 0, options["write"])


def connect(address: str, port: int, options: Options) -> socket.socket:
    """Open a connection with the options set before, as a small buffer has to be."""
    sock = socket.socket()
    settings = (
        (socket.SOL_SOCKET, socket.SO_SNDBUF, "sndbuf"),
        (socket.IPPROTO_TCP, socket.TCP_NODELAY, "nodelay"),
        (socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, "lowat"),
    )
    for level, option, name in settings:
        if options.get(name):
            sock.setsockopt(level, option, options[name])
    sock.connect((address, port))
    return sock


def main() -> None:
    """Command line."""
    name, address, port = sys.argv[1:4]
    options = {"seconds": 5, "write": 65536}
    options |= {key: int(value) for key, value in (word.split("=") for word in sys.argv[4:])}
    with connect(address, int(port), options) as sock:
        KINDS[name](sock, options, time.monotonic() + options["seconds"])


if __name__ == "__main__":
    main()
