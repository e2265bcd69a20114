"""Losses of packets of unrelated hosts on their way to one host: the path that all of them share loses them."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from bdpcap.explain.once import once
from bdpcap.explain.shared_mss import UNRELATED
from bdpcap.limits.capacity import INITIAL_WINDOW
from bdpcap.words import units
from bdpcap.words.endpoints import host, is_public, network

if TYPE_CHECKING:
    from collections.abc import Callable

    from bdpcap.capture import Capture, Flow

__all__ = ["place", "sentence"]

LEAST_PACKETS: Final = 20
"""Packets with data of a host from which on it is compared: hardly any lost speak against a common loss; a choice."""
LEAST_LOST: Final = 2
"""Fewest packets that a host's path lost: a single one may be a probe."""
LOSES: Final = 0.01
"""Share of packets lost from which on Reno's mean window stays at 12 segments or below (Mathis et al., 1997)."""
UNLIKELY: Final = 0.01
"""Chance below which others lost too little for a common loss; a choice: losses come in bursts, so the law is rough."""


class Shared(NamedTuple):
    """The losses on the way to one host."""

    receiver: str
    senders: frozenset[str]
    """Hosts whose packets were lost."""
    compared: int
    """Hosts that sent so much that losses would show."""
    lost: float
    """Share of their packets that were lost."""
    losing: float
    """Share of the packets of the losing hosts that were lost."""


def sentence(capture: Capture) -> str:
    """Return the words on the losses and their place; empty if no host has such losses in common."""
    found = _shared(capture)
    if found is None:
        return ""
    # A loss after which nothing came does not show.
    return (
        f"{units.number(found.compared, 'host')} sent {LEAST_PACKETS} data packets or more to {found.receiver}: at least "
        f"{units.share(found.lost)} of all were lost on the way, from {len(found.senders)} unrelated hosts. "
        f"Their paths share the one near {found.receiver}: see its wireless or access link first."
    )


def place(flow: Flow) -> str:
    """Return the place of such losses of a flow in words; empty if they are not such losses."""
    found = _shared(flow.capture)
    sender, receiver = host(flow.sender), host(flow.receiver)
    if found is None or receiver != found.receiver or sender not in found.senders:
        return ""
    return f"the path near {receiver}, which {len(found.senders)} hosts share"


@once
def _shared(capture: Capture) -> Shared | None:
    """Return the losses on the way to the host that lost packets of most others; None if most others lost none."""
    # Names of the hosts of small connections that lost nothing take long.
    if not any(_common(*sent) for sent in _sent_to(capture, _may_show_losses).items()):
        return None
    sent_to = _sent_to(capture, lambda columns: columns["payload_bytes"] > 0)
    found = [common for sent in sent_to.items() if (common := _common(*sent))]
    held = [common for common in found if not _spares_others(common, sent_to[common.receiver])]
    return max(held, key=lambda common: len(common.senders), default=None)


def _spares_others(common: Shared, sent_by: dict[str, tuple[float, float]]) -> bool:
    """Return whether the path lost hardly any packets of all other hosts, those of small connections included.

    A path loses packets of all hosts alike. Then so few lost ones of the others are unlikely (Poisson's law).
    """
    others = [counts for name, counts in sent_by.items() if name not in common.senders]
    if not others:
        return False
    expected, lost = common.losing * sum(map(sum, others)), int(sum(count for _, count in others))
    chances = (
        math.exp(some * math.log(expected) - expected - math.lgamma(some + 1)) for some in range(lost + 1)
    )
    return sum(chances) < UNLIKELY


def _common(receiver: str, sent_by: dict[str, tuple[float, float]]) -> Shared | None:
    """Return the losses of packets to one host, from the packets and the lost packets by sender; None without any."""
    compared = {name for name, (sent, lost) in sent_by.items() if sent + lost >= LEAST_PACKETS}
    losing = {name for name in compared if sent_by[name][1] >= max(LEAST_LOST, LOSES * sum(sent_by[name]))}
    if len(set(map(network, losing))) < UNRELATED or 2 * len(losing) <= len(compared):
        return None
    lost, losing_share = (_lost([sent_by[name] for name in names]) for names in (compared, losing))
    return Shared(receiver, frozenset(losing), len(compared), lost, losing_share)


def _lost(counts: list[tuple[float, float]]) -> float:
    """Return the share of packets lost, from the packets and the lost packets of some hosts."""
    lost = sum(count for _, count in counts)
    return lost / sum(map(sum, counts))


def _may_show_losses(columns: dict[str, Any]) -> np.ndarray:
    """Return which directions lost packets, or sent so many that losses would show."""
    shows: np.ndarray = (columns["lost_before_tap"] > 0) | (_sent(columns) >= INITIAL_WINDOW)
    return shows


def _sent_to(
    capture: Capture, counts_for: Callable[[dict[str, Any]], np.ndarray]
) -> dict[str, dict[str, tuple[float, float]]]:
    """Return by receiver and by public sender the packets with data that the capture shows, and those lost before it.

    Connections that began before the capture do not count: their first packets may have passed then. Packets that come
    again to a capture next to a host that is gone are no losses of the path.
    """
    streams, sent_to = capture._contents.streams, defaultdict[str, dict[str, tuple[float, float]]](dict)
    sending = streams.where(
        lambda columns: (columns["handshake"] > 0) & counts_for(columns),
        *("payload_bytes", "mss_bytes", "lost_before_tap", "handshake"),
    )
    if np.count_nonzero(sending["lost_before_tap"]) < UNRELATED:
        return sent_to
    names = [map(host, streams.endpoints(sending["row"] ^ peer)) for peer in (0, 1)]
    counts = _sent(sending).tolist(), sending["lost_before_tap"].tolist()
    for sender, receiver, sent, lost in zip(*names, *counts, strict=True):
        if is_public(sender):
            before = sent_to[receiver].get(sender, (0.0, 0.0))
            sent_to[receiver][sender] = before[0] + sent, before[1] + lost
    return sent_to


def _sent(columns: dict[str, Any]) -> np.ndarray:
    """Return how many full segments carry what each direction sent."""
    sent: np.ndarray = np.ceil(columns["payload_bytes"] / np.maximum(columns["mss_bytes"], 1))
    return sent
