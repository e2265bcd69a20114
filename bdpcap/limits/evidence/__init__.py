"""What the rules look at, a module a concept. Where the capture was taken is resolved here, and nowhere in the rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bdpcap.limits.evidence.ack_clock import AckClock
from bdpcap.limits.evidence.cross_traffic import CrossTraffic
from bdpcap.limits.evidence.flight import Flight
from bdpcap.limits.evidence.loss import Loss
from bdpcap.limits.evidence.queue import Queue
from bdpcap.limits.evidence.rate import Rate
from bdpcap.limits.evidence.window import Window
from bdpcap.limits.evidence.writes import Writes

if TYPE_CHECKING:
    from bdpcap.limits.evidence.field import Concept, Field, Values
    from bdpcap.limits.rounds import Bools, Floats, Ints, Rounds

__all__ = [
    "CONCEPTS",
    "AckClock",
    "CrossTraffic",
    "Evidence",
    "Flight",
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
    """Where the capture was taken, and what is known of each flow as a whole; an entry a round."""

    at_sender: Bools
    """Is the sender's state seen, and not reconstructed?"""
    at_receiver: Bools
    mss_bytes: Floats
    initial_rtt_ns: Floats
    """Of the handshake."""
    path: Ints
    """From which host to which, as a number: flows of one path share its minimum RTT."""
    path_rtt_ns: Floats
    """Least RTT that any flow of the path measured, as far as it is known beforehand."""
    cross_traffic_bytes: Floats
    """Delivered meanwhile by others, from host to host."""
    flow_acks: Floats
    """Acknowledgments that the capture holds of the flow."""
    capture_end_ns: Floats
    """When the capture ended."""


class Evidence:
    """Evidence about the rounds of many flows; each quantity is worked out when a rule first asks for it."""

    def __init__(self, rounds: Rounds, vantage: Vantage) -> None:
        self.rounds: Final = rounds
        self.vantage: Final = vantage
        self.window: Final = Window(self)
        self.loss: Final = Loss(self)
        self.flight: Final = Flight(self)
        self.rate: Final = Rate(self)
        self.queue: Final = Queue(self)
        self.ack_clock: Final = AckClock(self)
        self.writes: Final = Writes(self)
        self.cross_traffic: Final = CrossTraffic(self)

    def forget(self) -> None:
        """Let go of everything at once: concepts and evidence refer to each other, and would wait to be collected."""
        vars(self).clear()

    def value(self, quantity: Field[Values]) -> Values:
        """Return a declared quantity for every round."""
        concept, _, name = quantity.name.partition(".")
        values: Values = getattr(getattr(self, concept), name)
        return values


CONCEPTS: Final[dict[str, type[Concept]]] = {
    concept.name: concept for concept in (Window, Loss, Flight, Rate, Queue, AckClock, Writes, CrossTraffic)
}


def declared(name: str) -> Field[Any]:
    """Return the declaration of a quantity that a text names.

    Raises
    ------
    KeyError
        No concept declares it.
    """
    concept, _, quantity = name.partition(".")
    found: Field[Any] = vars(CONCEPTS[concept])[quantity]
    return found
