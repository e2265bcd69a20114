"""Window scales that no handshake showed, or that the traffic contradicts.

The core bounds the scale from below by what was in flight, and from above by windows that were never taken back
(core/src/track/scale.rs). Here one is chosen, with the help of what the same host negotiated elsewhere.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap.read.quality import NEEDED, acknowledgments_missing
from bdpcap.read.scale_source import DECLINED, NEGOTIATED, ONE_SIDED, UNKNOWN
from bdpcap.words.endpoints import host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    Directions = Callable[[Sequence[str]], Iterable[Mapping[str, Any]]]

__all__ = ["CHECKED", "InferredScale", "chosen", "infer", "is_wanting", "negotiated", "wanting"]

OFTEN: Final = 0.05
"""Share of segments far beyond the window from which its scale is taken for another: stray ones are lost ACKs."""
LARGEST: Final = 14
"""RFC 7323 section 2.3."""


@dataclass(frozen=True)
class InferredScale:
    """The scale of one flow's windows, as its traffic shows it."""

    stream: int
    first_frame: int
    """Of the stream."""
    direction: int
    sender: str
    receiver: str
    shift: int
    least: int
    most: int
    """No shift below `least` allows what was in flight; one above `most` would have taken windows back."""
    handshake: int | None
    """What the handshake said; None where it was not captured."""
    because: str

    def __str__(self) -> str:
        bounds = f"{self.least}" if self.least == self.most else f"{self.least} to {self.most}"
        told = (
            ""
            if self.handshake is None
            else f"; the handshake as captured says {self.handshake}: rewritten or stripped on the way"
        )
        return (
            f"window scale of {self.receiver} in stream {self.stream} inferred: {self.shift} "
            f"({bounds} possible; {self.because}{told})"
        )


CHECKED: Final = (
    *NEEDED, "missed_bytes", "direct", "has_timestamps", "scale_least", "window_scale", "scale_reached",
)  # fmt: skip
"""Columns that tell which scales have to be inferred."""
USED: Final = (
    *CHECKED, "stream", "first_frame", "direction", "sender", "receiver", "scale_most",
)  # fmt: skip


def infer(directions: Directions) -> list[InferredScale]:
    """Choose the scales that have to be inferred and can be.

    Parameters
    ----------
    directions
        Gives columns of `bdpcap._core.Analysis.directions` by their names, in pieces, as often as it is called.
    """
    found = wanting(directions)
    return chosen(found, negotiated(directions)) if found else []


def wanting(directions: Directions) -> list[dict[str, Any]]:
    """Return what is known of each direction whose scale has to be inferred."""
    # Most captures have none: names, which take long to make, are asked for where they are needed.
    if not any(is_wanting(piece).any() for piece in directions(CHECKED)):
        return []
    return [
        {name: values[row] for name, values in piece.items()}
        for piece in directions(USED)
        for row in np.flatnonzero(is_wanting(piece))
    ]


def chosen(
    wanting: Iterable[Mapping[str, Any]], elsewhere: Mapping[str, Counter[int]]
) -> list[InferredScale]:
    """Choose scales, by what their hosts negotiated elsewhere, too."""
    scales = (_choose(one, elsewhere) for one in wanting)
    return [scale for scale in scales if scale is not None]


def is_wanting(directions: Mapping[str, Any]) -> NDArray[np.bool_]:
    """Say of which directions the scale is unknown, or contradicted by the traffic."""
    source = np.asarray(directions["window_scale_source"])
    checked, exceeded = directions["scale_checked"], directions["scale_exceeded"]
    lost = directions["missed_bytes"] > 0.01 * directions["payload_bytes"]
    # From afar, only timestamps tell which window the sender knew when it sent.
    close = (directions["direct"] > 0) | (directions["has_timestamps"] > 0)
    contradicted = (exceeded >= 10) & (exceeded > OFTEN * checked) & ~lost & close
    below = (source == NEGOTIATED) & (directions["scale_least"] < directions["window_scale"])
    # What a tap beside the sender saw of the handshake, the sender saw, too.
    lowered = below & (directions["scale_reached"] > 0) & (directions["direct"] == 0) & ~lost
    # What was in flight is only known where the capture holds the acknowledgments.
    seen = (directions["carried"] > 0) & (checked > 0) & ~acknowledgments_missing(directions)
    wanting: NDArray[np.bool_] = seen & ((source == UNKNOWN) | contradicted | lowered)
    return wanting


def _choose(one: Mapping[str, Any], elsewhere: Mapping[str, Counter[int]]) -> InferredScale | None:
    least, most = int(one["scale_least"]), int(one["scale_most"])
    counted = elsewhere.get(host(one["receiver"]), Counter())
    # Of two that were negotiated as often, the smaller one.
    peers = [shift for shift in sorted(counted, key=lambda it: (-counted[it], it)) if least <= shift <= most]
    if one["scale_reached"]:
        shift, because = least, "the sender kept just within such a window"
    elif peers:
        shift, because = peers[0], "its host negotiated it in another connection"
    elif most < LARGEST:
        shift, because = most, "its windows closed by what arrived"
    elif least > 0:
        shift, because = least, "the least that allows what was in flight"
    else:
        return None
    known = one["window_scale_source"] != UNKNOWN
    said = (0 if one["window_scale_source"] == DECLINED else int(one["window_scale"])) if known else None
    return InferredScale(
        stream=int(one["stream"]),
        first_frame=int(one["first_frame"]),
        direction=int(one["direction"]),
        sender=str(one["sender"]),
        receiver=str(one["receiver"]),
        shift=shift,
        least=least,
        most=most,
        handshake=said,
        because=because,
    )


def negotiated(directions: Directions) -> dict[str, Counter[int]]:
    """Return the scales that each host's handshakes showed."""
    scales: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for piece in directions(("receiver", "window_scale_source", "window_scale")):
        for receiver, source, shift in zip(
            piece["receiver"], piece["window_scale_source"], piece["window_scale"], strict=True
        ):
            if source in (NEGOTIATED, ONE_SIDED):
                scales[host(receiver)][int(shift)] += 1
    return scales
