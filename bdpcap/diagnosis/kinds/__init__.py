"""Every limit, each declared in a module of this folder: name, colour, meaning, and the causes of its details."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.diagnosis.kinds import app, cwnd, idle, link, rwnd, sndbuf, unknown
from bdpcap.limits.rules import DETAILS, RULES
from bdpcap.tables.schema import LIMITS, STATES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bdpcap.diagnosis.model import Limit

__all__ = ["ALL", "LIMIT_NAMES", "MEANING", "STATE_COLOURS", "STATE_NAMES", "declared", "gaps"]

ALL: Final[dict[str, Limit]] = {
    module.LIMIT.code: module.LIMIT for module in (rwnd, cwnd, sndbuf, link, app, unknown, idle)
}
"""States by code, in the order of tables and figures."""

STATE_NAMES: Final = {code: one.name for code, one in ALL.items()}
STATE_COLOURS: Final = {code: one.colour for code, one in ALL.items()}
MEANING: Final = {code: one.meaning for code, one in ALL.items()}
LIMIT_NAMES: Final = {code: STATE_NAMES[code] for code in LIMITS}


def declared() -> Iterator[tuple[str, str]]:
    """Yield limit and detail of each detail that the rules declare."""
    yield from ((limit, detail) for limit, details in DETAILS.items() for detail in details)
    yield from ((rule.limit, rule.detail) for rule in RULES if rule.detail is not None)


def gaps(limits: dict[str, Limit], details: Iterable[tuple[str, str]]) -> list[str]:
    """Return the details of rules for which no limit has a cause, and the states without a limit."""
    missing = [f"{state}: no such limit" for state in STATES if state not in limits]
    missing += [
        f"{limit}: no cause for the detail {detail!r}"
        for limit, detail in details
        if limit in limits and detail not in limits[limit].causes
    ]
    return missing


if _GAPS := gaps(ALL, declared()):
    raise LookupError(f"bdpcap.diagnosis.kinds is incomplete: {'; '.join(_GAPS)}")
