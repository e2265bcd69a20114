"""Packets of flows without an entry that a router refused as too big for the path."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from bdpcap.explain.findings import path_mtu
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Capture
    from bdpcap.report.ranking import Group

__all__ = ["sentence"]


def sentence(capture: Capture, shown: list[Group]) -> str:
    """Return what to do about the router that refused most packets of flows not `shown`; empty without one.

    What routers refused of a flow with an entry stands there.
    """
    known = {(group.flow.sender, group.flow.receiver) for group in shown}
    hidden = [
        one
        for one in capture._contents.refusals
        if one.reason == "too big" and (one.sender, one.receiver) not in known
    ]
    packets: Counter[str] = Counter()
    for one in hidden:
        packets[one.reporter] += one.packets
    if not packets:
        return ""
    (router, count), *_ = packets.most_common(1)
    own = [one for one in hidden if one.reporter == router]
    flows = units.number(len({(one.sender, one.receiver) for one in own}), "flow")
    sizes = [one.mtu_bytes for one in own if one.mtu_bytes is not None]
    limit = f", as it carries at most {units.exact_bytes(min(sizes))}" if sizes else ""
    return (
        f"A router at {router} refused {units.number(count, 'packet')} of {flows}{limit}. {path_mtu.ADVICE}"
    )
