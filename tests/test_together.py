"""Captures that do not follow one another, read together: each flow is judged as in its capture alone."""

import itertools
from dataclasses import replace

import pytest
from oracles import ROOT
from packets import Packet, pcap
from pandas.testing import assert_frame_equal
from scenario import CLIENT, HANDSHAKE, scenario

import bdpcap
from bdpcap.report import screen

OF_ONE_PATH = (
    "cwnd_loss_2pct.sender",
    "link_5_100ms_bloat.sender",
    "linux61_advwinscale2_w50000",
    "rwnd_slow_reader.receiver",
    "rwnd_zero_window.sender",
)
"""Samples between two hosts with the same addresses, some of them taken half a minute apart over other paths."""


@pytest.mark.parametrize(("one", "other"), list(itertools.permutations(OF_ONE_PATH, 2)))
def test_flows_are_judged_as_in_their_capture_alone(one, other):
    own, second = (ROOT / "sample_captures" / f"{name}.pcap.zst" for name in (one, other))
    alone, together = bdpcap.analyze(own), bdpcap.analyze([own, second])
    first = min(alone.flows["start_ns"])
    streams = together.flows.loc[
        together.flows["start_ns"].between(first, max(alone.flows["end_ns"])), "stream"
    ].unique()
    for table in ("flows", "rtts"):
        whole = getattr(together, table)
        found = whole[whole["stream"].isin(streams)].reset_index(drop=True)
        assert_frame_equal(found.drop(columns="stream"), getattr(alone, table).drop(columns="stream"))
    flow = alone.flow(0)
    again = together.flow(int(streams[0]), flow.sender)
    assert (screen.head(again), screen.rate(again)) == (screen.head(flow), screen.rate(flow))


DAY_NS = 86_400 * 10**9


def later(packets, shift_ns):
    return [Packet(packet.time_ns + shift_ns, packet.data, packet.wire_length) for packet in packets]


def talk(rtt_ms, port):
    lines = [
        f"+.001 > . {1 + at}:{2 + at}(1) ack 1 win 502\n+.0{rtt_ms} < . 1:1(0) ack {2 + at} win 1000"
        for at in range(9)
    ]
    dialogue = HANDSHAKE.replace("+.020", f"+.0{rtt_ms}") + "\n".join(lines)
    return scenario(dialogue, client=replace(CLIENT, port=port))


@pytest.mark.parametrize(("shift_ns", "rtts_ms"), [(DAY_NS, [40, 20]), (42 * 10**7, [20, 20])])
def test_a_path_lasts_as_long_as_its_files_follow_one_another(shift_ns, rtts_ms):
    # By hand: 9 exchanges of 40 ms, then as many of 20 ms, a day later or 11 ms after the last frame.
    slow, fast = talk(40, 40000), later(talk(20, 40001), shift_ns)
    capture = bdpcap.analyze([pcap(slow), pcap(fast)])
    delays = [capture._contents.paths.delays_of(stream)[0][0] // 10**6 for stream in (0, 1)]
    assert delays == rtts_ms
