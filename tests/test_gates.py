"""No first text holds a number that cannot be, whatever the capture: numbers are parsed with their units."""

import io
import random
import re

import mutants
import pytest
import reviewed
from conftest import unavailable
from oracles import SAMPLES, SHARED

import bdpcap
from bdpcap import report
from bdpcap.explain import gate
from bdpcap.report.text import LINES

UNITS = {"bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "Tbit/s": 1e12}
RATE = re.compile(r"([\d.]+) ([kMGT]?bit/s)")
CARRIED = re.compile(
    r"at ([\d.]+) ([kMGT]?bit/s); the network can carry (?:about |at least |between )?([\d.]+) ([kMGT]?bit/s)"
)
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
REAL = sorted(
    path for folder in ("wild", "wild_b", "stress") for path in (SHARED / "captures" / folder).glob("*.pcap*")
)


def bps(number, unit):
    return float(number) * UNITS[unit]


def check(text):
    said = " ".join(text.split())
    assert all(bps(*found) <= gate.MOST_BPS for found in RATE.findall(said)), said
    for one, unit, other, of in CARRIED.findall(said):
        assert bps(one, unit) <= 1.005 * bps(other, of), said
    for size, unit, time, of, rate, per, trips, trip, each in MOVED.findall(said):
        lasted_s = float(time) * TIMES[of]
        product = bps(rate, per) * lasted_s / 8
        assert product == pytest.approx(float(size) * SIZES[unit], rel=DIGITS), said
        if trips:
            assert float(trips) * float(trip) * TIMES[each] == pytest.approx(lasted_s, rel=DIGITS), said
    # Retransmitted bytes and waits alone may exceed a whole; every share of a verdict is of one.
    assert all(float(share.replace(",", "")) <= 100 for share in re.findall(r"([\d.,]+) %", said)), said
    assert not re.search(r"\b0 ns\b|\bnan\b|\binf\b|is said (below|above)|As above|Left out: ", said), said


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_the_texts_of_a_sample_hold_no_number_that_cannot_be(path):
    capture = bdpcap.analyze(path)
    check(report.text(capture))
    check(report.text(capture, full=True))


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_the_text_of_a_real_capture_holds_no_number_that_cannot_be(path):
    capture = bdpcap.analyze(path)
    text = report.text(capture)
    check(text)
    if len(report.ranking.groups(capture)) == 1:
        assert len(text.splitlines()) <= LINES


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


def test_real_captures_are_there():
    if not REAL:
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


@pytest.mark.parametrize("path", reviewed.TRANSFERS, ids=lambda path: path.parent.name)
def test_the_text_of_a_labelled_transfer_holds_no_number_that_cannot_be(path):
    check(report.text(bdpcap.analyze(path)))


@pytest.fixture(scope="module")
def originals():
    return mutants.originals()


@pytest.mark.parametrize("seed", range(200))
def test_the_text_of_a_mutant_holds_no_number_that_cannot_be(originals, seed):
    content = mutants.mutant(random.Random(seed), originals)  # noqa: S311
    try:
        capture = bdpcap.analyze(io.BytesIO(content))
    except bdpcap.CaptureError:
        return  # too damaged to be read at all
    check(report.text(capture))
