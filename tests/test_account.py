"""The sending kernel's account decides where it can, and only there."""

import io
import json

import numpy as np
import pandas as pd
import pytest
import zstandard
from by_hand import MS, known
from labelled import read_labels
from oracles import SHARED, TESTS

import bdpcap
from bdpcap import host, report, tables
from bdpcap.host import ss
from bdpcap.host.rounds import around
from bdpcap.limits.confidence import ACCOUNT
from bdpcap.limits.decide import decide, explain

ROOM = {"kernel.room_share": 1, "kernel.full_share": 0, "kernel.unsent_share": 0, "kernel.window_share": 0}
FULL = ROOM | {"kernel.room_share": 0, "kernel.full_share": 1}
UNSENT = ROOM | {"kernel.room_share": 0, "kernel.unsent_share": 1}
WINDOW = UNSENT | {"kernel.window_share": 1}
BLOCKED = ROOM | {"kernel.room_share": 0.5, "kernel.full_share": 0.5, "kernel.blocked_share": 0.95}
MIXED = ROOM | {"kernel.room_share": 0.5, "kernel.unsent_share": 0.5}
"""What samples may show: the state of all of them, and the clocks."""

BY_PACKETS = {
    "idle": {"writes.over": True, "writes.finished": True},
    "app": {"writes.drained": True, "window.closed_share": 0},
    "link": {"queue.always_packets": 99, "queue.least_rtt": 9, "queue.share": 1, "rate.utilization": 0.9},
    "rwnd": {"window.full_share": 1, "rate.over_initial": 1},
    "cwnd": {"flight.doubling": True},
    "unknown": {},
}
"""Quantities by which the rules about packets decide for a limit."""


def judged(limit, account):
    """Return the verdict on one round that packets give to `limit`, with what the kernel counted."""
    assert decide(known(BY_PACKETS[limit])).limit[0] == limit
    evidence = known(BY_PACKETS[limit] | account, account=True)
    return decide(evidence), evidence


@pytest.mark.parametrize(
    ("account", "limit", "stays"),
    [
        (ROOM, "app", {"idle"}),  # a program that offers nothing is not held by the link
        (FULL, "sndbuf", {"idle", "link"}),
        (BLOCKED, "sndbuf", {"idle", "link"}),
        (UNSENT, "cwnd", {"idle", "link"}),
        (WINDOW, "rwnd", {"idle", "link"}),  # no larger window would help at a busy link
    ],
    ids=["room", "full", "blocked", "unsent", "window"],
)
@pytest.mark.parametrize("packets", BY_PACKETS)
def test_the_account_outranks_what_it_can_see(account, limit, stays, packets):
    verdict, evidence = judged(packets, account)
    (words,) = explain(evidence, verdict)
    if packets in stays:
        assert (verdict.limit[0], verdict.overruled[0]) == (packets, -1)
        assert "kernel" not in words
        return
    assert (verdict.limit[0], verdict.confidence[0]) == (limit, ACCOUNT)
    assert "The sending kernel" in words
    assert ("The capture alone suggested" in words) == (packets not in (limit, "unknown"))
    # Where both agree, the rule about packets shows more.
    assert verdict.rule[0].startswith("kernel-") == (packets != limit)


@pytest.mark.parametrize("packets", BY_PACKETS)
def test_samples_that_disagree_decide_nothing(packets):
    assert judged(packets, MIXED)[0].limit[0] == packets


def test_a_kernel_does_not_see_the_link():
    """Unsent data may wait for a busy link that the packets do not show."""
    assert judged("app", UNSENT)[0].alternative[0] == "link"
    assert judged("cwnd", UNSENT)[0].alternative[0] is None


# Counters around a round

MSS = 1000


