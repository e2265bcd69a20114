"""Why segments were sent again: against what the sending kernel counted, and against tshark.

`tests/data/retransmissions` holds transfers of `lab/retransmissions.py`, with the counters of the sending host.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import zstandard
from conftest import unavailable
from dialogues import analysed
from hypothesis import given
from observe import observe
from oracles import KEPT, SAMPLES
from scenario import CLIENT, HANDSHAKE, SERVER, scenario
from strategies import captures

import bdpcap
from bdpcap.explain import sent_again
from bdpcap.explain.findings import Code
from bdpcap.limits import classify

TRANSFERS = sorted(path.name for path in (KEPT / "retransmissions").iterdir())
KINDS = ["fast_retransmits", "timeout_retransmits", "tail_loss_probes", "unexplained_retransmits"]


@cache
def transfer(name, view="sender"):
    return bdpcap.analyze(KEPT / "retransmissions" / name / f"{view}.pcap.zst")


def counted(name):
    """What the kernel counted, and what of it were SYNs."""
    meta = json.loads((KEPT / "retransmissions" / name / "meta.json").read_text())
    kernel = SimpleNamespace(**meta["sender_counted"])
    kernel.syns = int(transfer(name).connections["syns"].iloc[0]) - 1
    return kernel


@pytest.mark.parametrize("name", TRANSFERS)
def test_at_the_sender_the_counts_are_the_kernels(name):
    flow, kernel = transfer(name).flows.iloc[0], counted(name)
    # The kernel's timer sends SYNs again, too; they carry no payload and are no retransmissions of the flow.
    assert flow["retransmits"] == kernel.RetransSegs - kernel.syns
    assert flow["fast_retransmits"] == kernel.TCPFastRetrans
    assert flow["timeouts"] == kernel.TCPTimeouts - kernel.syns
    # Each timeout sends one segment; what follows it is counted as of the slow start.
    assert flow["timeout_retransmits"] == kernel.TCPSlowStartRetrans + flow["timeouts"]
    # A probe may be new data, which is no retransmission.
    assert flow["tail_loss_probes"] <= kernel.TCPLossProbes
    assert flow["unexplained_retransmits"] == 0
    assert flow["spurious_retransmits"] == kernel.TCPDSACKRecv + kernel.TCPDSACKOfoRecv


def test_the_transfers_show_every_cause():
    shown = {cause for name in TRANSFERS for cause in transfer(name).flow(0).events["cause"].dropna()}
    assert shown == {"fast retransmit", "timeout", "after timeout", "tail loss probe"}


@pytest.mark.parametrize("name", TRANSFERS)
def test_the_receivers_capture_tells_the_same_causes(name):
    sent, came = (transfer(name, view).flow(0).events for view in ("sender", "receiver"))
    sent, came = (rows[rows["cause"].notna()] for rows in (sent, came))
    causes = sent.groupby("sequence")["cause"].agg(set)
    # What an outage took whole is new where it arrives late: then the timeout that it was sent by does not show, and
    # what follows looks like the fast retransmission that is sent in the same way.
    unseen = {"after timeout"} if name == "outages" else set()
    for row in came.itertuples():
        known = causes[row.sequence]
        assert row.cause in known or known & unseen, row


@pytest.mark.parametrize("name", TRANSFERS)
def test_events_flows_and_rounds_count_the_same(name):
    capture = transfer(name)
    flow, events = capture.flows.iloc[0], capture.flow(0).events
    by_cause = events["cause"].value_counts()
    assert flow["retransmits"] == capture.rtts["retransmits"].sum() == by_cause.sum()
    assert flow["timeouts"] == by_cause.get("timeout", 0)
    assert set(events.loc[events["cause"].notna(), "kind"]) == {"retransmission"}


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_kinds_sum_to_the_retransmissions_of_samples(path):
    flows = bdpcap.analyze(path).flows
    assert (flows[KINDS].sum(axis=1) == flows["retransmits"]).all()
    assert (flows["spurious_retransmits"] <= flows["retransmits"]).all()


@given(captures())
def test_kinds_sum_to_the_retransmissions_of_any_flow(capture):
    flows = observe(capture.packets).capture.flows
    assert (flows[KINDS].sum(axis=1) == flows["retransmits"]).all()
    assert (flows["spurious_retransmits"] <= flows["retransmits"]).all()


@pytest.mark.usefixtures("need_tshark")
@pytest.mark.parametrize("name", TRANSFERS)
def test_tshark_finds_the_same_segments_sent_again(name):
    again = ("retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order")
    shown = " or ".join(f"tcp.analysis.{kind}" for kind in again)
    fields = ["-T", "fields", "-e", "frame.number", "-e", "tcp.analysis.fast_retransmission"]
    path = KEPT / "retransmissions" / name / "sender.pcap.zst"
    command = ["tshark", "-n", "-r", str(path), "-Y", f"tcp.len > 0 and ({shown})", *fields]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    theirs = {int(line.split("\t")[0]): bool(line.split("\t")[1]) for line in said.splitlines()}
    events = transfer(name).flow(0).events
    ours = events[events["cause"].notna()].set_index("frame")["cause"]
    assert set(ours.index) == set(theirs)
    # It calls fast whatever follows two duplicate acknowledgments within 20 ms, during a recovery by timeout as well;
    # the kernel's counters say which is right. The second timeout without SACK came among duplicates, too.
    fast = {ours[frame] for frame, fast in theirs.items() if fast}
    timed = {"after timeout", "timeout"} if name == "loss_without_sack" else {"after timeout"}
    assert fast <= {"fast retransmit"} | timed


@pytest.mark.parametrize("name", TRANSFERS)
def test_tcptrace_counts_the_same_segments(name, tmp_path):
    if not shutil.which("tcptrace"):
        unavailable("tcptrace")
    plain = tmp_path / "sender.pcap"
    packed = (KEPT / "retransmissions" / name / "sender.pcap.zst").read_bytes()
    plain.write_bytes(zstandard.ZstdDecompressor().decompressobj().decompress(packed))
    said = subprocess.run(
        ["tcptrace", "-n", "-l", str(plain)], capture_output=True, text=True, check=True, timeout=60
    )
    most = max(int(count) for count in re.findall(r"rexmt data pkts:\s+(\d+)", said.stdout))
    # It counts a SYN among data.
    assert most == transfer(name).flows["retransmits"].iloc[0] + counted(name).syns


def test_a_packet_captured_twice_is_a_copy_and_no_retransmission():
    seen = observe(
        scenario(
            HANDSHAKE
            + """
    +.001 > P. 1:1001(1000) ack 1 win 502 id 500
    +.0001 > P. 1:1001(1000) ack 1 win 502 id 500
    +.020 < . 1:1(0) ack 1001 win 500
    """
        )
    )
    flow = seen.capture.flows.iloc[0]
    assert (flow["copies"], flow["retransmits"]) == (1, 0)
    assert [row.kind for row in seen.sent(CLIENT)][-2:] == ["data", "duplicate"]


OUTAGE = """
    +.001 > P. 1:1001(1000) ack 1 win 502
    +.020 < . 1:1(0) ack 1001 win 500
    +.001 > P. 1001:2001(1000) ack 1 win 502
    +.200 > P. 1001:2001(1000) ack 1 win 502
    +.400 > P. 1001:2001(1000) ack 1 win 502
    +.800 > P. 1001:2001(1000) ack 1 win 502
    +.020 < . 1:1(0) ack 2001 win 500
    +3    > P. 2001:3001(1000) ack 1 win 502
    +.020 < . 1:1(0) ack 3001 win 500
    """


def test_the_longest_stall_is_the_longest_wait_for_an_acknowledgment_of_new_data():
    # The pause of 3 s with nothing in flight is none.
    flow = observe(scenario(HANDSHAKE + OUTAGE)).capture.flows.iloc[0]
    assert flow["longest_stall_ns"] == 1_420_000_000


def test_a_timer_that_backs_off_is_an_outage():
    rounds = observe(scenario(HANDSHAKE + OUTAGE)).capture.rtts
    longest = rounds[rounds["retransmits"] > 0].iloc[0]
    assert (longest["limit"], longest["detail"]) == ("cwnd", "outage")


def test_one_segment_again_and_again_is_an_outage_without_any_acknowledgment_in_the_capture():
    text = """
    0     > P. 1:1001(1000) ack 1 win 502
    +.200 > P. 1:1001(1000) ack 1 win 502
    +.400 > P. 1:1001(1000) ack 1 win 502
    +.800 > P. 1:1001(1000) ack 1 win 502
    """
    flow = observe(scenario(text)).capture.flows.iloc[0]
    assert (flow["limit"], flow["cwnd_share"]) == ("cwnd", 1.0)
    assert flow.isna()["longest_stall_ns"]


def test_an_outage_is_told_with_its_cost():
    told = {finding.code: finding for finding in transfer("outages").flow(0).findings}[Code.TIMEOUTS]
    assert told.values["timeouts"] == 3
    # The kernel's timer waits 200 ms at least and doubles; each outage of 350 ms takes one or two of them.
    assert 3 * 200e6 <= told.values["timeout_wait_ns"] <= 3 * 800e6


def test_loss_that_acknowledgments_repair_is_not_told_as_timeouts():
    assert Code.TIMEOUTS not in {finding.code for finding in transfer("loss").flow(0).findings}


def test_next_to_the_receiver_a_second_copy_had_no_need():
    """The acknowledgment is later than the sender's timer, and no D-SACK follows: the first copy is in the capture."""
    # The client's own answers take 0.1 ms, the server's packets 20 ms.
    text = """
    0      > S  0:0(0)       win 64240 <mss 1460>
    +.02   < S. 0:0(0) ack 1 win 65535 <mss 1460>
    +.0001 > .  1:1(0) ack 1 win 502
    +.001  > P. 1:101(100) ack 1 win 502
    +.02   < .  1:101(100) ack 101 win 500
    +.0001 > .  101:101(0) ack 101 win 502
    """
    sent = 101
    for _ in range(4):
        text += f"""
    +.3    < P. {sent}:{sent + 100}(100) ack 101 win 500
    +.1    < P. {sent}:{sent + 100}(100) ack 101 win 500
    +.0001 > .  101:101(0) ack {sent + 100} win 502
    """
        sent += 100
    summary = analysed(text).flow(0, str(SERVER)).summary
    assert summary["vantage"] == "receiver"
    assert (summary["retransmits"], summary["spurious_retransmits"]) == (4, 4)


