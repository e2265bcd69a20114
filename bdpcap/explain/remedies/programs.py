"""Where a program's socket buffers are set, as `programs.csv` lists them with their sources."""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bdpcap.explain.remedies.host import Host

__all__ = ["SETS_NONE", "unset"]

SETS_NONE: Final = {"ssh": "OpenSSH", "postgresql": "PostgreSQL", "mysql": "MySQL", "nfs": "NFS"}
"""Programs that have no option for SO_RCVBUF and SO_SNDBUF, so that the system alone decides: their manuals name none."""


def unset(host: Host, option: str) -> str:
    """
    Return a sentence on where to leave a socket buffer unset.

    Parameters
    ----------
    host
        End whose buffer it is.
    option
        ``SO_RCVBUF`` or ``SO_SNDBUF``.
    """
    verb = "receiving" if host.end == "receiver" else "sending"
    known = SETS_NONE.get(host.program)
    if known is not None:
        return f"{known} sets no {option}, so its system's maximum decides."
    # The calls of a programming language help those who wrote the program.
    own = _table()["", "", option] if not host.program else ""
    where = _table().get((host.program, host.role, option), own)
    option += f" ({where})" if where else ""
    if not host.ours:
        return f"Ask the operator of {host.address} to let the program set no {option}."
    # A window's arithmetic shows SO_RCVBUF; a flight alone never shows whether SO_SNDBUF or the system is the bound.
    if option.startswith("SO_SNDBUF"):
        return f"See that the {verb} program sets no {option}: while one is set, nothing else helps."
    return f"Let the {verb} program set no {option}: while it is set, nothing else helps."


@cache
def _table() -> dict[tuple[str, str, str], str]:
    text = resources.files(__package__).joinpath("programs.csv").read_text(encoding="utf-8")
    return {
        (row["program"], row["role"], row["option"]): row["where"]
        for row in csv.DictReader(text.splitlines())
    }
