"""The application: did it offer more data?

Idle time, sends from an empty pipe, and bursts that no acknowledgment called for have no other cause. One short segment
in a round proves nothing: a full send buffer ends in one, too. Nor does an unasked-for segment behind a standing
queue: pacing sends it.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from bdpcap.limits.claim import Claim, grade

if TYPE_CHECKING:
    from bdpcap.limits.evidence import Evidence
    from bdpcap.limits.rounds import Bools, Floats

__all__ = ["claim", "regular"]


def claim(evidence: Evidence) -> Claim:
    """Claim idle rounds and rounds whose data came when the application pleased."""
    quiet = ~evidence.near(evidence.lossy, 2, 0)
    queued = (evidence.busy > 0.95) & (evidence.queue_packets >= 3)
    # All but a few acknowledgments were left unanswered: nothing waited for them.
    lazy = grade(evidence.response, 0.85, 0.45)
    timed, calm, metronomic = _timed(evidence), _calm(evidence), regular(evidence)
    empty = evidence.share("empty_ns")
    signs = [
        grade(empty, 0.1, 0.5),
        _unprompted(evidence, timed) * quiet * ~queued,
        _silent(evidence) * quiet * ~queued,
        grade(_fresh(evidence), 1.5, 3.0) * quiet,
        _own_time(evidence, timed) * lazy * quiet * ~_saturated(evidence, queued),
        _in_blocks(evidence, queued) * lazy * quiet,
        metronomic * ~evidence.opening * lazy * quiet,
        _short(evidence, calm) * quiet * ~queued,
        0.8 * evidence.draining * ~_resumed(evidence),
        0.95 * evidence.slight,
        _conversation(evidence, lazy) * quiet,
        _receding(evidence, calm) * lazy * queued,
        _blocks(evidence) * quiet,
    ]
    open_ = (evidence.tightness < 0.5) & (evidence.share("zero_window_ns") < 0.1)
    idle = evidence.idle & (evidence.share("zero_window_ns") < 0.1)
    flights = (_first_flight(evidence) | _last_flight(evidence)) & ~(metronomic > 0.5)
    strength = np.fmax.reduce(signs) * open_ * np.where(flights, 0.3, 1.0)
    # A FIN goes out behind the last data.
    strength = np.where(idle | (evidence.after_fin > 0), 1.0, strength)
    return Claim.build(
        evidence,
        np.where(evidence.blackout, 0.0, strength),
        [
            ("idle", evidence.idle | (evidence.after_fin > 0) | (empty > 1 / 3)),
            ("small writes", _short_share(evidence) >= 0.5),
            ("idle", np.ones(evidence.size, dtype=bool)),
        ],
    )


def _timed(evidence: Evidence) -> Floats:
    """Is it a timer that starts bursts, not an acknowledgment that a middlebox held?

    What an application sends ends in a short segment; at the sender the acknowledgments themselves are seen.
    """
    return np.where(evidence.direct, 1.0, grade(evidence.ends_short, 0.4, 0.8))


def _rest(evidence: Evidence) -> Floats:
    """What the next round sent."""
    return evidence.shifted(evidence.sent_bytes, 1, 0.0)


def _calm(evidence: Evidence) -> Bools:
    """Is no loss, and no slow start, the reason for sending less?"""
    return ~evidence.near(evidence.lossy, 20, 0) & ~evidence.opening & (evidence.sent_segments >= 2)


def _unprompted(evidence: Evidence, timed: Floats) -> Floats:
    """Most bytes followed no acknowledgment."""
    unprompted = evidence.unprompted_bytes / np.maximum(evidence.sent_bytes, 1.0)
    # Congestion control paces, too, and keeps the link busy by it; every acknowledgment changes what it sends.
    eager = evidence.response > 0.7
    # Nor does an application know the size of a segment, and send nothing but whole ones.
    paced = np.where(eager, grade(evidence.busy, 0.95, 0.7) * (evidence.ends_short > 0), 1.0)
    return grade(unprompted, 0.2, 0.8) * timed * paced * ~evidence.opening


def _silent(evidence: Evidence) -> Floats:
    """Silent for longer than a round trip.

    By then all was acknowledged, and the pipe empty, though no tap but the sender's sees it so.
    """
    silence = grade(evidence.silence_ns / np.maximum(evidence.floor, 1.0), 1.1, 1.3)
    return silence * ~evidence.opening * ~evidence.direct


def _fresh(evidence: Evidence) -> Floats:
    """Sends from an empty pipe, round after round: nothing was waiting to be sent.

    Unless an acknowledgment, and no answer of the peer, started them: it was for all that was in flight.
    """
    fresh = evidence.around(evidence.fresh_starts, 4)
    unasked = evidence.around(evidence.fresh_starts - evidence.prompt_starts, 4)
    return np.where(evidence.turns > 0, fresh, unasked)


def _own_time(evidence: Evidence, timed: Floats) -> Floats:
    """Bursts do not start with an acknowledgment, or not from the level of a buffer."""
    unknown = np.isnan(evidence.promptness)
    unasked = np.where(unknown, 0.0, timed * grade(evidence.promptness, 0.7, 0.3))
    # A long burst is refilled as it goes, from a higher level than it began at; a timer's are too short for that.
    began_high = np.nan_to_num(grade(evidence.burst_level, 0.5, 0.65), nan=1.0)
    high = grade(evidence.refill_high, 0.7, 0.76) * began_high * timed
    level = np.maximum(high, grade(evidence.refill, 0.35, 0.2))
    # An application waits for the peer's answer, not for its acknowledgment.
    answered = (evidence.turns > 0) | ~(evidence.promptness > 0.7)
    level = level * np.maximum(answered, grade(evidence.ends_short, 0.5, 0.9))
    return np.maximum(unasked, level) * ~evidence.opening


def _in_blocks(evidence: Evidence, queued: Bools) -> Floats:
    """Each burst is one block of the writer's, which ends short, and no acknowledgment starts more than chance has it.

    A freed buffer's bursts end anywhere in a block, or else all of them begin with an acknowledgment.
    """
    prompt = evidence.promptness
    # From afar what started a burst is less certain; a timer's bursts seldom come at one a round trip.
    several = evidence.around(evidence.bursts, 4) > 1.2 * evidence.around(np.ones(evidence.size), 4)
    often = np.where(evidence.direct, grade(prompt, 0.95, 0.85), grade(prompt, 0.88, 0.76) * several)
    # Behind a standing queue acknowledgments never pause, and nearly all bursts seem to begin with one.
    often = np.where(queued, np.fmax(often, grade(prompt, 1.0, 0.95)), often)
    alone = (evidence.turns == 0) & ~evidence.opening
    own: Floats = np.nan_to_num(grade(evidence.blocks, 0.85, 0.95) * often) * alone
    return own


def regular(evidence: Evidence) -> Floats:
    """Several bursts in a round trip begin at equal times: a timer starts them.

    A send buffer's begin with acknowledgments, which come with a pause in each round trip. Only two in each may be
    equally far apart by chance, so that less is allowed them than a timer's own unrest, 20 to 50 µs in the lab.
    """
    least, most = evidence.burst_periods_ns
    many = evidence.floor > 2 * least
    # Still less where acknowledgments seem to start them, as far as a tap at the sender sees it.
    unrest_ns = np.where(evidence.direct & (evidence.promptness > 0.7), 2e4, 6e4)
    spread = (most - least) / np.where(many, np.maximum(0.01 * least, 1.0), unrest_ns)
    # A slow link spaces single packets as evenly.
    long = evidence.around(evidence.sent_segments, 2) > 3 * evidence.around(evidence.bursts, 2)
    return np.nan_to_num(grade(spread, 2.0, 1.0)) * (evidence.floor > 1.25 * least) * long


def _saturated(evidence: Evidence, queued: Bools) -> Bools:
    """Did the link have no room for more?"""
    even = (evidence.evenness > 0.95) & (evidence.queue_packets >= 8)
    full: Bools = queued & ((evidence.fullness > 0.95) | even)
    return full


def _short_share(evidence: Evidence) -> Floats:
    """Share of the segments sent that were short."""
    return evidence.small_segments / np.maximum(evidence.sent_segments, 1.0)


def _short(evidence: Evidence, calm: Bools) -> Floats:
    """Mostly short segments: with more to send they would have been full."""
    short = _short_share(evidence)
    mean = evidence.sent_bytes / np.maximum(evidence.sent_segments, 1.0) / evidence.mss
    mostly = grade(short, 0.6, 0.9) * grade(mean, 0.8, 0.6)
    # All short: there is less to send than a segment, whatever its size, as long as no loss keeps it so.
    only = grade(short, 0.9, 1.0) * grade(mean, 0.97, 0.9)
    return np.fmax(mostly, 0.9 * only * calm)


def _resumed(evidence: Evidence) -> Bools:
    """Did an acknowledgment, and no answer of the peer, make the sender resume in full, as a freed buffer does?"""
    asked = (evidence.promptness > 0.7) & (evidence.turns == 0)
    resumed: Bools = asked & (_rest(evidence) > evidence.acked_bytes / 2) & ~evidence.idle
    return resumed


def _conversation(evidence: Evidence, lazy: Floats) -> Floats:
    """Each answer of the peer brings a message, which ends in a short segment."""
    turns = evidence.turns
    replies = grade(turns / np.maximum(evidence.around(evidence.acks, 4), 1.0), 0.1, 0.25)
    endings = evidence.around(evidence.small_segments, 4) / np.maximum(turns, 1.0)
    messages = grade(endings, 0.6, 0.9)
    # Message for answer, answer for message: however many are on their way at once, the application lets no more.
    dialogue = messages * grade(endings, 1.6, 1.2) * (turns >= 5)
    often = replies * np.maximum(grade(evidence.response, 0.95, 0.7), messages)
    # The message has ended, and for most of the round the answer is awaited.
    over = 0.9 * messages * grade(evidence.share("after_small_ns"), 0.5, 0.8) * (turns > 0)
    claimed: Floats = np.fmax.reduce([often, dialogue * lazy, over])
    return claimed


def _receding(evidence: Evidence, calm: Bools) -> Floats:
    """A queue drains though nothing was lost: the sender has less to send than the link delivers."""
    acked = np.maximum(evidence.around(evidence.acked_bytes, 4), 1.0)
    less = grade(evidence.around(evidence.sent_bytes, 4) / acked, 0.98, 0.95)
    # A percent less shows in what is in flight when it falls from round to round.
    less = np.fmax(less, grade(_fall(evidence), 0.05, 0.1))
    short = evidence.around(evidence.small_segments, 4) / np.maximum(
        evidence.around(evidence.sent_segments, 4), 1.0
    )
    in_blocks = grade(evidence.ends_short, 0.4, 0.8) * grade(short, 0.01, 0.02)
    return less * in_blocks * calm * ~evidence.near(evidence.lossy, 0, 4)


def _fall(evidence: Evidence) -> Floats:
    """By how much the most in flight fell over eight rounds, as a share of it; 0 where it rose in any of them."""
    span = [evidence.shifted(evidence.flight_max_bytes, by, np.nan) for by in range(-4, 5)]
    falling = np.all([later <= before for before, later in itertools.pairwise(span)], axis=0)
    return np.where(falling, 1 - span[-1] / np.maximum(span[0], 1.0), 0.0)


def _blocks(evidence: Evidence) -> Floats:
    """Away from the sender and without echoes blocks are left to see: each ends short, and a pause follows."""
    pauses = grade(evidence.silence_ns / np.maximum(evidence.floor, 1.0), 0.15, 0.3)
    ends = grade(evidence.ends_short, 0.5, 0.9)
    return 0.8 * evidence.blind * ~evidence.opening * ends * pauses


def _first_flight(evidence: Evidence) -> Bools:
    """Is it the first flight of a message longer than the congestion window? That is congestion control's.

    It ends in a full segment, and acknowledgments call for the rest.
    """
    rest = _rest(evidence)
    unasked = evidence.shifted(evidence.unprompted_bytes, 1, 0.0)
    begun = evidence.shifted(evidence.fresh_starts, 1, 0.0)
    first: Bools = (evidence.small_segments == 0) & (rest > 0) & (unasked < 0.2 * rest) & (begun == 0)
    return first


def _last_flight(evidence: Evidence) -> Bools:
    """Is it the flight that ends such a message, and takes most of the round to be sent?"""
    before = evidence.shifted(evidence.small_segments, -1, np.nan) == 0
    asked = (evidence.unprompted_bytes < 0.2 * evidence.sent_bytes) & (evidence.fresh_starts == 0)
    last: Bools = before & asked & (evidence.small_segments == 1) & (evidence.share("after_small_ns") < 0.5)
    return last
