"""The gain of lifting a limit: the rate to expect, and advice where another change gains more, or none gains much."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdpcap.diagnosis import places
from bdpcap.diagnosis.model import Remedy
from bdpcap.diagnosis.outlook import NOTHING, Outlook, Rate
from bdpcap.explain.buffers import UNSCALED
from bdpcap.explain.capacity import Basis, basis, sent_a_window
from bdpcap.explain.expected import GAIN, lifts
from bdpcap.explain.findings.receive import slow_part
from bdpcap.explain.notable import NOTICED_NS
from bdpcap.explain.reached import reached_bps, spoken_rate
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Flow
    from bdpcap.diagnosis.model import Cause
    from bdpcap.explain.expected import Lift

__all__ = ["little", "of_buffer", "of_pauses"]


def of_buffer(flow: Flow) -> Outlook:
    """Return the rate before and after a larger buffer, and the next limit; nothing where that is not known."""
    limit = str(flow.summary["limit"])
    # Without a window scale, the field hides how large the buffer is.
    if flow.summary["window_scale_source"] == UNSCALED or not sent_a_window(flow.summary):
        return NOTHING
    return next((_change(one) for one in lifts(flow) if one.limit == limit), NOTHING)


def of_pauses(flow: Flow, _: Cause) -> Remedy | None:
    """Return the advice on a program whose pauses cost more than the main limit does; None if they do not."""
    found = lifts(flow)
    if not found or found[0].limit != "app":
        return None
    # Pauses that nobody notices are no program's fault.
    if flow.summary["app_share"] * flow.summary["active_ns"] < NOTICED_NS:
        return None
    part = units.share(flow.summary["app_share"])
    words = f"See why the program pauses: for {part} of the active time it had nothing to send."
    return Remedy(places.sender(flow), words, outlook=_change(found[0]))


def little(flow: Flow, larger: str) -> Remedy | None:
    """Return a sentence on a buffer, by its name, that already lets the flow nearly fill the path; else None."""
    reached, path = reached_bps(flow), flow.summary["capacity_bps"]
    if basis(flow.summary) in (None, Basis.BOUND) or reached is None:
        return None
    if slow_part(flow) > 1 / 2 or reached * GAIN < path:
        return None
    carries = f"the network can carry about {units.rate(path)}, {spoken_rate(flow)} passed"
    return Remedy("", f"Little to gain by a larger {larger}: {carries}.")


def _change(lift: Lift) -> Outlook:
    return Outlook(rate=Rate(lift.then_bps, lift.follows, lift.now_bps, lift.longer))
