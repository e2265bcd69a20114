"""What is told of a flow agrees with itself: checked by scenarios, and over every capture there is."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from itertools import chain

import pandas as pd
import pytest
from oracles import ROOT, SAMPLES, SHARED
from small_transfer import write_pcap

import bdpcap
from bdpcap.diagnosis.findings import findings
from bdpcap.explain.capacity import Basis, basis
from bdpcap.explain.findings import Code, Finding, receive, tap
from bdpcap.report import ranking, verdict

FLOWS = 20
"""Most flows of a capture that are looked at: those that matter most."""
PARTS = 8
"""Every capture is in one of so many parts, each a test, so that several processes share the work."""
LABELLED = 6
"""Of the labelled transfers every sixth is looked at; they differ in little that findings depend on."""

SAYS_NOTHING = re.compile(
    r"\b(nan|inf|None|NaT|NaN)\b|<NA>|(?<![\d.,])0 (ns|bit/s|bytes (in flight|of window|\(the BDP\)))|SO_RCVBUF of 0\b"
    r"|(?<![\w.,])-\d"
)
"""What no sentence holds: missing or infinite numbers, nothing told as a figure, numbers below zero."""


RATES = dict.fromkeys(("capacity_bps", "capacity_low_bps", "capacity_high_bps"), 10e6)
"""A path whose bursts agree on its rate."""


def told(sample, **values):
    """Return the values of findings on a sample's flow whose row of the table has other values, by code."""
    flow = bdpcap.analyze(ROOT / "sample_captures" / sample).flow(0)
    changed = type(flow)(flow.capture, pd.Series({**flow.summary, **RATES, "link_share": 0, **values}))
    return {one.code: one.values for one in findings(changed)}  # noqa: PD011  a dict


WINDOW_LIMITED, SEND_LIMITED = "linux61_advwinscale2_w50000.pcap.zst", "sndbuf_24k_15ms.sender.pcap.zst"


def test_a_window_below_the_bdp_is_below_it():
    window = told(WINDOW_LIMITED, bdp_bytes=500_000)[Code.WINDOW_BELOW_BDP]["window_bytes"]
    assert Code.WINDOW_BELOW_BDP in told(WINDOW_LIMITED, bdp_bytes=window + 1)
    assert Code.WINDOW_BELOW_BDP not in told(WINDOW_LIMITED, bdp_bytes=window)
    assert Code.WINDOW_BELOW_BDP in told(WINDOW_LIMITED, bdp_bytes=None)
    # A lower bound of the BDP contradicts nothing.
    assert Code.WINDOW_BELOW_BDP in told(WINDOW_LIMITED, bdp_bytes=window, capacity_high_bps=None)


def test_a_window_too_small_leaves_no_queue_of_its_own():
    queue = {"rtt_min_ns": 40_000_000, "rtt_median_ns": 100_000_000, "bdp_bytes": 50_000}
    assert {Code.QUEUE_STANDING, Code.WINDOW_BELOW_BDP} & set(told(WINDOW_LIMITED, **queue)) == {
        Code.QUEUE_STANDING
    }
    bound = {"capacity_high_bps": None}
    assert {Code.QUEUE_STANDING, Code.WINDOW_BELOW_BDP} & set(told(WINDOW_LIMITED, **queue, **bound)) == {
        Code.WINDOW_BELOW_BDP
    }


def test_a_send_buffer_holds_the_sender_only_where_the_window_had_room():
    flight = told(SEND_LIMITED, window_max_bytes=1 << 20)[Code.SEND_BUFFER]["flight_bytes"]
    assert Code.SEND_BUFFER in told(SEND_LIMITED, window_max_bytes=flight + 1)
    assert Code.SEND_BUFFER not in told(SEND_LIMITED, window_max_bytes=flight)
    assert Code.SEND_BUFFER in told(SEND_LIMITED, window_max_bytes=None)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -1, -0.5])
def test_a_finding_whose_number_is_none_is_not_shown(number, tmp_path, monkeypatch):
    flow = bdpcap.analyze(write_pcap(tmp_path / "transfer.pcap")).flow(0)
    made = Finding(Code.OFFLOAD, "It is so.", "There is a cause.", values={"largest_bytes": number})
    monkeypatch.setattr(tap, "explains", lambda _: [made])
    assert made not in findings(flow)
    whole = replace(made, values={"largest_bytes": 1})
    monkeypatch.setattr(tap, "explains", lambda _: [whole])
    assert whole in findings(flow)