def samples(unsent, **columns):
    """Return samples of one connection every 10 ms, from 0, with that many bytes unsent at each."""
    count = len(unsent)
    table = pd.DataFrame({name: pd.array([None] * count, dtype="Int64") for name in tables.HOST})
    given = {
        "not_sent_bytes": unsent,
        "time_ns": range(0, 10 * count * MS, 10 * MS),
        "mss_bytes": [MSS] * count,
    }
    return table.assign(**{name: list(values) for name, values in (given | columns).items()})


def one_round(table, start_ms, end_ms):
    found = around(table, np.array([start_ms * MS]), np.array([end_ms * MS]))
    return {name: value for name, (value,) in found.items()}


def test_four_samples_on_either_side_of_a_round_count():
    unsent = [0] * 6 + [MSS] * 8 + [0] * 6  # from 60 to 130 ms
    assert one_round(samples(unsent), 92, 98)["unsent_share"] == 1
    assert one_round(samples(unsent), 82, 98)["unsent_share"] == 8 / 9
    assert one_round(samples(unsent), 2, 8)["unsent_share"] == 0


def test_the_rest_of_a_write_waits_for_no_window():
    """Nagle's algorithm holds less than a segment back (RFC 1122 section 4.2.3.4)."""
    assert one_round(samples([MSS - 1] * 20), 92, 98)["unsent_share"] == 0


def test_a_buffer_has_room_up_to_two_thirds():
    """Linux wakes a writer when a third of the buffer is free (sk_stream_write_space)."""
    size = {"buffer_bytes": [30_000] * 20}
    assert one_round(samples([0] * 20, buffer_used_bytes=[20_000] * 20, **size), 92, 98)["room_share"] == 1
    assert one_round(samples([0] * 20, buffer_used_bytes=[20_001] * 20, **size), 92, 98)["full_share"] == 1


def test_a_clock_is_read_as_a_share_of_time():
    clock = [min(max(0, at - 50), 100) * MS for at in range(0, 200, 10)]  # it runs from 50 to 150 ms
    table = samples([0] * 20, rwnd_limited_ns=clock)
    assert one_round(table, 92, 98)["window_share"] == 1
    assert one_round(table, 2, 8)["window_share"] == 0


@pytest.mark.parametrize("span", [(-20, -10), (-5, 5), (185, 195), (300, 310)])
def test_nothing_is_known_outside_the_samples(span):
    assert all(np.isnan(value) for value in one_round(samples([MSS] * 20), *span).values())


def test_what_was_not_sampled_is_not_known():
    assert all(
        np.isnan(value) for value in one_round(samples([None] * 20, mss_bytes=[None] * 20), 92, 98).values()
    )
    assert np.isnan(one_round(samples([]), 92, 98)["unsent"])


def test_a_sample_without_the_counter_leaves_the_others_undecided():
    assert np.isnan(one_round(samples([MSS] * 9 + [None] + [MSS] * 10), 92, 98)["unsent_share"])


def test_ss_leaves_out_that_nothing_is_unsent():
    (sample,) = ss.read(
        iter(["1795388643.2", "ESTAB 0 0 10.0.0.1:1 10.0.0.2:2", "\t cubic cwnd:10 busy:4ms"])
    ).samples
    assert sample.said["not_sent_bytes"] == 0


def test_ss_shows_the_send_buffer():
    memory = "skmem:(r0,rb131072,t0,tb46080,f3384,w17096,o0,bl0,d0)"
    (sample,) = ss.read(
        iter(["1795388643.2", "ESTAB 0 9 10.0.0.1:1 10.0.0.2:2", f"\t {memory} cubic cwnd:10"])
    ).samples
    assert (sample.said["buffer_bytes"], sample.said["buffer_used_bytes"]) == (46_080, 17_096)


# Whole transfers

HOST = TESTS / "data" / "host"
"""Recorded by lab/account.py."""


def test_the_account_names_a_program_that_looks_like_a_send_buffer():
    """It writes 30,000 bytes every 31 ms, with Nagle; the RTT is 30 ms."""
    account = host.read([HOST / "timer" / "ss.log"])
    (flow,) = bdpcap.analyze(HOST / "timer" / "sender.pcap.zst", host=account)
    assert flow.summary["limit"] == "app"
    # A sample every 0.1 s: the first and the last rounds of three seconds have none before or after them.
    assert flow.summary["app_share"] > 0.8
    assert flow.findings[0].sentence.startswith("The sending application")


