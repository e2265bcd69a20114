"""What is told of a flow agrees with itself: checked by scenarios, and over every capture there is."""

from __future__ import annotations

import re
import warnings
from itertools import chain

import pandas as pd
import pytest
from oracles import SAMPLES, SHARED
from small_transfer import write_pcap

import bdpcap
from bdpcap.explain.findings import Code, Finding, agreement, findings, gather, receive
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


def finding(code, **values):
    return Finding(code, "It is so.", "There is a cause.", values=values)


def summary(**values):
    rates = dict.fromkeys(("capacity_bps", "capacity_low_bps", "capacity_high_bps"), 10e6)
    return pd.Series({"bdp_bytes": 50_000, "window_max_bytes": 40_000, "link_share": 0, **rates, **values})


def fired(*told, **values):
    return [check.code for check in agreement.contradictions(told, summary(**values))]


def test_a_window_below_the_bdp_is_below_it():
    told = finding(Code.WINDOW_BELOW_BDP, window_bytes=40_000)
    assert fired(told) == []
    assert fired(told, bdp_bytes=40_000) == [Code.WINDOW_BELOW_BDP]
    assert fired(told, bdp_bytes=None) == []
    # A lower bound of the BDP contradicts nothing.
    assert fired(told, bdp_bytes=40_000, capacity_high_bps=None) == []


def test_a_window_too_small_leaves_no_queue_of_its_own():
    queue, window = finding(Code.QUEUE_STANDING), finding(Code.WINDOW_BELOW_BDP, window_bytes=40_000)
    assert fired(queue) == []
    assert fired(window, queue) == [Code.QUEUE_STANDING]
    # What is left out contradicts nothing any more.
    assert fired(window, queue, bdp_bytes=40_000) == [Code.WINDOW_BELOW_BDP]


def test_a_send_buffer_holds_the_sender_only_where_the_window_had_room():
    told = finding(Code.SEND_BUFFER, flight_bytes=40_500)
    assert fired(told) == [Code.SEND_BUFFER]
    assert fired(told, window_max_bytes=65_535) == []
    assert fired(told, window_max_bytes=None) == []


def test_what_is_contradicted_is_not_shown_and_the_order_stays():
    others = [finding(Code.OFFLOAD), finding(Code.SEGMENT_SIZE)]
    told = [others[0], finding(Code.SEND_BUFFER, flight_bytes=50_000), others[1]]
    assert agreement.agreeing(told, summary()) == others


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -1, -0.5])
def test_a_finding_whose_number_is_none_is_not_shown(number):
    assert agreement.agreeing([finding(Code.OFFLOAD, largest_bytes=number)], summary()) == []


def test_a_part_that_fails_leaves_the_others(tmp_path, monkeypatch):
    flow = bdpcap.analyze(write_pcap(tmp_path / "transfer.pcap")).flow(0)
    whole = flow.findings
    monkeypatch.setattr(receive, "explains", lambda *_: 1 // 0)
    told = findings(flow)
    (left_out,) = [one for one in told if one.code is Code.LEFT_OUT]
    assert left_out.sentence == (
        "The part on the receive window was left out: ZeroDivisionError: integer division or modulo by zero."
    )
    assert {one.code for one in told} - {Code.LEFT_OUT} <= {one.code for one in whole}


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
    told = flow.findings
    yield from (
        verdict.sentence(flow),
        verdict.numbers(flow.summary),
        *verdict.arithmetic(flow.summary),
    )
    for one in told:
        yield from (one.sentence, one.cause, one.remedy, *one.commands)


def disagreements(flow):
    """Yield what is wrong with what is told of a flow."""
    row = flow.summary
    for one in gather(flow):
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
def test_what_is_told_of_any_capture_agrees(part, capsys):
    wrong, seen, checks = [], 0, []
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
                checks += [
                    f"{name}: {check.never}" for check in agreement.contradictions(gather(flow), flow.summary)
                ]
    with capsys.disabled():
        print("\n".join(["", *checks]), end="")  # noqa: T201  the list of where a check fired
    assert seen > 50
    assert not wrong, "\n".join(wrong)
    # Checks are a net: a theme that they often catch must be mended itself.
    assert len(checks) <= 0.02 * seen, "\n".join(checks)
