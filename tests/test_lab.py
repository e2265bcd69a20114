"""The lab's own judgement: labels of samples whose cause is plain, and what is done to captures."""

from __future__ import annotations

import struct

import pandas as pd
import pytest
from damage import damage, read
from draw import Draw
from kinds import KINDS
from truth import Busy, label, states

MSS = 1448
NEUTRAL = {
    "cwnd": 20,
    "unacked": 10,
    "sacked": 0,
    "lost": 0,
    "retrans": 0,
    "rtt_us": 10000,
    "snd_mss": MSS,
    "ssthresh": 10,
    "snd_wnd": 100 * MSS,
    "notsent": 50 * MSS,
    "rwnd_us": 0,
    "ca_state": 0,
    "outq": 60 * MSS,
    "blocked": 0,
}


def samples(count=1, **changes):
    return pd.DataFrame([{"t_ns": i * 500_000} | NEUTRAL | changes for i in range(count)])


@pytest.mark.parametrize(
    ("state", "sample"),
    {
        "rwnd": {"snd_wnd": 10 * MSS + 100},
        "cwnd": {"cwnd": 10},
        "sndbuf": {"notsent": 0, "outq": 10 * MSS, "blocked": 1},
        "app": {"notsent": 0, "outq": 10 * MSS},
    }.items(),
)
def test_the_state_of_a_sample(state, sample):
    assert states(samples(**sample)).tolist() == [state]


def test_what_is_lost_or_sacked_does_not_fill_the_congestion_window():
    assert states(samples(cwnd=10, snd_wnd=12 * MSS)).tolist() == ["cwnd"]
    assert states(samples(cwnd=10, snd_wnd=12 * MSS, sacked=3, lost=1)).tolist() == ["rwnd"]


def test_pacing_holds_data_back_with_room_in_both_windows():
    roomy = samples(cwnd=20, snd_wnd=15 * MSS)
    assert states(roomy).tolist() == ["rwnd"]  # five segments of window, ten of congestion window
    assert states(roomy, paced=True).tolist() == ["cwnd"]


HINTS = {"paced": False, "slow_reader": False, "small_writes": False}
LINK = "t_ns,direction,event,bytes,queue_bytes,duration_ns\n"


def labelled(folder, info, link, **hints):
    info.to_csv(folder / "info.csv", index=False)
    (folder / "link.csv").write_text(LINK + link)
    return label(folder, HINTS | hints)


def test_a_busy_bottleneck_outranks_the_window_but_not_the_application(tmp_path):
    busy = "0,0,transmit,1500,0,90000000\n"
    assert set(labelled(tmp_path, samples(100, cwnd=10), busy)["truth"]) == {"link"}
    idle = samples(100, notsent=0, outq=10 * MSS)
    assert set(labelled(tmp_path, idle, busy)["truth"]) == {"app"}


def test_time_in_which_the_machine_stood_still_is_not_labelled(tmp_path):
    bins = labelled(tmp_path, samples(100, cwnd=10), "12000000,0,stall,0,0,4000000\n")
    assert bins["truth"].tolist() == ["cwnd", "disturbed", "cwnd", "cwnd", "cwnd"]


@pytest.mark.parametrize(
    ("detail", "sample", "hints"),
    [
        ("buffer", {"snd_wnd": 10 * MSS}, {}),
        ("slow reader", {"snd_wnd": 10 * MSS}, {"slow_reader": True}),
        ("zero window", {"snd_wnd": 0}, {"slow_reader": True}),
        ("recovery", {"cwnd": 10, "ca_state": 3}, {}),
        ("avoidance", {"cwnd": 10}, {}),
        ("pacing", {}, {"paced": True}),
        ("small writes", {"notsent": 0}, {"small_writes": True}),
        ("idle", {"notsent": 0}, {}),
    ],
)
def test_details_follow_from_the_kernel_and_the_settings(tmp_path, detail, sample, hints):
    assert set(labelled(tmp_path, samples(60, **sample), "", **hints)["detail"]) == {detail}


def test_slow_start_ends_where_a_clamp_holds_the_window(tmp_path):
    info = samples(100, ssthresh=2**31 - 1, cwnd=10)
    info.loc[60:, "cwnd"] = 20
    info["unacked"] = info["cwnd"]
    assert labelled(tmp_path, info, "")["detail"].tolist() == ["slow start"] * 3 + ["avoidance"] * 2


def test_a_growing_window_is_a_ramp(tmp_path):
    info = samples(200)
    info["snd_wnd"] = [MSS * min(30, 10 + i // 4) for i in range(200)]
    info["outq"] = info["snd_wnd"] + info["notsent"]  # all of it is in flight
    bins = labelled(tmp_path, info, "")
    assert set(bins["truth"]) == {"rwnd"}
    assert bins["detail"].iloc[0] == "ramp"
    assert bins["detail"].iloc[-1] == "buffer"


def test_busy_time_counts_the_parts_of_transmissions_inside():
    link = pd.DataFrame({"t_ns": [0, 100], "direction": 0, "event": "transmit", "duration_ns": [10, 50]})
    assert Busy(link).share(5, 125) == (5 + 25) / 120


def pcap(path, count):
    """Write packets a millisecond apart, each of four bytes that number it."""
    records = b"".join(struct.pack("<5I", 0, i * 1000, 4, 4, i) for i in range(count))
    path.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 96, 1) + records)


def test_a_capture_loses_about_as_much_as_it_is_told(tmp_path):
    path = tmp_path / "a.pcap"
    pcap(path, 20000)
    lost, begin = damage(path, "seed", lose_ppm=10000, burst_packets=5)
    assert begin == 0
    assert len(read(path)[1]) == 20000 - lost
    # 200 bursts of 1 to 9 packets are expected: 1000, with a standard deviation of 200 ** 0.5 * 5.6 = 80.
    assert 680 < lost < 1320


def test_a_capture_begins_late(tmp_path):
    path = tmp_path / "a.pcap"
    pcap(path, 100)
    assert damage(path, "seed", begin_ms=30) == (0, 30_000_000)
    assert read(path)[1][0].time_ns == 30_000_000


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_says_everything_about_a_transfer(kind):
    first, again, other = (KINDS[kind](Draw(seed)) for seed in ("a", "a", "b"))
    assert first == again
    assert first.link != other.link
    assert first.link["delay_us"] > 0
    assert first.link["rate_bps"] > 0
