"""The lab's own judgement: labels of samples whose cause is plain, and what is done to captures."""

from __future__ import annotations

import struct

import pandas as pd
import pytest
from apps.blocked import NO, UNDECIDED, YES, blocked
from apps.label import label_flow
from apps.programs import SCENARIOS
from apps.scenario import draw
from damage import damage, read
from draw import Draw
from kinds import KINDS
from samples import states
from truth import Busy, label
from vm.machine import script
from vm.router import transmissions
from vm.transfers import TRANSFERS

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


@pytest.mark.parametrize(
    ("state", "changes"),
    {
        "nagle": {},
        "sndbuf": {"blocked": 1},
        "rwnd": {"snd_wnd": 10 * MSS + 50},  # the rest does not fit
        "cwnd": {"cwnd": 10},
    }.items(),
)
def test_a_rest_that_nagle_holds_back_is_neither_window(state, changes):
    rest = samples(**({"notsent": 100, "outq": 10 * MSS + 100} | changes))
    assert states(rest).tolist() == [state]


HINTS = {"paced": False, "own_pace": False, "slow_reader": False, "small_writes": False}
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


@pytest.mark.parametrize(("own_pace", "truth"), [(True, "app"), (False, "nagle")])
def test_a_rest_that_nagle_holds_back_is_all_that_a_writer_at_its_own_pace_has(tmp_path, own_pace, truth):
    rest = samples(100, notsent=500, outq=10 * MSS + 500)
    assert set(labelled(tmp_path, rest, "", own_pace=own_pace)["truth"]) == {truth}


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


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith(("mtu_", "jumbo_"))])
def test_a_route_carries_less_than_both_handshakes_say(kind):
    transfer = KINDS[kind](Draw("a"))
    words = transfer.route.split()
    route = dict(zip(words[::2], words[1::2], strict=True))
    headers = 40  # IPv4 and TCP without options
    assert int(route["advmss"]) + headers == transfer.host_mtu
    assert int(route["mtu"]) < transfer.host_mtu


FLOW = NEUTRAL | {
    "wmem_queued": 100,
    "sndbuf": 30000,
    "sndbuf_us": 0,
    "bytes_acked": 0,
    "bytes_sent": 10 * MSS,
    "total_retrans": 0,
    "writer": "other",
}


def flow(writers, **changes):
    """Samples of a connection, one for each word of what its writer does; all that was written is in flight."""
    alone = {"notsent": 0, "outq": 10 * MSS}
    table = pd.DataFrame([{"t_ns": i * 500_000} | FLOW | alone for i in range(len(writers))])
    return table.assign(writer=writers, **changes)


@pytest.mark.parametrize(
    ("writers", "waits"),
    {
        ("other", "write", "poll", "running", "running", "other"): [NO, YES, YES, YES, YES, NO],
        ("running", "nobody", "edge"): [NO, NO, NO],
    }.items(),
)
def test_a_writer_asleep_for_room_or_just_woken_waits(writers, waits):
    assert blocked(flow(writers)).tolist() == waits


def test_a_woken_writer_waits_until_it_has_written():
    outq = [10 * MSS, 10 * MSS, 11 * MSS, 11 * MSS]
    waits = blocked(flow(["write", "running", "running", "running"], outq=outq))
    assert waits.tolist() == [YES, YES, NO, NO]


@pytest.mark.parametrize(
    ("queued", "outq_after", "waits"),
    [
        (30000, 12 * MSS, YES),
        (30000, 10 * MSS, UNDECIDED),
        (25000, 12 * MSS, UNDECIDED),
        (25000, 10 * MSS, NO),
    ],
)
def test_edges_tell_only_by_a_full_buffer_and_a_prompt_write(queued, outq_after, waits):
    queue = [queued] * 5 + [0] * 5
    outq = [10 * MSS] * 6 + [outq_after] * 4
    table = flow(["edge"] * 10, wmem_queued=queue, outq=outq)
    assert blocked(table).tolist() == [waits] * 5 + [NO] * 5


@pytest.mark.parametrize(
    ("truth", "writer", "changes"),
    [
        ("sndbuf", "write", {}),
        ("app", "other", {}),
        ("undec", "edge", {"wmem_queued": 30000}),
        ("nagle", "other", {"notsent": 100, "outq": 10 * MSS + 100}),
        ("sndbuf", "write", {"notsent": 100, "outq": 10 * MSS + 100}),
        ("cwnd", "write", {"notsent": 100, "outq": 10 * MSS + 100, "cwnd": 10}),
    ],
)
def test_labels_of_an_application(truth, writer, changes):
    idle = Busy(pd.DataFrame({"t_ns": [0], "direction": 0, "event": "transmit", "duration_ns": [1]}))
    bins = label_flow(flow([writer] * 60, **changes), idle, [], 1e6, paced=False)
    assert set(bins["truth"]) == {truth}


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_seed_says_everything_about_a_scenario(name):
    scenario = SCENARIOS[name]
    first, again = draw(scenario, "a"), draw(scenario, "a")
    assert first == again
    assert first != draw(scenario, "b")
    here = {"place": "", "python": "", "writers": ""}
    for program in (scenario.client, *scenario.servers, *scenario.before):
        assert "{" not in program.command.format(**first[0], **here)


def router_capture(path, packets):
    """Write packets of the sender, given as microseconds and a number that tells them apart; 1000 bytes on the wire."""
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 96, 1)
    frames = [(at, bytes(26) + bytes((192, 168, 1, 3, number))) for at, number in packets]
    path.write_bytes(header + b"".join(struct.pack("<4I", 0, at, len(f), 1000) + f for at, f in frames))


def test_a_bottleneck_is_busy_while_packets_are_inside_and_as_long_as_its_rate_asks(tmp_path):
    router_capture(tmp_path / "in", [(0, 1), (100, 2), (9000, 3)])
    router_capture(tmp_path / "out", [(0, 1), (2500, 2), (9000, 3)])
    sent = transmissions(tmp_path / "in", tmp_path / "out", 8e6)  # a packet a millisecond
    begin = (sent["t_ns"] // 1000).tolist()
    end = ((sent["t_ns"] + sent["duration_ns"]) // 1000).tolist()
    assert list(zip(begin, end, strict=True)) == [(0, 3500), (9000, 10000)]


@pytest.mark.parametrize("name", TRANSFERS)
def test_a_transfer_of_the_virtual_machine_is_written_out(name):
    values, transfer = draw(TRANSFERS[name], "a")
    lines = script(name, TRANSFERS[name], values, transfer.route)
    assert "{" not in lines
    assert ("lock '" in lines) == ("clamp" in name)
