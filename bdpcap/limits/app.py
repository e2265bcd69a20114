"""The application: did it offer more data?

Idle time, sends from an empty pipe, and bursts that no acknowledgment called for have no other cause. One short segment
in a round proves nothing: a full send buffer ends in one, too. Nor does an unasked-for segment behind a standing
queue: pacing sends it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bdpcap.limits.claim import Claim, grade

if TYPE_CHECKING:
    from bdpcap.limits.evidence import Evidence

__all__ = ["claim"]


def claim(evidence: Evidence) -> Claim:
    """Claim idle rounds and rounds whose data came when the application pleased."""
    sent = np.maximum(evidence.sent_bytes, 1.0)
    unprompted = evidence.unprompted_bytes / sent
    empty = evidence.share("empty_ns")
    quiet = ~evidence.near(evidence.lossy, 2, 0)
    queued = (evidence.share("busy_ns") > 0.95) & (evidence.queue_packets >= 3)
    # Congestion control paces, too, and keeps the link busy by it; every acknowledgment changes what it sends.
    eager = evidence.response > 0.7
    paced = np.where(eager, grade(evidence.share("busy_ns"), 0.95, 0.7), 1.0) * ~queued
    # Sends from an empty pipe, round after round: nothing was waiting to be sent.
    drained = grade(evidence.around(evidence.fresh_starts, 4), 1.5, 3.0)
    # Away from the sender a middlebox may have held the acknowledgment that started a burst: what an application
    # sends ends in a short segment as well.
    timed = np.where(evidence.direct, 1.0, grade(evidence.ends_short, 0.4, 0.8))
    # Bursts that leave acknowledgments unanswered and do not start with one, or not from the level of a buffer.
    lazy = grade(evidence.response, 0.85, 0.45)
    unasked = np.where(np.isnan(evidence.promptness), 0.0, timed * grade(evidence.promptness, 0.7, 0.3))
    # A long burst is refilled as it goes, from a higher level than it began at; a timer's are too short for that.
    began_high = np.nan_to_num(grade(evidence.burst_level, 0.5, 0.65), nan=1.0)
    high = grade(evidence.refill_high, 0.7, 0.76) * began_high
    level = np.maximum(high, grade(evidence.refill, 0.35, 0.2))
    turns = evidence.around(evidence.replies, 4)
    # An application waits for the peer's answer, not for its acknowledgment.
    answered = (turns > 0) | ~(evidence.promptness > 0.7)
    level = level * np.maximum(answered, grade(evidence.ends_short, 0.5, 0.9))
    replies = grade(turns / np.maximum(evidence.around(evidence.acks, 4), 1.0), 0.1, 0.25)
    # Each answer of the peer brings a message, which ends in a short segment.
    endings = evidence.around(evidence.small_segments, 4) / np.maximum(turns, 1.0)
    messages = grade(endings, 0.6, 0.9)
    # Message for answer, answer for message: however many are on their way at once, the application lets no more.
    dialogue = messages * grade(endings, 1.6, 1.2) * (turns >= 5)
    # Of a message longer than the congestion window all but the last flight is congestion control's.
    rest = evidence.shifted(evidence.sent_bytes, 1, 0.0)
    flights = [evidence.shifted(evidence.flight_max_bytes, by, np.nan) for by in (-2, -1, 1, 2)]
    first_flight = (
        (rest > 0)
        & (rest < 0.67 * evidence.sent_bytes)
        & (evidence.flight_max_bytes >= 0.95 * np.fmax.reduce(flights))
        & (evidence.small_segments == 0)
    )
    # Mostly short segments: with more to send they would have been full.
    short = evidence.small_segments / np.maximum(evidence.sent_segments, 1.0)
    mean = evidence.sent_bytes / np.maximum(evidence.sent_segments, 1.0) / evidence.mss
    tiny = grade(short, 0.6, 0.9) * grade(mean, 0.8, 0.6)
    # All short: there is less to send than a segment, whatever its size, as long as no loss keeps it so.
    calm = ~evidence.near(evidence.lossy, 20, 0) & ~evidence.opening & (evidence.sent_segments >= 2)
    tiny = np.fmax(tiny, 0.9 * grade(short, 0.9, 1.0) * grade(mean, 0.97, 0.9) * calm)
    # Silent for longer than a round trip: by then all was acknowledged, and the pipe empty, though no tap but the
    # sender's sees it so.
    silent = (
        grade(evidence.silence_ns / np.maximum(evidence.floor, 1.0), 1.1, 1.3)
        * ~evidence.opening
        * ~evidence.direct
    )
    # A writer that a free buffer wakes resumes in full at an acknowledgment, with no answer of the peer to call for it.
    resumed = (evidence.promptness > 0.7) & (turns == 0) & (rest > evidence.acked_bytes / 2) & ~evidence.idle
    saturated = queued & ((evidence.fullness > 0.95) | (evidence.evenness > 0.95))
    # A queue that drains though nothing was lost: the sender has less to send than the link delivers.
    sends = evidence.around(evidence.sent_bytes, 4) / np.maximum(evidence.around(evidence.acked_bytes, 4), 1.0)
    receding = grade(sends, 0.98, 0.95) * grade(evidence.ends_short, 0.4, 0.8) * calm * queued
    receding = receding * ~(evidence.near(evidence.lossy, 0, 4) | np.isnan(evidence.promptness))
    signs = [
        grade(empty, 0.1, 0.5),
        grade(unprompted, 0.2, 0.8) * timed * quiet * paced * ~evidence.opening,
        silent * quiet * ~queued,
        drained * quiet,
        lazy * np.maximum(unasked, level) * quiet * ~evidence.opening * ~saturated,
        tiny * quiet * ~queued,
        0.8 * evidence.draining * ~resumed,
        0.95 * evidence.slight,
        replies * np.maximum(grade(evidence.response, 0.95, 0.7), messages) * quiet,
        dialogue * lazy * quiet,
        receding * lazy,
    ]
    open_ = (evidence.tightness < 0.5) & (evidence.share("zero_window_ns") < 0.1)
    idle = evidence.idle & (evidence.share("zero_window_ns") < 0.1)
    strength = np.where(idle, 1.0, np.fmax.reduce(signs) * open_ * np.where(first_flight, 0.3, 1.0))
    few = evidence.sent_bytes < 0.7 * evidence.mss * np.maximum(evidence.sent_segments, 1.0)
    return Claim.build(
        evidence,
        np.where(evidence.blackout, 0.0, strength),
        [
            ("idle", evidence.idle | (empty > 1 / 3)),
            ("small writes", few & (evidence.small_segments > 0)),
            ("idle", np.ones(evidence.size, dtype=bool)),
        ],
    )
