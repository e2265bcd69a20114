"""What must hold of every capture: flows that hypothesis makes valid and then damages."""

from __future__ import annotations

import pytest
from hypothesis import given

import strategies
from observe import observe
from reference import track


@given(strategies.captures())
def test_events_equal_the_reference_tracker(capture):
    packets = capture.packets
    expected = [comparable(row, row.in_flight_bytes) for row in track(packets)]
    seen = [comparable(row, row.tap_in_flight_bytes) for row in observe(packets).rows]
    assert len(seen) == len(expected)
    for ours, theirs in zip(seen, expected, strict=True):
        assert ours == theirs


@given(strategies.captures())
def test_beside_the_sender_its_view_equals_the_reference_trackers(capture):
    observation = observe(capture.packets)
    direct = {
        (side.stream, side.sender) for side in observation.directions if side.direct and side.initial_rtt_ns is not None
    }
    expected = [senders_view(row) for row in track(capture.packets) if (row.stream, row.sender) in direct]
    seen = [senders_view(row) for row in observation.rows if (row.stream, row.sender) in direct]
    for ours, theirs in zip(seen, expected, strict=True):
        assert ours == theirs


def comparable(row, in_flight_bytes):
    """The columns that a tap knows wherever it is."""
    return {
        "frame": row.frame,
        "stream": row.stream,
        "sender": row.sender,
        "receiver": row.receiver,
        "time_ns": row.time_ns,
        "kind": row.kind,
        "sequence": row.sequence,
        "length": row.length,
        "in_flight_bytes": in_flight_bytes,
        "advertised_bytes": row.advertised_bytes,
        "own_acknowledgment": row.own_acknowledgment,
    }


def senders_view(row):
    return {
        "frame": row.frame,
        "sender": row.sender,
        "acknowledged": row.acknowledged,
        "window_bytes": row.window_bytes,
        "in_flight_bytes": row.in_flight_bytes,
        "rtt_ns": row.rtt_ns,
    }
