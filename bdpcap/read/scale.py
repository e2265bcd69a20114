"""Inferring window scales that no captured handshake shows, or that the traffic contradicts.

The core bounds the scale from below by the bytes in flight, and from above because a receiver never shrinks its window
(core/src/track/sender/scale.rs). This module chooses a scale within the bounds, by scales that the same host
negotiated in other connections.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap.read.quality import NEEDED, acknowledgments_missing, often_beyond_window
from bdpcap.read.scale_source import DECLINED, NEGOTIATED, ONE_SIDED, UNKNOWN
from bdpcap.words.endpoints import host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from bdpcap.read.whole import Pair

    Directions = Callable[[Sequence[str]], Iterable[Mapping[str, Any]]]

__all__ = ["CHECKED", "InferredScale", "choose", "infer", "needs_inference", "negotiated", "to_infer"]

LARGEST: Final = 14
"""Largest shift of a window (RFC 7323 section 2.3)."""
CONSTANT: Final = 3
"""Other connections of a host, all with one scale, from which on it is the system's: a program's buffer sets few."""


@dataclass(frozen=True)
class InferredScale:
    """The window scale of one flow, inferred from its traffic."""

    stream: int
    first_frame: int
    """First frame of the stream."""
    direction: int
    sender: str
    receiver: str
    shift: int
    least: int
    """Smallest possible shift: under a smaller one the bytes in flight exceed the window."""
    most: int
    """Largest possible shift: under a larger one the receiver would have shrunk its window."""
    handshake: int | None
    """Shift in the captured handshake, 0 if a SYN lacks the option; None where it was not captured."""
    because: str
    """The reason for the choice, as part of a sentence."""

    def __str__(self) -> str:
        bounds = f"{self.least}" if self.least == self.most else f"{self.least} to {self.most}"
        contradicted = (
            ""
            if self.handshake is None
            else f"; the handshake as captured says {self.handshake}: rewritten or stripped on the way"
        )
        return (
            f"window scale of {self.receiver} in stream {self.stream} inferred: {self.shift} "
            f"({bounds} possible; {self.because}{contradicted})"
        )


CHECKED: Final = (
    *NEEDED, "unseen_bytes", "tap_at_sender", "has_timestamps", "scale_min", "window_scale", "scale_reached",
)  # fmt: skip
"""Columns that `needs_inference` reads."""
USED: Final = (
    *CHECKED, "stream", "first_frame", "direction", "sender", "receiver", "scale_max",
)  # fmt: skip
"""Columns that `infer` reads."""


def infer(directions: Directions, whole: Pair = (None, None)) -> list[InferredScale]:
    """Return the window scales that have to be inferred, as far as the traffic allows it.

    Parameters
    ----------
    directions
        Returns the named columns of `bdpcap._core.Analysis.directions` in pieces; it is called several times.
    whole
        Scales of the two directions of an excerpt's only stream in the whole capture; None where unknown.
    """
    found = to_infer(directions)
    return choose(found, negotiated(directions), whole) if found else []


def to_infer(directions: Directions) -> list[dict[str, Any]]:
    """Return the columns `USED` of each direction whose scale has to be inferred, one dictionary a direction."""
    # Most captures have none. Columns of names take long to make, so they are read only if needed.
    if not any(needs_inference(piece).any() for piece in directions(CHECKED)):
        return []
    return [
        {name: values[row] for name, values in piece.items()}
        for piece in directions(USED)
        for row in np.flatnonzero(needs_inference(piece))
    ]


def choose(
    directions: Iterable[Mapping[str, Any]],
    elsewhere: Mapping[str, Counter[int]],
    whole: Pair = (None, None),
) -> list[InferredScale]:
    """Return the scales of directions, as far as they can be inferred.

    Parameters
    ----------
    directions
        Directions whose scale has to be inferred, from `to_infer`.
    elsewhere
        Scales that each host negotiated in other connections, from `negotiated`.
    whole
        That of `infer`.
    """
    scales = (_choose(one, elsewhere, whole[int(one["direction"])]) for one in directions)
    return [scale for scale in scales if scale is not None]


def needs_inference(directions: Mapping[str, Any]) -> NDArray[np.bool_]:
    """Return for each direction whether its window scale is unknown, or contradicted by the traffic."""
    source = np.asarray(directions["window_scale_source"])
    lost = directions["unseen_bytes"] > 0.01 * directions["payload_bytes"]
    # Away from the sender, only timestamps show which window the sender knew when it sent.
    close = (directions["tap_at_sender"] > 0) | (directions["has_timestamps"] > 0)
    contradicted = often_beyond_window(directions) & ~lost & close
    below = (source == NEGOTIATED) & (directions["scale_min"] < directions["window_scale"])
    # At the sender, the captured handshake is the one that the sender received: nothing rewrote its scale after the tap.
    lowered = below & (directions["scale_reached"] > 0) & (directions["tap_at_sender"] == 0) & ~lost
    # The bytes in flight are known only where the capture holds the acknowledgments.
    seen = (
        (directions["carried"] > 0) & (directions["scale_checked"] > 0) & ~acknowledgments_missing(directions)
    )
    needed: NDArray[np.bool_] = seen & ((source == UNKNOWN) | contradicted | lowered)
    return needed


def _choose(
    one: Mapping[str, Any], elsewhere: Mapping[str, Counter[int]], whole: int | None
) -> InferredScale | None:
    least, most = int(one["scale_min"]), int(one["scale_max"])
    known = one["window_scale_source"] != UNKNOWN
    counted = elsewhere.get(host(one["receiver"]), Counter())
    # Scales negotiated most often come first; if two are equally frequent, the smaller one does.
    peers = [shift for shift in sorted(counted, key=lambda it: (-counted[it], it)) if least <= shift <= most]
    constant = len(counted) == 1 and counted.total() >= CONSTANT
    if one["scale_reached"] and not (peers and constant):
        shift, because = least, "the sender kept just within such a window"
    elif whole is not None and least <= whole <= most:
        shift, because = whole, "the capture of which this is an excerpt shows it"
    elif peers:
        shift, because = peers[0], "its host negotiated it in another connection"
    elif most < LARGEST:
        shift, because = most, "its windows closed by what arrived"
    elif known and least > 0:
        shift, because = least, "the least that allows what was in flight"
    else:
        # A window of the least scale looks full at the largest flight, whatever its true size.
        return None
    handshake = (0 if one["window_scale_source"] == DECLINED else int(one["window_scale"])) if known else None
    return InferredScale(
        stream=int(one["stream"]),
        first_frame=int(one["first_frame"]),
        direction=int(one["direction"]),
        sender=str(one["sender"]),
        receiver=str(one["receiver"]),
        shift=shift,
        least=least,
        most=most,
        handshake=handshake,
        because=because,
    )


def negotiated(directions: Directions) -> dict[str, Counter[int]]:
    """Return how often each host announced each scale in captured handshakes, by address."""
    scales: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for piece in directions(("receiver", "window_scale_source", "window_scale")):
        for receiver, source, shift in zip(
            piece["receiver"], piece["window_scale_source"], piece["window_scale"], strict=True
        ):
            if source in (NEGOTIATED, ONE_SIDED):
                scales[host(receiver)][int(shift)] += 1
    return scales
