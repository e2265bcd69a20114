"""The link: was the bottleneck busy all the round?

A standing queue says so: every segment waited, and the waits join without a gap. The rate must agree: at the
capacity, or, where others share the link, at a fair part of it behind a queue that this flow's window does not explain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bdpcap.limits.claim import Claim, grade

if TYPE_CHECKING:
    from bdpcap.limits.evidence import Evidence
    from bdpcap.limits.rounds import Floats

__all__ = ["claim"]


def claim(evidence: Evidence) -> Claim:
    """Claim rounds with a queue nearly all the time, at the capacity or at a fair part of it."""
    busy = evidence.busy
    full = evidence.fullness
    tight = evidence.tightness > 0.3
    queue = evidence.queue_packets
    # Away from the sender the RTT is known to a tick of the timestamp clock only, a millisecond.
    stands = (queue >= 1.5) & (evidence.direct | (evidence.queue_low_ns >= 1e6))
    # A flow alone on the link, whatever window it fills: at the rate of the link, with a few packets always waiting.
    # Whoever leaves acknowledgments unanswered has another reason to wait, unless the queue never ends.
    lazy = evidence.response < 0.5
    enough = np.where(lazy, grade(busy, 0.9, 0.97), grade(busy, 0.75, 0.95))
    # However deep the queue of each burst, a sender that then pauses leaves the link idle.
    pauses = evidence.around(evidence.pauses_ns, 1) / evidence.around(evidence.duration, 1)
    pausing = np.where(lazy, grade(np.fmax(pauses, evidence.share("pauses_ns")), 0.1, 0.2), 0.0)
    # A full window goes at its own rate when the first bursts show a faster bottleneck; no link waits in clumps, either.
    room = tight & (evidence.openness < 0.8)
    alone = grade(full, 0.9, 0.98) * enough * stands * (1 - pausing) * ~(room & ~(evidence.evenness > 0.6))
    # BBR drains its queue. Where a deep queue once proved the capacity, the rate and waits without a gap suffice.
    proof = np.where((queue >= 3) & (evidence.queue_low_ns >= 1.5e6) & (full >= 0.9), evidence.duration, 0.0)
    moving = np.where(evidence.idle, 0.0, evidence.duration)
    proven = evidence.per_flow(
        np.add.reduceat(proof, evidence.starts) > 0.03 * np.add.reduceat(moving, evidence.starts)
    )
    lean = grade(full, 0.92, 0.98) * grade(busy, 0.9, 0.97) * (proven > 0) * ~tight
    # Acknowledgments without a pause in the spacing of the bottleneck: it needs no more than a short queue.
    # Slower than the mean is not the bottleneck's spacing but a timer's, which sends a few at a time.
    own = grade(evidence.evenness, 1.06, 1.03)
    even = np.nan_to_num(grade(evidence.evenness, 0.93, 0.98) * own) * grade(full, 0.94, 0.98)
    # Such a window keeps that spacing, too, once it has spread its packets.
    even = even * ~room
    # A pacing sender spaces them as evenly, at its own rate: what it sends, no acknowledgment starts, as far as a tap
    # at the sender sees it.
    filled = evidence.share("tight_ns") > 0.5
    # Nor may what they wait be the wait of a pair, as one acknowledgment calls for, whose second waits for its first.
    asked = evidence.direct & (evidence.promptness > 0.5) & (evidence.risen_packets >= 1)
    clocked = filled | (proven > 0) | asked
    smooth = even * np.maximum(
        grade(busy, 0.8, 0.95) * (queue >= 0.6) * clocked,
        grade(busy, 0.1, 0.25) * grade(full, 0.95, 0.985) * (proven > 0) * ~tight,
    )
    # A flow that shares: a deep queue that never drains, though no window of its own keeps it there.
    held = evidence.held_packets
    waits = grade(busy, 0.88, 0.99) * grade(queue - held, 2.0, 4.0)
    # Sent in bursts, it sees the queue for a part of the round; whenever it looks, the others' packets are there.
    always = grade(evidence.least_packets - held, 8.0, 16.0) * (evidence.rtt_min_ns > 1.2 * evidence.floor)
    # A single acknowledgment of all looks once, and may have waited at the receiver.
    always = always * (evidence.rtt_samples >= 3)
    others = always * grade(busy, 0.3, 0.5) * grade(evidence.response, 0.5, 0.8)
    deep = np.fmax(waits, others) * (full >= 0.1) * stands * ~tight
    # Silent until a timer fired, and then repairing: nothing was queued.
    repairing = evidence.repairing & evidence.near(evidence.blackout, 3, 0)
    waiting = (1 - pausing) * ~evidence.near(evidence.timeouts > 0, 1, 1) * ~repairing
    deep = waiting * deep
    # The others' bytes fill what this flow leaves; sent in bursts, it sees the queue now and then only.
    together = grade(evidence.path_fullness, 0.92, 0.96) * grade(busy, 0.2, 0.4) * grade(queue, 0.5, 1.5)
    # If the first bursts show that more would pass, there is no such link.
    together = together * waiting * ~tight * grade(evidence.path_openness, 0.88, 0.93)
    # No echo, no RTT at this tap: arrivals at the rate of the link are all there is.
    arrivals = np.where(
        evidence.blind & ~tight,
        grade(full, 0.94, 1.0) * np.nan_to_num(grade(evidence.evenness, 0.85, 0.93)),
        0.0,
    )
    # Slower than the first bursts passed, and next to no queue: the link has time to spare. Nobody knows where they
    # passed slower than what came later: acknowledgments were queued then, on a slow way back.
    # A pacing sender's bursts bear each other out: the highest counts, from afar less what ten packets miss it by.
    burst = evidence.smooth_rate / evidence.burst_rate + np.where(evidence.direct, 0.0, 0.04)
    least = np.fmin(evidence.openness, burst)
    spare = np.where(
        tight,
        np.fmax(grade(_used(evidence), 0.9725, 0.9625), grade(evidence.openness, 1.2, 1.4))
        * (evidence.risen_packets < 4),
        grade(least, 0.97, 0.93) * (evidence.risen_packets < 2),
    )
    # Behind the bottleneck the tap sees what it passes on: where no queue stands to tell, that does.
    seen = evidence.behind & ~tight & ~lazy & ((queue < 2) | (busy < 0.97))
    passed = np.nan_to_num(grade(evidence.passed, 0.955, 0.985))
    at_rate = np.where(seen, passed, np.fmax.reduce([alone, lean, smooth]))
    strength = np.fmax(np.fmax.reduce([at_rate, deep, arrivals]) * (1 - spare), together)
    return Claim.build(evidence, np.where(evidence.backed_up, 0.0, strength), [])


def _used(evidence: Evidence) -> Floats:
    """Share of the bottleneck's rate that a full window uses: by the first bursts' rate, and by its packets' spacing.

    Their mean. Away from the receiver, where they differ by more, a percent below the larger: held-up bursts and merged
    acknowledgments make them too low; a tap at the receiver sees bursts as the bottleneck passed them.
    """
    mean = (evidence.openness + evidence.evenness) / 2
    larger = np.fmax(evidence.openness, evidence.evenness)
    used: Floats = np.where(evidence.facing, mean, np.maximum(mean, larger - 0.01))
    return used
