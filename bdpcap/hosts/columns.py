"""Systems and programs of many connections, as columns of indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap.hosts.names import FAMILIES
from bdpcap.hosts.programs import PROGRAMS, program_of
from bdpcap.hosts.syn import Syn
from bdpcap.hosts.systems import CERTAINTIES, system_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bdpcap.hosts.systems import System

    Places = NDArray[np.int64]

__all__ = ["NEEDED", "programs", "syns", "systems", "systems_of"]

NEEDED: Final = ("syn_layout", "ttl", "syn_window_bytes", "syn_scale", "syn_mss_bytes")
"""Columns of `bdpcap._core.Analysis.directions` that show the systems."""


def _numbers(directions: dict[str, Any]) -> NDArray[np.int64]:
    """Return for each direction, as a row, the arguments of `Syn.of_core` for its sender's SYN."""
    columns = {name: np.asarray(directions[name]).astype(np.int64) for name in NEEDED}
    # The window of a SYN limits the other direction, whose row is its neighbour.
    columns["syn_window_bytes"] = columns["syn_window_bytes"].reshape(-1, 2)[:, ::-1].ravel()
    return np.stack([columns[name] for name in NEEDED], axis=1)


def syns(directions: dict[str, Any]) -> list[Syn | None]:
    """Return the SYN of each direction's sender; None where it was not captured.

    Parameters
    ----------
    directions
        The columns `NEEDED` of whole streams: for each the client's row, then the server's.
    """
    return [Syn.of_core(*row) for row in _numbers(directions).tolist()]


def systems_of(directions: dict[str, Any], rows: Places) -> list[System | None]:
    """Return the system of the sender of some directions; None where it is unknown.

    Parameters
    ----------
    directions
        The columns `NEEDED` of whole streams: for each the client's row, then the server's.
    rows
        The rows of the wanted directions.
    """
    judged, which = _judged(directions, rows)
    return [judged[place] for place in which.tolist()]


def systems(directions: dict[str, Any], rows: Places) -> tuple[Places, Places]:
    """Return the systems of `systems_of` as indexes of `FAMILIES` and of `CERTAINTIES`; -1 where unknown."""
    judged, which = _judged(directions, rows)
    found = np.array([_places(system) for system in judged], dtype=np.int64).reshape(-1, 2)[which]
    return found[:, 0], found[:, 1]


def _judged(directions: dict[str, Any], rows: Places) -> tuple[list[System | None], Places]:
    """Return the systems of all different SYNs, and for each row the place of its system in that list."""
    streams, place = np.unique(rows >> 1, return_inverse=True)
    whole = (2 * streams[:, np.newaxis] + np.arange(2)).ravel()
    numbers = _numbers({name: np.asarray(directions[name])[whole] for name in NEEDED})
    own = 2 * place + (rows & 1)
    # Of the SYN that a server answers, only the layout matters; a client answers none.
    answered = np.where(rows & 1, numbers[own ^ 1, 0], 0)
    which = np.zeros(len(rows), dtype=np.int64)
    first = np.zeros(min(1, len(rows)), dtype=np.int64)
    for column in (*numbers[own].T, rows & 1, answered):
        _, codes = np.unique(column, return_inverse=True)
        _, first, which = np.unique(
            which * (1 + codes.max(initial=0)) + codes, return_index=True, return_inverse=True
        )
    pairs = zip(numbers[own[first]].tolist(), numbers[own[first] ^ 1].tolist(), strict=True)
    is_server = (rows[first] & 1).tolist()
    judged = [_system(*pair, is_answer=bool(server)) for pair, server in zip(pairs, is_server, strict=True)]
    return judged, which


def _system(own: list[int], other: list[int], *, is_answer: bool) -> System | None:
    syn = Syn.of_core(*own)
    asked = Syn.of_core(*other) if is_answer else None
    return None if syn is None else system_of(syn, asked, is_answer=is_answer)


def _places(system: System | None) -> tuple[int, int]:
    if system is None:
        return -1, -1
    return FAMILIES.index(system.family), CERTAINTIES.index(system.certainty)


def programs(
    client_ports: list[int], server_ports: list[int], cookies: list[bool], syns: list[bool]
) -> tuple[Places, Places]:
    """Return the program of each connection, as indexes of `PROGRAMS` and of `CERTAINTIES`; -1 where unknown.

    The parameters are those of `bdpcap.hosts.program_of`, one entry for each connection.
    """
    found = np.full((len(server_ports), 2), -1, dtype=np.int64)
    for at, row in enumerate(zip(client_ports, server_ports, cookies, syns, strict=True)):
        client_port, server_port, has_cookie, has_syn = row
        program = program_of(client_port, server_port, has_cookie=has_cookie, has_syn=has_syn)
        if program is not None:
            found[at] = PROGRAMS.index(program.name), CERTAINTIES.index(program.certainty)
    return found[:, 0], found[:, 1]
