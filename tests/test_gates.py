"""No text and no page holds a number that cannot be, whatever the capture: numbers are parsed with their units."""

import contextlib
import io
import random
import re
from types import SimpleNamespace

import mutants
import pandas as pd
import pytest
import reviewed
from conftest import unavailable
from first_screens import outside
from oracles import SAMPLES, SHARED

import bdpcap
from bdpcap import report
from bdpcap.explain import gate
from bdpcap.report import page, ranking
from bdpcap.report.text import LINES

UNITS = {"bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "Tbit/s": 1e12}
RATE = re.compile(r"([\d.]+) ([kMGT]?bit/s)")
CARRIED = re.compile(
    r"at ([\d.]+) ([kMGT]?bit/s); the network can carry (?:about |at least |between )?([\d.]+) ([kMGT]?bit/s)"
)
CAPACITY = re.compile(r"the network can carry (?:about |at least )?([\d.]+ [kMGT]?bit/s)")
LIFTED = re.compile(r"→ about ([\d.]+ [kMGT]?bit/s), then the link")
"""Rate of a path, and that to expect where the link is the next limit: one number."""
SIZES = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
MOVED = re.compile(
    r"([\d.]+) ([kMGT]?B)(?: of [\d.]+ [kMGT]?B)? in ([\d.]+) ([num]?s)(?: \(\d+ bursts[^)]*\))?"
    r" at ([\d.]+) ([kMGT]?bit/s)"
    r"(?:, ([\d.]+) round trips of ([\d.]+) ([num]?s))?"
)
"""Size, time and rate in one sentence, and after slow start round trips and their time."""
DIGITS = 0.06
"""Most by which a product is off for its rounding: a rate has two digits, size and time have three."""
ALLOWED = re.compile(
    r"([\d,]+) bytes (?:per round trip of|per|/) ([\d.]+) ([num]?s)(?: \(minimum RTT\))? (?:allows?|=)"
    r" ([\d.]+) ([kMGT]?bit/s)"
)
"""A window, a round trip and the rate that they allow."""
FILLED = re.compile(
    r"To fill (?:about |at least )?([\d.]+) ([kMGT]?bit/s) over ([\d.]+) ([num]?s) takes a window of ([\d,]+) bytes"
)
"""A rate, a round trip and their product."""
BDP = re.compile(
    r"(?:takes a window of|filling it takes|round-trip time, here|\bBDP) (?:about |at least |between )?([\d,]+) bytes"
)
"""A bandwidth-delay product in a sentence, or in the page's numbers; of two bounds the lower one."""
CERTAIN = re.compile(
    r"(?:takes a window of|round-trip time, here) .*? \[?[a-z]+(?:-[a-z]+)+, (certain|likely|possible)\b"
)
"""How certain a finding with a bandwidth-delay product is: the word after the finding's code, at its end."""
FEW = 10
"""Round trips below which the shortest of them is not surely the path's, nor a product of it certain."""
DRAWN = ("script", "style", "svg")
"""Elements of a page without sentences: figures are data."""


def captures(*folders, names="*.pcap*"):
    return [path for folder in folders for path in sorted((SHARED / "captures" / folder).rglob(names))]


EVERY = 7
"""Of the labelled captures every seventh is read, as these differ in little.

Three are of one transfer, at its ends and between them: each of these places has its turn.
"""
OF_PUBLIC = 4
"""Of the public captures every fourth is read: most are small ones of one collection."""
REAL = captures("wild", "wild_b", "stress")
MORE = [
    *captures("stress", names="*.cap"),
    *captures("windows"),
    *captures("public")[::OF_PUBLIC],
    *captures("lab", "lab_b", "linux61", "apps", "apps_b", "stacks", "programs")[::EVERY],
]
PAGES = [*REAL[4::EVERY], *MORE[:: 4 * EVERY]]
"""Captures whose pages are read, too: a page takes several times as long as a text."""


def named(path):
    return "/".join(path.parts[-3:])


def bps(number, unit):
    return float(number) * UNITS[unit]


def whole(number):
    return int(number.replace(",", ""))


def check(text):
    said = " ".join(text.split())
    assert all(bps(*found) <= gate.MOST_BPS for found in RATE.findall(said)), said
    for one, unit, other, of in CARRIED.findall(said):
        assert bps(one, unit) <= 1.005 * bps(other, of), said
    paths, lifted = CAPACITY.findall(said), LIFTED.findall(said)
    if len(paths) == len(lifted) == 1:
        assert paths == lifted, said
    for size, unit, time, of, rate, per, trips, trip, each in MOVED.findall(said):
        lasted_s = float(time) * TIMES[of]
        product = bps(rate, per) * lasted_s / 8
        assert product == pytest.approx(float(size) * SIZES[unit], rel=DIGITS), said
        if trips:
            assert float(trips) * float(trip) * TIMES[each] == pytest.approx(lasted_s, rel=DIGITS), said
    windows = [(rate, per, time, of, size) for size, time, of, rate, per in ALLOWED.findall(said)]
    for rate, per, time, of, size in windows + FILLED.findall(said):
        trip_s = float(time) * TIMES[of]
        assert trip_s * 1e9 >= gate.LEAST_RTT_NS, said
        assert bps(rate, per) * trip_s / 8 == pytest.approx(whole(size), rel=DIGITS), said
    # Retransmitted bytes and waits alone may exceed a whole; every share of a verdict is of one.
    assert all(float(share.replace(",", "")) <= 100 for share in re.findall(r"([\d.,]+) %", said)), said
    # A file's name may have such a word between hyphens.
    assert not re.search(r"(?<!\w-)\b(nan|inf)\b|is said (below|above)|As above|Left out: ", said), said


def check_flow(text, flow):
    """Check the bandwidth-delay products of a text on one flow."""
    said = " ".join(text.split())
    least = gate.FEWEST_SEGMENTS * flow.summary["mss_bytes"]
    assert all(whole(size) >= least for size in BDP.findall(said)), said
    assert flow.rtts["rtt_ns"].count() >= FEW or "certain" not in CERTAIN.findall(said), said


def check_flows(sections, capture):
    for section, group in zip(sections, ranking.groups(capture), strict=True):
        check_flow(section, group.flow)


def check_texts(capture):
    """Check the first text and, where there are flows, the full one; return the first."""
    first = report.text(capture)
    check(first)
    # Of all that is known, the time of a single frame, or the delay to the tap, may be none.
    assert not re.search(r"\b0 ns\b", first), first
    if ranking.groups(capture):
        full = report.text(capture, full=True)
        check(full)
        check_flows(full.split("\nWHY, stream ")[1:], capture)
    return first


def check_page(capture):
    shown = page.html(capture)
    check(outside(DRAWN, shown))
    flows = [part.partition("<h3>Pictures</h3>")[0] for part in shown.split("<h3>Why</h3>")[1:]]
    check_flows([outside(DRAWN, flow) for flow in flows], capture)


@pytest.mark.parametrize("path", SAMPLES, ids=named)
def test_texts_and_page_of_a_sample_hold_no_number_that_cannot_be(path):
    capture = bdpcap.analyze(path)
    check_texts(capture)
    check_page(capture)


@pytest.mark.parametrize("path", REAL + MORE, ids=named)
def test_the_texts_of_a_capture_hold_no_number_that_cannot_be(path):
    capture = bdpcap.analyze(path)
    text = check_texts(capture)
    # The path of a damaged file is in the text, and may have any length.
    if len(ranking.groups(capture)) == 1 and not capture.damages:
        assert len(text.splitlines()) <= LINES


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_the_page_of_a_real_capture_holds_no_number_that_cannot_be(path):
    check_page(bdpcap.analyze(path))


def test_a_rate_that_is_not_that_of_size_and_time_is_found():
    check(
        "22.0 kB in 174 ms at 1.0 Mbit/s. 967 kB of 1.03 MB in 11.9 ms (2 bursts within 30.8 s) at 650 Mbit/s."
    )
    check("150 kB in 1.16 s at 1.0 Mbit/s, 4.2 round trips of 278 ms; slow start from ten segments takes 4.")
    for wrong in (
        "48.1 kB in 35.4 ms at 13 Mbit/s.",
        "150 kB in 1.16 s at 1.0 Mbit/s, 6.0 round trips of 278 ms",
    ):
        with pytest.raises(AssertionError):
            check(wrong)


def test_a_rate_that_a_window_cannot_allow_is_found():
    check("73,552 bytes per round trip of 40.4 ms allow 14.6 Mbit/s at most.")
    check("To fill about 24.3 Mbit/s over 40.4 ms takes a window of 122,572 bytes (the BDP).")
    for wrong in (
        "A window of 73,552 bytes per 40.4 ms (minimum RTT) allows 16.6 Mbit/s.",
        "allows no more than 6,250 bytes / 99 us = 505 Mbit/s.",
        "To fill 24.3 Mbit/s over 40.4 ms takes a window of 61,286 bytes (the BDP).",
    ):
        with pytest.raises(AssertionError):
            check(wrong)


@pytest.mark.parametrize(
    ("text", "trips", "can_be"),
    [
        ("filling it takes at least 2,920 bytes in flight (the BDP).", FEW - 1, True),
        ("filling it takes between 2,919 bytes and 9,000 bytes in flight (the BDP).", FEW, False),
        ("path capacity about 24.3 Mbit/s BDP about 1,460 bytes RTT 1 ms median", FEW, False),
        (
            "takes a window of 9,000 bytes (the BDP). Remedy: None. [what-it-takes, certain; RFC 7323]",
            FEW,
            True,
        ),
        (
            "takes a window of 9,000 bytes (the BDP). Remedy: None. [what-it-takes, certain; RFC 7323]",
            9,
            False,
        ),
        (
            "round-trip time, here about 9,000 bytes. window-below-bdp, likely; RFC 7323 loss, certain",
            9,
            True,
        ),
    ],
)
def test_a_product_that_cannot_be_or_is_too_certain_is_found(text, trips, can_be):
    flow = SimpleNamespace(summary={"mss_bytes": 1460}, rtts=pd.DataFrame({"rtt_ns": [1_000_000] * trips}))
    with contextlib.nullcontext() if can_be else pytest.raises(AssertionError):
        check_flow(text, flow)


def test_real_captures_are_there():
    if not (REAL and MORE):
        unavailable("../shared/captures", "captures")


def test_the_gate_leaves_out_what_cannot_be():
    assert gate.allowed_bps(65_536, 1_000_000) == pytest.approx(524.288e6)
    assert gate.allowed_bps(65_536, 99_999) is None
    assert gate.allowed_bps(1 << 30, 1_000_000) is None
    assert gate.allowed_bps(None, 1_000_000) is None
    assert gate.full_bdp(2_919, 1_460) is None
    assert gate.full_bdp(2_920, 1_460) == 2_920
    assert gate.part(1.0) == 1.0
    assert gate.part(1.01) is None


@pytest.mark.parametrize("path", reviewed.TRANSFERS, ids=named)
def test_the_texts_of_a_labelled_transfer_hold_no_number_that_cannot_be(path):
    check_texts(bdpcap.analyze(path))


@pytest.fixture(scope="module")
def originals():
    return mutants.originals()


@pytest.mark.parametrize("seed", range(200))
def test_the_texts_of_a_mutant_hold_no_number_that_cannot_be(originals, seed):
    content = mutants.mutant(random.Random(seed), originals)  # noqa: S311
    try:
        capture = bdpcap.analyze(io.BytesIO(content))
    except bdpcap.CaptureError:
        return  # too damaged to be read at all
    check_texts(capture)
    if seed % 10 == 0:
        check_page(capture)
