"""The bytes in flight as the sender knows them: never more than its window allows."""

from __future__ import annotations

from oracles import ROOT

import bdpcap


def test_acknowledgments_that_overtook_others_do_not_hold_them_back():
    flow = bdpcap.analyze(ROOT / "sample_captures/linux61_advwinscale2_w50000.pcap.zst").flows.iloc[0]
    assert flow["vantage"] == "between"
    assert flow["in_flight_max_bytes"] == flow["window_max_bytes"] == 73_552
