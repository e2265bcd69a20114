"""The rate of all acknowledged bytes, where the capture lacks a part of them: against the whole capture, and by hand."""

import io

import pytest
import zstandard
from oracles import ROOT
from packets import pcap, read_pcap
from scenario import HANDSHAKE, scenario

import bdpcap
from bdpcap.explain.reached import acknowledged_bytes, reached_bps, spoken_rate
from bdpcap.report import screen

BEGIN_NS, GAP_NS = 2_000_000_000, 1_500_000_000
"""A time of a capture in which its tap is made to drop everything."""
WHOLE = (
    "app_small_writes.sender",
    "cwnd_loss_2pct.sender",
    "link_5_100ms_bloat.sender",
    "linux61_advwinscale2_w50000",
    "sndbuf_24k_15ms.sender",
)


def with_gap(path):
    """Return a capture without the frames of the gap."""
    frames = read_pcap(zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read())
    began = frames[0].time_ns + BEGIN_NS
    return io.BytesIO(pcap(frame for frame in frames if not 0 <= frame.time_ns - began < GAP_NS))


@pytest.mark.parametrize("name", WHOLE)
def test_the_rate_of_a_capture_with_a_gap_is_that_of_the_whole(name):
    path = ROOT / "sample_captures" / f"{name}.pcap.zst"
    whole, gapped = bdpcap.analyze(path).flow(0), bdpcap.analyze(with_gap(path)).flow(0)
    assert gapped.summary["active_throughput_bps"] < 0.9 * whole.summary["active_throughput_bps"]
    assert reached_bps(gapped) == pytest.approx(whole.summary["active_throughput_bps"], rel=0.01)
    assert acknowledged_bytes(gapped) == pytest.approx(whole.summary["payload_bytes"], abs=2)
    assert acknowledged_bytes(whole) is None
    # The words have both: the bytes that were captured, and the rate of all.
    said = screen.rate(gapped)
    assert " captured (" in said
    assert spoken_rate(whole) in said
    # Nobody waited in the gap: the tap dropped the acknowledgments.
    assert gapped.summary["longest_stall_ns"] < GAP_NS / 2


def flow(dialogue):
    return bdpcap.analyze(io.BytesIO(pcap(scenario(HANDSHAKE + dialogue)))).flow(0)


SENT = "\n".join(
    f"+.001 > . {1 + 1000 * at}:{1001 + 1000 * at}(1000) ack 1 win 502\n+.020 < . 1:1(0) ack {1001 + 1000 * at} win 1000"
    for at in range(20)
)


def test_an_acknowledgment_of_what_nobody_sent_proves_no_rate():
    wild = flow(f"{SENT}\n+.001 < . 1:1(0) ack 90000001 win 1000\n+.1 < . 1:1(0) ack 90000001 win 1000")
    assert wild._counts["unsent_bytes"] == wild._counts["unseen_bytes"] == 90_000_000 - 20_000
    assert acknowledged_bytes(wild) is None
    assert reached_bps(wild) == wild.summary["active_throughput_bps"]
    assert spoken_rate(wild).endswith(" or more")


def test_later_data_show_that_the_missing_ones_were_sent():
    later = flow(f"{SENT}\n+.5 < . 1:1(0) ack 40001 win 1000\n+.001 > . 40001:41001(1000) ack 1 win 502")
    assert later._counts["unsent_bytes"] == 0
    assert acknowledged_bytes(later) == 40_000


@pytest.mark.parametrize(("last", "known"), [(40_100, True), (41_000, False)])
def test_a_few_bytes_after_the_last_captured_ones_leave_the_others_known(last, known):
    """The rest of an answer may be missing; an acknowledgment of much more than was captured is forged."""
    dialogue = f"{SENT}\n+.5 < . 1:1(0) ack 39001 win 1000\n+.001 > . 39001:40001(1000) ack 1 win 502"
    ended = flow(f"{dialogue}\n+.020 < . 1:1(0) ack {last + 1} win 1000")
    assert ended._counts["unsent_bytes"] == last - 40_000
    assert acknowledged_bytes(ended) == (40_000 if known else None)


def test_a_stall_that_the_capture_shows_counts():
    # The last of ten segments was dropped by the tap, and nothing was acknowledged for two seconds.
    lines = "\n".join(f"+.0001 > . {1 + 1000 * at}:{1001 + 1000 * at}(1000) ack 1 win 502" for at in range(9))
    seen = flow(f"{lines}\n+2 < . 1:1(0) ack 10001 win 1000\n+.001 > . 10001:11001(1000) ack 1 win 502")
    assert seen._counts["unseen_bytes"] == 1000
    assert seen.summary["longest_stall_ns"] == pytest.approx(2_000_000_000, rel=0.01)
