"""The bytes in flight as the sender knows them: never more than its window allows."""

from __future__ import annotations

import pytest
from observe import observe
from oracles import ROOT
from scenario import CLIENT, HANDSHAKE, scenario

import bdpcap


def test_acknowledgments_that_overtook_others_do_not_hold_them_back():
    flow = bdpcap.analyze(ROOT / "sample_captures/linux61_advwinscale2_w50000.pcap.zst").flows.iloc[0]
    assert flow["vantage"] == "between"
    assert flow["in_flight_max_bytes"] == flow["window_max_bytes"] == 73_552


def test_a_fin_is_not_in_flight():
    text = f"""{HANDSHAKE}
    +.001 > PF. 1:1001(1000) ack 1 win 502
    +.020 < . 1:1(0) ack 1001 win 500
    +.001 < . 1:1(0) ack 1002 win 500
    """
    seen = observe(scenario(text))
    assert seen.capture.flows["in_flight_max_bytes"].iloc[0] == 1000
    assert [row.in_flight_bytes for row in seen.acks(CLIENT)][-2:] == [0, 0]


@pytest.mark.parametrize(("wait", "most"), [(".020", 2000), (".000", 4000)], ids=["away", "at the sender"])
def test_away_from_the_sender_the_flight_stays_within_the_window(wait, most):
    # The capture lacks the acknowledgment of the first two segments, which allowed the next two.
    text = f"""
    0       > S  0:0(0)       win 2000 <mss 1000>
    +0      < S. 0:0(0) ack 1 win 2000 <mss 1000>
    +{wait} > .  1:1(0) ack 1 win 2000
    +.001   > .  1:1001(1000) ack 1 win 2000
    +0      > .  1001:2001(1000) ack 1 win 2000
    +.030   > .  2001:3001(1000) ack 1 win 2000
    +0      > .  3001:4001(1000) ack 1 win 2000
    +.001   < .  1:1(0) ack 4001 win 2000
    """
    assert observe(scenario(text)).capture.flows["in_flight_max_bytes"].iloc[0] == most


def test_the_acknowledgment_that_shows_a_far_tap_is_not_lost():
    # Without a handshake, the echo shows the sender 35 ms away, and this acknowledgment the receiver 121 ms away.
    text = """
    0     < P. 1:510(509)     ack 1    win 502 <TS val 1000 ecr 1>
    +.035 > P. 1:1001(1000)   ack 510  win 502 <TS val 36 ecr 1000>
    +.121 < .  510:510(0)     ack 1001 win 502 <TS val 1121 ecr 36>
    +40   < P. 510:1019(509)  ack 1001 win 502 <TS val 41121 ecr 36>
    +.035 > P. 1001:2001(1000) ack 1019 win 502 <TS val 40036 ecr 41121>
    +.121 < .  1019:1019(0)   ack 2001 win 502 <TS val 41242 ecr 40036>
    """
    seen = observe(scenario(text))
    (flow,) = (row for row in seen.capture.flows.to_dict("records") if row["sender"] == str(CLIENT))
    assert flow["in_flight_max_bytes"] == 1000
    assert flow["longest_stall_ns"] < 1_000_000_000
