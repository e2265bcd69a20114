"""All rules, in the order in which they are asked: limits that outrank others first, then as each file has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.limits.rules import app, cwnd, link, rwnd, sndbuf

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bdpcap.limits.rule import Condition, Rule

__all__ = ["DETAILS", "PRECEDENCE", "RULES"]

PRECEDENCE: Final = ("app", "link", "rwnd", "sndbuf", "cwnd")
"""A sender with nothing to send is not held by the link; the link outranks the window that happens to be full; a full
window outranks the buffer behind it."""

RULES: Final[tuple[Rule, ...]] = (*app.RULES, *link.RULES, *rwnd.RULES, *sndbuf.RULES, *cwnd.RULES)

DETAILS: Final[Mapping[str, Mapping[str, Condition | None]]] = {
    "app": app.DETAILS,
    "link": link.DETAILS,
    "rwnd": rwnd.DETAILS,
    "cwnd": cwnd.DETAILS,
}
"""By limit, its kinds in the order in which they are looked for; None holds always."""
