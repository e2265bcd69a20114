"""How much each finding of a flow weighs: the root cause, what contributes, and what is only worth a note."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

from bdpcap.explain.findings import Code, found

if TYPE_CHECKING:
    from bdpcap.capture import Flow
    from bdpcap.explain.findings import Finding


class Weight(StrEnum):
    """In falling order."""

    ROOT_CAUSE = "root cause"
    CONTRIBUTING = "contributing"
    NOTE = "note"


_NO_CAUSE: Final = {
    Code.WHAT_IT_TAKES,
    Code.QUEUE_STANDING,
    Code.UDP_BESIDE,
    Code.SEND_BUFFER_SHARE,
    Code.WINDOW_RAMP,
    Code.WINDOW_UNSCALED,
    Code.WINDOW_SCALE_UNKNOWN,
    Code.SEGMENT_SIZE,
    Code.LEFT_OUT,
}
"""What explains a flow or adds to it, but is never the first reason."""

_REMEDIED_BY: Final = {Code.WINDOW_BELOW_BDP: Code.WHAT_IT_TAKES}
"""Root causes whose remedy another finding spells out, if there is one."""

_OF_THE_CAPTURE: Final = {Code.OFFLOAD, Code.DELAY_BEFORE_TAP, Code.WINDOW_SCALE_UNKNOWN}
"""What a better capture would change, and the transfer would not notice."""


def weights(flow: Flow) -> list[tuple[Finding, Weight]]:
    """
    Weigh a flow's findings, in their order.

    The first one is the root cause, if the limit is decided and the finding says what to change. Others that say what
    to change contribute, unless they speak of the capture; what is left are notes.
    """
    weighed = []
    for place, finding in enumerate(found(flow)):
        if not finding.remedy or finding.code in _OF_THE_CAPTURE:
            weight = Weight.NOTE
        elif place == 0 and finding.code not in _NO_CAUSE and flow.summary["limit"] != "unknown":
            weight = Weight.ROOT_CAUSE
        else:
            weight = Weight.CONTRIBUTING
        weighed.append((finding, weight))
    return weighed


def root_cause(flow: Flow) -> Finding | None:
    """Return the finding that is the root cause, None if none is."""
    return next((finding for finding, weight in weights(flow) if weight is Weight.ROOT_CAUSE), None)


def remedied(flow: Flow) -> Finding | None:
    """Return the finding that says how to remedy the root cause, None if none does."""
    root = root_cause(flow)
    how = _REMEDIED_BY.get(root.code) if root else None
    return next((finding for finding in found(flow) if finding.code is how), root)
