"""The quantities that rules read, a module a concept. They allow for the place of the tap, so that rules need not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bdpcap.limits.evidence.ack_clock import AckClock
from bdpcap.limits.evidence.cross_traffic import CrossTraffic
from bdpcap.limits.evidence.flight import Flight
from bdpcap.limits.evidence.kernel import Kernel
from bdpcap.limits.evidence.loss import Loss
from bdpcap.limits.evidence.queue import Queue
from bdpcap.limits.evidence.rate import Rate
from bdpcap.limits.evidence.window import Window
from bdpcap.limits.evidence.writes import Writes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bdpcap.limits.evidence.field import Concept, Field, Values
    from bdpcap.limits.rounds import Bools, Floats, Rounds

__all__ = [
    "CONCEPTS",
    "AckClock",
    "CrossTraffic",
    "Evidence",
    "Flight",
    "Kernel",
    "Loss",
    "Queue",
    "Rate",
    "Vantage",
    "Window",
    "Writes",
    "declared",
]


@dataclass(frozen=True)
class Vantage:
    """The place of the tap, and facts about each flow as a whole; an entry per round."""

    at_sender: Bools
    """Whether the capture shows the sender's state directly, so that nothing is reconstructed."""
    at_receiver: Bools
    """Whether the tap is at the receiver."""
    mss_bytes: Floats
    """Maximum segment size of the flow."""
    initial_rtt_ns: Floats
    """RTT of the handshake; NaN where it was not measured."""
    path_rtt_ns: Floats
    """Minimum RTT of all flows of the path in the capture; NaN if unknown."""
    cross_traffic_bytes: Floats
    """Bytes that other flows between the same hosts delivered during the round."""
    flow_acks: Floats
    """Number of the flow's acknowledgments in the capture; 0 also if most of them are missing."""
    needless: Bools
    """Whether all that the flow sent again had arrived."""
    tick_ns: Floats
    """Resolution of the capture's clock."""
    shifted: Bools
    """Whether the capture's clock went on while the timestamp clocks of both ends stood still."""
    unmeasured: Bools
    """Whether the tap may be next to the receiver, and no handshake measured the path."""
    capture_end_ns: Floats
    """End of the last round of the capture, in nanoseconds since the epoch."""


class Evidence:
    """Evidence about the rounds of many flows; each quantity is computed when a rule first asks for it.

    Parameters
    ----------
    counters
        Quantities of `Kernel` by name, an entry per round, where the sending host's account was given.
    """

    def __init__(
        self, rounds: Rounds, vantage: Vantage, counters: Mapping[str, Floats] | None = None
    ) -> None:
        self.rounds: Final = rounds
        self.vantage: Final = vantage
        self.counters: Final = counters
        self.window: Final = Window(self)
        self.loss: Final = Loss(self)
        self.flight: Final = Flight(self)
        self.rate: Final = Rate(self)
        self.queue: Final = Queue(self)
        self.ack_clock: Final = AckClock(self)
        self.writes: Final = Writes(self)
        self.cross_traffic: Final = CrossTraffic(self)
        self.kernel: Final = Kernel(self)

    def forget(self) -> None:
        """Drop all data at once. Concepts and evidence refer to each other, so both would wait for garbage collection."""
        vars(self).clear()

    def value(self, quantity: Field[Values]) -> Values:
        """Return a declared quantity for every round."""
        concept, _, name = quantity.name.partition(".")
        values: Values = getattr(getattr(self, concept), name)
        return values


CONCEPTS: Final[dict[str, type[Concept]]] = {
    concept.name: concept
    for concept in (Window, Loss, Flight, Rate, Queue, AckClock, Writes, CrossTraffic, Kernel)
}


def declared(name: str) -> Field[Any]:
    """Return the declaration of a quantity by its full name, as ``window.full_share``.

    Raises
    ------
    KeyError
        No concept declares it.
    """
    concept, _, quantity = name.partition(".")
    found: Field[Any] = vars(CONCEPTS[concept])[quantity]
    return found
