"""All rules in the order of evaluation: by precedence of their limits, then as listed in each file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.limits.rules import app, cwnd, idle, link, rwnd, sndbuf

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bdpcap.limits.rule import Condition, Rule

__all__ = ["DETAILS", "PRECEDENCE", "RULES"]

PRECEDENCE: Final = ("idle", "app", "link", "rwnd", "sndbuf", "cwnd")
"""States in order of precedence.

A sender of which nothing is asked is idle, and no limit holds it. A sender with nothing to send is not limited by the
link. The link outranks a window that happens to be full, and a full window outranks the send buffer.
"""

RULES: Final[tuple[Rule, ...]] = (
    *idle.RULES,
    *app.RULES,
    *link.RULES,
    *rwnd.RULES,
    *sndbuf.RULES,
    *cwnd.RULES,
)

DETAILS: Final[Mapping[str, Mapping[str, Condition | None]]] = {
    "app": app.DETAILS,
    "link": link.DETAILS,
    "rwnd": rwnd.DETAILS,
    "cwnd": cwnd.DETAILS,
}
"""Details of each limit in the order of evaluation; a condition of None always holds."""
