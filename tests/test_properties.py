"""What must hold of every capture: flows that hypothesis makes valid and then damages."""

from __future__ import annotations

import gzip
import io
import os
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import lz4.frame
import pandas as pd
import strategies
import zstandard
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from observe import observe
from packets import pcap, pcapng_file
from reference import track

import bdpcap

# The core alone is quick, and its kinds are many.
THOROUGH = settings(max_examples=5 * settings().max_examples)
LAST_NS = 2**32 * 10**9 - 1  # where the clock of a pcap file ends


@THOROUGH
@given(strategies.captures())
def test_events_equal_the_reference_tracker(capture):
    packets = capture.packets
    expected = [comparable(row, row.tap_in_flight_bytes) for row in track(packets)]
    seen = [comparable(row, row.tap_in_flight_bytes) for row in observe(packets).rows]
    assert len(seen) == len(expected)
    for ours, theirs in zip(seen, expected, strict=True):
        assert ours == theirs


@THOROUGH
@given(strategies.captures())
def test_beside_the_sender_its_view_equals_the_reference_trackers(capture):
    observation = observe(capture.packets)
    direct = {
        (side.stream, side.sender)
        for side in observation.directions
        if side.tap_at_sender and side.initial_rtt_ns is not None
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


def assert_same(left: bdpcap.Capture, right: bdpcap.Capture) -> None:
    for table in ("flows", "rtts", "events"):
        pd.testing.assert_frame_equal(getattr(left, table), getattr(right, table), check_exact=True)


def read(*files: bytes, **how) -> bdpcap.Capture:
    return bdpcap.analyze([io.BytesIO(file) for file in files], **how)


@given(strategies.captures(), st.data())
def test_cutting_a_capture_and_streaming_the_pieces_changes_nothing(capture, data):
    packets = capture.packets
    cuts = sorted(data.draw(st.lists(st.integers(0, len(packets)), min_size=1, max_size=4), label="cuts"))
    pieces = [packets[start:end] for start, end in zip([0, *cuts], [*cuts, len(packets)], strict=True)]
    assert_same(read(*map(pcap, pieces)), read(pcap(packets)))


@given(strategies.captures())
def test_reading_through_a_pipe_equals_reading_the_file(capture):
    content = pcap(capture.packets)
    source, sink = os.pipe()

    def write() -> None:
        with os.fdopen(sink, "wb") as pipe:
            pipe.write(content)

    writer = threading.Thread(target=write)
    writer.start()
    with os.fdopen(source, "rb") as pipe:
        piped = bdpcap.analyze(pipe)
    writer.join()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "capture.pcap"
        path.write_bytes(content)
        again = bdpcap.analyze(path)
        # An inferred window scale takes a second reading, which a pipe does not allow.
        if not again.scales:
            assert_same(piped, again)


@given(strategies.captures())
def test_rounds_tile_the_life_of_their_flow(capture):
    seen = read(pcap(capture.packets))
    rounds = seen.rtts.groupby(["stream", "sender"])
    assert len(rounds) == len(seen.flows)
    for flow in seen.flows.itertuples():
        mine = rounds.get_group((flow.stream, flow.sender))
        assert mine["round"].tolist() == list(range(len(mine)))
        assert mine["start_ns"].iloc[0] == flow.start_ns
        assert mine["end_ns"].iloc[-1] == flow.end_ns
        assert mine["start_ns"].tolist()[1:] == mine["end_ns"].tolist()[:-1]


@THOROUGH
@given(strategies.captures(), st.lists(st.tuples(st.integers(0, 100), st.integers(0, 2**32 - 1)), max_size=4))
def test_a_clock_that_is_set_anew_keeps_rounds_in_order(capture, settings_):
    """Each packet from the one chosen on is later, or earlier, by what sets that one to the second chosen."""
    packets = capture.packets
    assume(packets)
    for first, second in settings_:
        at = first * (len(packets) - 1) // 100
        by_ns = second * 10**9 - packets[at].time_ns
        later = [replace(p, time_ns=min(max(p.time_ns + by_ns, 0), LAST_NS)) for p in packets[at:]]
        packets = [*packets[:at], *later]
    seen = read(pcap(packets))
    rounds = seen.rtts
    assert (rounds["start_ns"] <= rounds["end_ns"]).all()
    for _, mine in rounds.groupby(["stream", "sender"]):
        assert mine["start_ns"].tolist()[1:] == mine["end_ns"].tolist()[:-1]


@given(strategies.captures())
def test_shares_of_a_flow_sum_to_one(capture):
    flows = read(pcap(capture.packets)).flows
    # Six quotients of integers: what they miss of 1 is rounding.
    assert ((flows.filter(like="_share").drop(columns="idle_share").sum(axis=1) - 1).abs() < 1e-9).all()


@given(strategies.captures(), st.sampled_from(["greater 0", "tcp", "ip or ip6", "portrange 80-40001"]))
def test_a_filter_that_matches_everything_changes_nothing(capture, expression):
    content = pcap(capture.packets)
    assert_same(read(content, filter=expression), read(content))


def gzip_members(content: bytes) -> bytes:
    middle = len(content) // 2
    return gzip.compress(content[:middle]) + gzip.compress(content[middle:])


PACKERS = {
    "gzip": gzip.compress,
    "gzip members": gzip_members,
    "zstd": zstandard.ZstdCompressor().compress,
    "lz4": lz4.frame.compress,
}


@given(strategies.captures(), st.sampled_from(sorted(PACKERS)))
def test_packing_a_capture_changes_nothing(capture, packer):
    content = pcap(capture.packets)
    assert_same(read(PACKERS[packer](content)), read(content))


@given(strategies.captures(), st.sampled_from("<>"))
def test_pcap_and_pcapng_of_any_clock_say_the_same_of_the_same_packets(capture, endianness):
    packets = [replace(packet, time_ns=packet.time_ns // 1000 * 1000) for packet in capture.packets]
    expected = read(pcap(packets, nanoseconds=True))
    assert_same(read(pcap(packets, nanoseconds=False)), expected)
    assert_same(read(pcapng_file(packets, resolution=(10, 6), endianness=endianness)), expected)
    assert_same(read(pcapng_file(packets, resolution=(10, 9), endianness=endianness)), expected)