def test_a_part_that_fails_leaves_the_others(tmp_path, monkeypatch):
    flow = bdpcap.analyze(write_pcap(tmp_path / "transfer.pcap")).flow(0)
    whole = flow.findings
    monkeypatch.setattr(receive, "explains", lambda *_: 1 // 0)
    others = findings(flow)
    (left_out,) = [one for one in others if one.code is Code.LEFT_OUT]
    assert left_out.sentence == (
        "The part on the receive window was left out: ZeroDivisionError: integer division or modulo by zero."
    )
    assert {one.code for one in others} - {Code.LEFT_OUT} <= {one.code for one in whole}


def captures(part):
    """Return every capture of one part."""
    folder = SHARED / "captures"
    real = [path for name in ("public", "stress", "wild", "seed") for path in (folder / name).rglob("*")]
    labelled = [
        path for name in ("lab", "lab_b", "apps", "linux61") for path in (folder / name).rglob("*.pcap*")
    ]
    ours = SAMPLES
    every = chain(sorted(real), sorted(labelled)[::LABELLED], ours)
    known = (
        path
        for path in every
        if path.is_file() and path.suffix not in {".md", ".tsv", ".txt", ".json", ".csv"}
    )
    return list(known)[part::PARTS]


def shown(flow):
    """Return all sentences on a flow, as the report has them."""
    yield from (
        verdict.sentence(flow),
        verdict.numbers(flow.summary),
        *verdict.arithmetic(flow.summary),
    )
    for one in flow.findings:
        yield from (one.sentence, one.cause, one.remedy, *one.commands)


def contradictions(flow):
    """Yield contradictions between a flow's findings, or with its figures."""
    row, need = flow.summary, flow.summary["bdp_bytes"]
    values = {one.code: one.values for one in flow.findings}  # noqa: PD011  a dict
    below, held = values.get(Code.WINDOW_BELOW_BDP), values.get(Code.SEND_BUFFER)
    if below and basis(row) is not Basis.BOUND and pd.notna(need) and below["window_bytes"] >= need:
        yield "a window that holds the BDP is smaller than the BDP"
    if below and Code.QUEUE_STANDING in values:
        yield "the window is too small, and the sender's own queue stands"
    if held and pd.notna(row["window_max_bytes"]) and held["flight_bytes"] >= row["window_max_bytes"]:
        yield "the window had room for less than was in flight"


def disagreements(flow):
    """Yield what is wrong with what is told of a flow."""
    row = flow.summary
    yield from contradictions(flow)
    for one in flow.findings:
        if one.code is Code.LEFT_OUT:
            yield one.sentence
    for text in shown(flow):
        if SAYS_NOTHING.search(text):
            yield text
    for low, high in (("rtt_min_ns", "rtt_median_ns"), ("window_min_bytes", "window_max_bytes")):
        if low in row and pd.notna(row[low]) and pd.notna(row[high]) and row[low] > row[high]:
            yield f"{low} {row[low]} > {high} {row[high]}"


@pytest.mark.usefixtures("need_shared")
@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_told_of_any_capture_agrees(part):
    wrong, seen = [], 0
    for path in captures(part):
        try:
            capture = bdpcap.analyze(path)
        except bdpcap.CaptureError:
            continue  # no capture, or one that breaks before its first packet
        # A median of round trips lies above the least of them, in every flow.
        rtts = capture.flows[["stream", "rtt_min_ns", "rtt_median_ns"]].dropna()
        below = rtts[rtts["rtt_median_ns"] < rtts["rtt_min_ns"]]
        wrong += [f"{path.parent.name}/{path.name}: {row}" for row in below.to_dict("records")]
        for flow in ranking.listed(capture, ranking.ranked(capture).head(FLOWS)):
            seen += 1
            name = f"{path.parent.name}/{path.name} stream {flow.stream} of {flow.sender}"
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                wrong += [f"{name}: {text}" for text in disagreements(flow)]
    assert seen > 50
    assert not wrong, "\n".join(wrong)
