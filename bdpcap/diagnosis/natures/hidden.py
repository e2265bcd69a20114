"""Pauses on a path that loses packets of most hosts: a flight that is lost whole before the capture looks like one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bdpcap.diagnosis import pauses
from bdpcap.diagnosis.kinds import LIMIT_NAMES, app
from bdpcap.diagnosis.model import Nature
from bdpcap.explain.notable import NOTABLE_SHARE
from bdpcap.explain.sent_again import of_flow, resent_share
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["NATURE"]


def _holds(flow: Flow) -> bool:
    """Return whether the program of a flow seems to pause, for no reason that the capture shows."""
    return flow.summary["limit"] == "app" and app.may_be_losses(flow) and app.is_alone(flow)


def _sentence(flow: Flow) -> str:
    found, window = pauses.of(flow.rtts), float(flow.summary["rwnd_share"])
    paused = f"{units.number(found.own, 'pause')} took {units.duration(found.own_ns)} in all"
    again = f" {of_flow(flow)}." if resent_share(flow) is not None else ""
    also = f" Also: {LIMIT_NAMES['rwnd']} {units.share(window)}." if window >= NOTABLE_SHARE else ""
    return (
        f"{paused}. The sending program paused, or a flight was lost before the capture and a timer sent it "
        f"again.{again}{also}"
    )


NATURE: Final = Nature(
    "losses or pauses",
    _holds,
    _sentence,
    app.mend_losses,
)
