"""The longest silence of a flow, by a plain reading of its events, whatever pieces they come in."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from bdpcap import _core
from bdpcap.diagnosis.silence import Silence, _Acknowledgments

ACK, DATA, TIMED = "ack", "data", "retransmitted on timeout"

EVENTS = st.lists(st.tuples(st.integers(1, 9), st.sampled_from([ACK, DATA, TIMED])), min_size=1, max_size=30)


def plainly(events, end_ns):
    """Return the longest time between acknowledgments that holds a retransmission on timeout; no event is at the end."""
    longest, since, timed = Silence(), None, []
    for at, what in [*events, (end_ns, ACK)]:
        if what == TIMED:
            timed.append(at)
        if what != ACK:
            continue
        if since is not None and timed and at - since > longest.lasted_ns:
            longest = Silence(since, at - since, len(timed), at - timed[0], to_end=at == end_ns)
        since, timed = at, []
    return longest


def columns(events):
    timed = _core.CAUSES.index("timeout")
    return {
        "time_ns": np.array([at for at, _ in events], dtype=np.int64),
        "length": np.array([_core.NULL if what == ACK else 100 for _, what in events], dtype=np.int64),
        "kind": np.zeros(len(events), dtype=np.uint8),
        "cause": np.array([timed if what == TIMED else 0 for _, what in events], dtype=np.uint8),
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
            counted.take(columns(events[first:beyond]))
    assert counted.longest == plainly(events, end_ns)


def test_of_retransmissions_without_an_acknowledgment_only_the_first_is_kept():
    # A sender without answers may retransmit for days.
    counted = _Acknowledgments(SimpleNamespace(summary=pd.Series({"end_ns": 10_000})))
    counted.take(columns([(1, ACK)]))
    for at in range(2, 5000, 2):
        counted.take(columns([(at, TIMED), (at + 1, TIMED)]))
    assert len(counted._first_ns) == 1
    assert (counted.longest.retransmits, counted.longest.unanswered_ns) == (4998, 9998)
