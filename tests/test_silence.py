"""The longest silence of a flow, by a plain reading of its events, whatever pieces they come in."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from bdpcap import _core
from bdpcap.diagnosis.silence import Silence, _Acknowledgments

ACK, DATA, TIMED, FAST = "ack", "data", "retransmitted on timeout", "retransmitted"
SIZE = 100

EVENTS = st.lists(
    st.tuples(st.integers(1, 9), st.sampled_from([ACK, DATA, TIMED, FAST])), min_size=1, max_size=30
)


def plainly(events, end_ns):
    """Return the longest time that data waited without an acknowledgment, with a retransmission on timeout in it.

    Acknowledgments in even frames leave data unacknowledged. No event is at the end.
    """
    longest, quiet, quiet_frame, waiting, sent = Silence(), None, 0, False, []
    for frame, (at, what) in enumerate([*events, (end_ns, ACK)]):
        if what != ACK:
            sent.append((at, what, frame))
            continue
        tries = [(time, kind) for time, kind, _ in sent if kind != DATA]
        if any(kind == TIMED for _, kind in tries):
            # Before the first acknowledgment, the first data begin the silence.
            quiet = sent[0][0] if quiet is None else quiet
            since = quiet if waiting else sent[0][0]
            if at - since > longest.waited_ns:
                longest = Silence(
                    since_ns=since,
                    waited_ns=at - since,
                    quiet_ns=at - quiet,
                    retransmits=len(tries),
                    unanswered_ns=at - tries[0][0],
                    answered_ns=at - tries[-1][0],
                    news=len(sent) > len(tries),
                    to_end=at == end_ns,
                    first_frame=quiet_frame if waiting else sent[0][2],
                    last_frame=sent[-1][2] if at == end_ns else frame,
                )
        before = any(kind != ACK for _, kind in events[:frame])
        quiet_frame = frame
        quiet, waiting, sent = at, before and frame % 2 == 0, []
    return longest


def columns(events, begin=0):
    """Return events as the core's columns, `begin` of them before."""
    timed, fast = (_core.CAUSES.index(name) for name in ("timeout", "fast retransmit"))
    data, again = (_core.KINDS.index(name) for name in ("data", "retransmission"))
    count = len(events)
    frames = np.arange(begin, begin + count)
    acks = np.array([what == ACK for _, what in events], dtype=bool)
    return {
        "time_ns": np.array([at for at, _ in events], dtype=np.int64),
        "frame": frames,
        "sequence": np.where(acks, _core.NULL, 0),
        "length": np.where(acks, _core.NULL, SIZE),
        # Every second acknowledgment leaves data unacknowledged.
        "acknowledged": np.where(frames % 2 == 0, 0, 1000 * SIZE),
        "tcp_flags": np.full(count, 16),
        "kind": np.array([again if what in (TIMED, FAST) else data for _, what in events], dtype=np.uint8),
        "cause": np.array([{TIMED: timed, FAST: fast}.get(what, 0) for _, what in events], dtype=np.uint8),
        "sack_start": np.full(count, _core.NULL),
        "sack_end": np.full(count, _core.NULL),
    }


@given(EVENTS, st.lists(st.integers(0, 30), max_size=5))
def test_a_silence_is_the_same_in_any_pieces(steps, cuts):
    times = np.cumsum([step for step, _ in steps]).tolist()
    events = list(zip(times, (what for _, what in steps), strict=True))
    end_ns = times[-1] + 1
    counted = _Acknowledgments(SimpleNamespace(summary=pd.Series({"end_ns": end_ns})))
    edges = [0, *sorted(cut for cut in cuts if cut < len(events)), len(events)]
    for first, beyond in pairwise(edges):
        if first < beyond:
            counted.take(columns(events[first:beyond], first))
    assert counted.longest == plainly(events, end_ns)


def test_of_retransmissions_without_an_acknowledgment_only_sums_are_kept():
    # A sender without answers may retransmit for days.
    counted = _Acknowledgments(SimpleNamespace(summary=pd.Series({"end_ns": 10_000})))
    counted.take(columns([(1, ACK)]))
    for at in range(2, 5000, 2):
        counted.take(columns([(at, TIMED), (at + 1, TIMED)]))
    assert not any(isinstance(value, (list, np.ndarray)) for value in vars(counted).values())
    assert (counted.longest.retransmits, counted.longest.unanswered_ns) == (4998, 9998)