@pytest.mark.parametrize(("twice", "needless"), [(4, 0), (0, 3)])
def test_reports_of_doubled_packets_make_no_retransmission_needless(twice, needless):
    """RFC 2883: a receiver reports a second copy, of a retransmission or of a packet that the network doubled."""
    flows = {
        "vantage": np.array(["receiver", "sender"]),
        "retransmits": np.array([3, 3]),
        "lost_before_tap": np.array([3, 0]),
        "spurious_retransmits": np.array([3, 3]),
        "delivered_twice": np.array([twice, twice]),
    }
    # Away from the receiver, its reports are all that is known.
    assert classify._needless(flows).tolist() == [needless, 3]


def test_what_is_sent_three_times_is_two_thirds_retransmissions():
    assert sent_again.of_sent(2000, 1000) == 2 / 3
    assert sent_again.of_sent(0, 0) == 0


@pytest.mark.parametrize(
    ("packets", "largest", "said"),
    [
        (10, 1000, " (2 of 13 packets)"),  # 3 were lost before the capture
        (10, 2000, ""),  # a packet of two segments is retransmitted as two
        (12, 1000, ""),  # two or more are acknowledgments
    ],
)
def test_packets_are_counted_where_they_say_what_the_bytes_say(packets, largest, said):
    flow = SimpleNamespace(
        summary={
            "retransmitted_bytes": 2000,
            "payload_bytes": 8000,
            "retransmits": 2,
            "packets": packets,
            "mss_bytes": 1000,
        },
        _counts={"largest_bytes": largest, "lost_before_tap": 3},
    )
    assert sent_again.of_flow(flow) == f"20 % of the bytes sent were retransmissions{said}"


def test_a_report_of_a_packet_that_was_sent_after_its_acknowledgment_counts_it_once():
    flow = analysed(f"""{HANDSHAKE}
    +.001 > . 1:1001(1000) ack 1 win 502
    +0    > . 1001:2001(1000) ack 1 win 502
    +.020 < . 1:1(0) ack 1 win 500 <sack 1001:2001>
    +.300 > . 1:1001(1000) ack 1 win 502    # the first copy was lost
    +.020 < . 1:1(0) ack 2001 win 500
    +.100 > . 1:1001(1000) ack 1 win 502    # it had arrived
    +.020 < . 1:1(0) ack 2001 win 500 <sack 1:1001>
    """).flow(0)
    assert (flow.summary["retransmits"], flow.summary["spurious_retransmits"]) == (2, 1)


@pytest.mark.parametrize(("arrived", "needless"), [(6, False), (8, True)])
def test_delay_is_named_only_where_most_that_was_sent_again_had_arrived(arrived, needless):
    # Packets lost at the end of a flight are waited for, too, and show no hole.
    summary = {"retransmits": 10, "spurious_retransmits": arrived}
    assert sent_again.mostly_needless(SimpleNamespace(summary=summary)) == needless
