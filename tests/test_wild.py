"""Captures of real hosts, read by hand: `verdicts.tsv` beside them says what must come out, and from which packets."""

from __future__ import annotations

import csv
import re

import pytest
from oracles import SHARED

import bdpcap
from bdpcap.explain.findings import Code
from bdpcap.limits.decision import LIMITS

FOLDER = SHARED / "captures/wild"
# Whose checks are tests of their own.
APART = {"hardware_dups", "smb3_multichannel", "pps", "telnet-long-line", "KakaoTalk_chat"}


def verdicts():
    """Rows whose check needs no words."""
    if not FOLDER.is_dir():
        return []
    with (FOLDER / "verdicts.tsv").open(encoding="utf-8") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return [row for row in rows if row["file"].partition(".")[0] not in APART]


@pytest.mark.usefixtures("need_shared")
@pytest.mark.parametrize("row", verdicts(), ids=lambda row: row["file"])
def test_a_capture_read_by_hand(row):
    capture = bdpcap.analyze(FOLDER / row["file"])
    flow = capture.flow(int(row["stream"]), row["sender"]).summary
    check = row["check"]
    if check == "window scale 0 of the handshake stands":
        # Of two SYNs one had no such option (RFC 7323 section 1.3).
        assert flow["window_scale_source"] == "declined"
        return
    found = re.fullmatch(r"(?P<limit>\w+)(?P<leads> leads)?(?:,? >= (?P<share>[\d.]+))?", check)
    assert found, f"no such check: {check}"
    assert found["limit"] in LIMITS
    if found["leads"]:
        assert flow["limit"] == found["limit"]
    assert flow[f"{found['limit']}_share"] >= float(found["share"] or 0)


@pytest.mark.usefixtures("need_shared")
def test_what_was_read_by_hand_is_checked():
    assert len(verdicts()) >= 9


@pytest.mark.usefixtures("need_shared")
def test_the_wait_for_the_answer_to_a_zero_window_probe_is_the_receivers():
    # Window 0 from 9.5 to 31.6 s after the capture's first packet; answers come ticks of 10 ms later.
    capture = bdpcap.analyze(FOLDER / "zwnd.pcap.zst")
    rounds = capture.flow(0, "132.235.3.154:58213").rtts
    begin = (rounds["start_ns"] - capture.info.first_ns) / 1e9
    # Half a second in, it opened for a moment.
    shut = rounds[(begin > 10) & (begin < 31.6)]
    assert (shut["end_ns"] - shut["start_ns"]).sum() > 21e9
    assert set(shut["limit"]) == {"rwnd"}


@pytest.mark.usefixtures("need_shared")
def test_packets_captured_before_and_after_a_router_are_not_sent_again():
    flow = bdpcap.analyze(FOLDER / "hardware_dups.pcap.zst").flow(0, "144.16.64.141:1644").summary
    assert flow["copies"] >= 480  # tshark calls 481 of them retransmissions
    assert flow["retransmitted_bytes"] <= 100
    assert flow["limit"] != "cwnd"


@pytest.mark.usefixtures("need_shared")
def test_acknowledgments_captured_before_their_data_make_no_hole():
    capture = bdpcap.analyze(FOLDER / "smb3_multichannel.pcap.zst")
    assert capture.info.missed_bytes == 0
    assert capture.flows["retransmits"].sum() == 0


@pytest.mark.usefixtures("need_shared")
@pytest.mark.parametrize(
    ("name", "streams"), [("pps.pcap.zst", (58, 60)), ("telnet-long-line.pcapng.zst", (0,))]
)
def test_where_the_acknowledgments_are_missing_nothing_is_judged(name, streams):
    capture = bdpcap.analyze(FOLDER / name)
    for stream in streams:
        flow = capture.flow(stream)
        assert flow.summary["limit"] == "unknown"
        assert [finding.code for finding in flow.findings] == [Code.CAPTURE_INCOMPLETE]
        assert stream not in {scale.stream for scale in capture.scales}


@pytest.mark.usefixtures("need_shared")
def test_a_syn_ack_that_comes_again_with_another_number_is_not_sent_data():
    flow = bdpcap.analyze(FOLDER / "KakaoTalk_chat.pcap.zst").flow(2).summary
    assert flow["in_flight_max_bytes"] <= flow["payload_bytes"] == 3722


@pytest.mark.usefixtures("need_shared")
def test_info_counts_the_retries_of_a_wifi_link():
    # tshark 4.0 finds 91 frames with `wlan.fc.retry == 1 && tcp`, and 2 of its 406 with TCP are ICMP messages.
    info = bdpcap.analyze(SHARED / "captures/wild_b/kurose_80211.pcap.zst").info
    assert (info.wifi_segments, info.wifi_retries) == (404, 91)
    wired = bdpcap.analyze(FOLDER / "zwnd.pcap.zst").info
    assert (wired.wifi_segments, wired.wifi_retries) == (0, 0)
