"""The program of a connection: iperf3 by its cookie, others by the well-known ports of ``programs.csv``.

A port is a hint only: any program may use any port.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from typing import Final, NamedTuple

__all__ = ["PROGRAMS", "Program", "program_of"]


class Program(NamedTuple):
    """A program or its protocol, and how sure it is: one of `bdpcap.hosts.CERTAINTIES`."""

    name: str
    certainty: str


@cache
def _by_port() -> dict[tuple[str, int], str]:
    """Return the names by end (``client`` or ``server``) and port."""
    text = resources.files("bdpcap.hosts").joinpath("programs.csv").read_text(encoding="utf-8")
    return {(row["end"], int(row["port"])): row["program"] for row in csv.DictReader(text.splitlines())}


PROGRAMS: Final = tuple(sorted(set(_by_port().values())))
"""All names of programs."""


def program_of(
    client_port: int, server_port: int, *, has_cookie: bool = False, has_syn: bool = True
) -> Program | None:
    """Return the program of a connection; None where it is unknown.

    Parameters
    ----------
    client_port, server_port
        TCP ports of both ends.
    has_cookie
        Does the client's payload begin with a cookie of iperf3?
    has_syn
        Was a SYN captured? Without one, the client is only the end with the higher port, so each end may be the server.
    """
    if has_cookie:
        return Program("iperf3", "likely")
    names = _by_port()
    found = names.get(("server", server_port)) or names.get(("client", client_port))
    if found is None and not has_syn:
        found = names.get(("server", client_port)) or names.get(("client", server_port))
    return None if found is None else Program(found, "possible")