def test_the_report_names_what_the_account_overrules(tmp_path):
    """The log claims a full buffer all the time; for half of it, the capture shows a full receive window."""
    begin = int(bdpcap.analyze(HOST / "sender.pcap.zst").info.first_ns)
    lines = []
    for time in range(begin, begin + 3_200 * MS, 20 * MS):
        lines += [
            f"{time // 10**9}.{time % 10**9:09}",
            "ESTAB 0 0 192.168.1.3:43970 192.168.1.34:5001",
            "\t skmem:(r0,tb100000,w99000) cubic mss:1448 cwnd:90 busy:3000ms",
        ]
    path = tmp_path / "ss.log"
    path.write_text("\n".join(lines))
    (flow,) = capture = bdpcap.analyze(HOST / "sender.pcap.zst", host=host.read([path]))
    assert flow.summary["sndbuf_share"] > 0.9
    said = "the capture alone suggested receive window; the sending kernel's counters show send buffer."
    assert said in flow.verdict
    assert said in " ".join(report.text(capture).split())
    # The comparison with the host stays one of the capture alone.
    assert host.compare(flow).rwnd_share == pytest.approx(0.5, abs=0.06)


def log(samples, sender, receiver):
    """Return what `ss -tinm` would have shown every 20 ms, from the samples of a lab."""
    lines = []
    for row in samples.groupby(samples["t_ns"] // 20_000_000).first().itertuples():
        seconds, rest = divmod(row.t_ns, 10**9)
        clocks = {"busy": row.busy_us, "rwnd_limited": row.rwnd_us, "sndbuf_limited": row.sndbuf_us}
        lines += [
            f"{seconds}.{rest:09}",
            f"ESTAB 0 {row.outq} {sender} {receiver}",
            f"\t skmem:(r0,tb{row.sndbuf},w{row.wmemq}) cubic mss:{row.snd_mss} cwnd:{row.cwnd} "
            f"notsent:{row.notsent} " + " ".join(f"{name}:{us // 1000}ms" for name, us in clocks.items()),
        ]
    return "\n".join(lines)


@pytest.mark.usefixtures("need_shared")
@pytest.mark.parametrize("name", ["c_wmem_socat", "c_wmem_curl_put", "c_wmem_iperf3"])
def test_what_the_account_overrules_the_label_confirms(name, tmp_path):
    """The kernel was sampled every 0.6 ms for the label, with the sleep of each writer; the log has a 30th of that."""
    folder = SHARED / "captures" / "apps" / name
    (flow,) = json.loads((folder / "meta.json").read_text())["flows"]
    packed = (folder / flow["truth"].replace("truth", "info").replace(".csv", ".csv.zst")).read_bytes()
    samples = pd.read_csv(io.BytesIO(zstandard.decompress(packed, max_output_size=1 << 28)))
    path = tmp_path / "ss.log"
    path.write_text(log(samples, flow["sender"], flow["receiver"]))
    capture = bdpcap.analyze(folder / "middle.pcap.zst", host=host.read([path]))
    rounds = capture.flow(flow["sender"], flow["receiver"]).rtts
    labels = read_labels(folder / flow["truth"]).query("graded")
    overruled = rounds[rounds["overruled"].notna()]
    right = whole = 0
    for begin, end, limit in zip(overruled["start_ns"], overruled["end_ns"], overruled["limit"], strict=True):
        lasting = np.minimum(labels["t1"], end) - np.maximum(labels["t0"], begin)
        right += lasting[(lasting > 0) & (labels["truth"] == limit)].sum()
        whole += lasting[lasting > 0].sum()
    assert whole > 0
    assert right / whole > 0.95  # a bin at a change of the limit may be the neighbour's
