"""Time that the evidence does not decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.diagnosis import gains, places
from bdpcap.diagnosis.model import Cause, Limit, Remedy, longest
from bdpcap.diagnosis.outlook import nothing
from bdpcap.explain.findings import program
from bdpcap.explain.remedies.host import is_ours
from bdpcap.limits.decision import NO_RULE
from bdpcap.words import palette, units
from bdpcap.words.endpoints import host

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from bdpcap.capture import Flow

__all__ = ["LIMIT"]

_CAPTURED: Final = "the capturing machine"


def _undecided(_: Flow, own: pd.DataFrame) -> str:
    reason = NO_RULE.get(str(longest(own, "rule")), "")
    shut = own["window_min_bytes"].eq(0).any()
    also = ". Its receiver's window was shut for a time: the receiving program did not read" if shut else ""
    return f"{reason[:1].lower()}{reason[1:].rstrip('.')}{also}"


def _undecided_by(
    where: Callable[[Flow], str], action: str, *first: Callable[[Flow, Cause], Remedy | None]
) -> Cause:
    headline = "The evidence does not decide what held the sender back"
    return Cause(headline, _undecided, where, action, nothing, first=(*first, gains.of_pauses))


def _seen_whole(flow: Flow, why: Cause) -> Remedy | None:
    """Return the advice on a flow whose handshake was captured, so that more of it would show no more; else None."""
    if not int(flow._counts["handshake"]):
        return None
    where = why.where(flow) if is_ours(flow, "sender") else places.either(flow)
    return Remedy(where, "Capture a longer transfer there: this one shows too little to decide.")


def _of_stranger(flow: Flow, _: Cause) -> Remedy | None:
    """Return the advice on a flow whose sender is a host of others, where its reader cannot capture; else None."""
    if is_ours(flow, "sender"):
        return None
    if flow.summary["vantage"] == "receiver":
        return Remedy("", f"Only a capture at {host(flow.sender)}, which others run, would show more.")
    return Remedy(
        places.either(flow),
        "Capture again there, from the handshake on: it shows the round trip to the sender.",
    )


def _filtered(flow: Flow, _: Cause) -> Remedy | None:
    """Return the advice on a flow of a capture without any packet without payload; None for any other flow."""
    if not flow._counts["data_alone"]:
        return None
    return Remedy(_CAPTURED, "Capture again without a filter on payload: it left out every acknowledgment.")


def _dropped(flow: Flow, _: Cause) -> Remedy | None:
    """Return the advice on a flow whose data the capturing machine dropped; None for any other flow."""
    drops = flow.capture.info.capture_drops
    if not drops:
        return None
    return Remedy(
        _CAPTURED,
        f"It dropped {units.number(drops, 'packet')}: capture again with a larger buffer (-B) and a short snap length "
        "(-s 128).",
    )


_PARTIAL: Final = _undecided_by(
    places.either,
    "Capture again there, both directions and without a filter on payload: data and acknowledgments.",
    _filtered,
    _dropped,
)

LIMIT: Final = Limit(
    code="unknown",
    name="undecided",
    colour=palette.GREY,
    meaning="The evidence does not decide; each round says why.",
    usual=_undecided_by(
        places.sender,
        "Capture again there, from the handshake on: that shows most.",
        _seen_whole,
        _of_stranger,
    ),
    by_rule={
        "missed": _PARTIAL,
        "silent": _PARTIAL,
        "coarse": _undecided_by(
            places.either,
            "Capture again there with time stamps in microseconds: this clock is coarser than a round trip.",
        ),
    },
    findings=lambda flow, _: program.own_window(flow),
)
