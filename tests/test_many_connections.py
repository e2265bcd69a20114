"""Captures of many connections: what is let go, passed over or judged in pieces changes nothing that is told."""

from __future__ import annotations

import io
from dataclasses import replace

import pandas as pd
import pytest
from observe import observe
from oracles import ROOT
from packets import Address, pcap, tcp_packet
from scenario import CLIENT, HANDSHAKE, SERVER, START_NS, scenario
from small_transfer import write_many

import bdpcap
from bdpcap.limits import HIDDEN, classify

MOST_ENDED = 4096
"""Connections that ended and are kept whole for late packets, as `Table` in the core has it."""
TRANSFER = (
    HANDSHAKE
    + """
    +0    > P. 1:1001(1000)   ack 1 win 502
    +.020 < .  1:1(0)         ack 1001 win 16384
    +0    > F. 1001:1001(0)   ack 1 win 502
    +.020 < F. 1:1(0)         ack 1002 win 16384
    +0    > .  1002:1002(0)   ack 2 win 502
    """
)
SYN, RST, ACK = 2, 4, 16


def resets(number):
    """Connections that are asked for and refused, one after the other, from a second after the start on."""
    for port in range(number):
        client = Address(f"203.0.113.{1 + port % 200}", 1024 + port)
        time_ns = START_NS + 10**9 + port * 10**5
        yield tcp_packet(time_ns, client, SERVER, seq=5, flags=SYN)
        yield tcp_packet(time_ns + 10, SERVER, client, seq=0, ack=6, flags=RST | ACK)


@pytest.mark.parametrize("others", [1, MOST_ENDED + 1])
def test_a_packet_that_comes_late_is_counted_and_changes_nothing_else(others):
    late_ns = START_NS + 100 * 10**9
    late = tcp_packet(late_ns, CLIENT, SERVER, seq=1_001_002, ack=3_000_000_002)
    seen = observe([*scenario(TRANSFER), *resets(others), late])
    client, server = seen.directions[:2]
    assert (client.packets, server.packets) == (5 + 1, 3)
    assert client.end_ns == late_ns
    assert client.payload_bytes == 1000
    assert len(seen.directions) == 2 * (1 + others)
    assert [row.stream for row in seen.frame(len(seen.packets))] == [0]


def test_the_ports_of_a_connection_that_was_let_go_are_opened_again():
    again = scenario(TRANSFER, isn=(7, 8))
    late = [replace(packet, time_ns=packet.time_ns + 10**11) for packet in again]
    seen = observe([*scenario(TRANSFER), *resets(MOST_ENDED + 1), *late])
    first, last = seen.directions[0], seen.directions[-2]
    assert (first.sender, first.payload_bytes) == (last.sender, last.payload_bytes) == (str(CLIENT), 1000)
    assert last.stream == MOST_ENDED + 2


def test_streams_are_judged_in_blocks_as_they_are_together(tmp_path, monkeypatch):
    path = write_many(tmp_path / "many.pcap", 40)
    whole = bdpcap.analyze(path)
    tables = whole.flows, whole.rtts
    monkeypatch.setattr(classify, "BLOCK", 20)
    pieces = bdpcap.analyze(path)
    assert len(list(pieces.pieces("flows"))) > 2
    for together, apart in zip(tables, (pieces.flows, pieces.rtts), strict=True):
        pd.testing.assert_frame_equal(together, apart)
    assert all(
        (mine == its).all()
        for mine, its in zip(whole._contents.verdicts.hidden, pieces._contents.verdicts.hidden, strict=True)
    )


def test_some_streams_are_judged_as_they_are_among_all(tmp_path, monkeypatch):
    path = write_many(tmp_path / "many.pcap", 40)
    every = bdpcap.analyze(path)
    monkeypatch.setattr(classify, "BLOCK", 20)
    some = bdpcap.analyze(path)
    some._contents.verdicts.load([30, 3, 17])
    hidden = pd.DataFrame(dict(zip(HIDDEN, every._contents.verdicts.hidden, strict=True)))
    for stream in (3, 17, 30, 5):
        flow = some.flow(stream)
        own = (every.rtts["stream"] == stream) & (every.rtts["sender"] == flow.sender)
        assert own.any()
        pd.testing.assert_frame_equal(flow.rtts, every.rtts[own].reset_index(drop=True))
        pd.testing.assert_frame_equal(flow._hidden, hidden[own].reset_index(drop=True))


@pytest.mark.parametrize("name", ["link_5_100ms_bloat", "rwnd_slow_reader", "sndbuf_24k_15ms"])
def test_the_main_detail_is_that_of_most_time_under_the_main_limit(name):
    capture = bdpcap.analyze(ROOT / "sample_captures" / f"{name}.sender.pcap.zst")
    rounds = capture.rtts.assign(lasting=capture.rtts["end_ns"] - capture.rtts["start_ns"])
    assert len(capture.flows)
    for flow, detail in zip(capture.flows.itertuples(), capture._contents.verdicts.main_details, strict=True):
        own = rounds[(rounds["sender"] == flow.sender) & (rounds["limit"] == flow.limit)]
        held = own.groupby("detail", dropna=False)["lasting"].sum()
        most = held.idxmax()
        assert detail == (None if pd.isna(most) else most)


def test_a_report_of_many_flows_judges_the_rounds_of_few(tmp_path, monkeypatch):
    path = write_many(tmp_path / "many.pcap", 40)
    monkeypatch.setattr(classify, "BLOCK", 20)
    capture = bdpcap.analyze(path)
    capture.report(tmp_path / "report.html")
    assert "rtts" not in vars(capture)


def test_the_events_of_one_stream_are_those_it_has_among_all():
    # The same ports three times: closed, cut off in the middle, and opened by an answer alone.
    first, second = scenario(TRANSFER), scenario(TRANSFER, isn=(7, 8))[:5]
    third = scenario("0 < S. 0:0(0) ack 1 win 500", isn=(70_000, 80_000))
    packets = [
        replace(packet, time_ns=packet.time_ns + turn * 10**10)
        for turn, part in enumerate((first, second, third, first))
        for packet in part
    ]
    capture = pcap(packets)
    everything = pd.concat(bdpcap.stream_events(io.BytesIO(capture)), ignore_index=True)
    streams = everything["stream"].unique()
    assert len(streams) > 2
    for stream in streams:
        own = pd.concat(bdpcap.stream_events(io.BytesIO(capture), streams=[int(stream)]), ignore_index=True)
        expected = everything[everything["stream"] == stream].reset_index(drop=True)
        pd.testing.assert_frame_equal(own, expected)
