"""Colours of the figures: readers with each colour deficiency can separate them, on light paper and on dark."""

import re
from collections import defaultdict
from itertools import combinations

import numpy as np
import pytest
from colorspacious import cspace_convert
from oracles import ROOT

import bdpcap
from bdpcap import plots
from bdpcap.diagnosis import STATE_COLOURS
from bdpcap.plots import marks
from bdpcap.view.figure import draw, whole
from bdpcap.view.seen import Seen
from bdpcap.words import palette

SAMPLES = [
    ROOT / "sample_captures" / f"{name}.sender.pcap.zst"
    for name in ("cwnd_loss_2pct", "rwnd_zero_window", "rwnd_slow_reader", "link_5_100ms_bloat")
]
SEEN = (None, "protanomaly", "deuteranomaly", "tritanomaly")
"""Normal sight, and the deficiencies that colorspacious simulates with the matrices of Machado, Oliveira and Fernandes,
"A Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE TVCG 15(6), 2009; at full severity."""
PAPERS = {"light": "#ffffff", "dark": "#14181d"}
"""Papers of the pages, as their style sheets have them."""
PIXEL_DEGREES = 0.0213
"""Visual angle of a pixel at arm's length (CSS Values and Units 4, section 6.2)."""
MARK_PX, STRIP_PX = 8, 16
"""Size of a mark, and height of the strip of limits."""
CONTRAST = 3.0
"""Least contrast of a graphical object with its surroundings (WCAG 2.2, 1.4.11)."""


def rgb(colour, paper="#ffffff"):
    """Return a colour on paper as red, green and blue from 0 to 1."""
    if colour.startswith("#"):
        return np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    *parts, alpha = map(float, re.findall(r"[\d.]+", colour))
    return alpha * np.array(parts) / 255 + (1 - alpha) * rgb(paper)


def seen(colour, sight):
    """Return CIELAB of a colour as a reader sees it."""
    if sight:
        how = {"name": "sRGB1+CVD", "cvd_type": sight, "severity": 100}
        colour = np.clip(cspace_convert(colour, how, "sRGB1"), 0, 1)
    return cspace_convert(colour, "sRGB1", "CIELab")


def distance(one, other, size_px):
    """Return the least distance of two colours over all sights, in differences that half of all readers notice.

    They notice less in smaller marks: Stone, Szafir and Setlur, "An Engineering Model for Color Difference as a Function
    of Size", Color and Imaging Conference 2014, for lightness, a* and b*.
    """
    noticed = np.array([5.08, 5.34, 5.35]) + np.array([0.75, 1.54, 2.87]) / (size_px * PIXEL_DEGREES)
    return min(np.linalg.norm((seen(one, sight) - seen(other, sight)) / noticed) for sight in SEEN)


def luminance(colour):
    """Return the relative luminance that WCAG defines."""
    linear = np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def look(trace):
    """Return the form of a trace, its colour, and the size in which a reader compares it."""
    line, marker = trace.get("line") or {}, trace.get("marker") or {}
    if trace["type"] == "bar":
        return ("strip",), marker["color"], STRIP_PX
    if trace["mode"] == "markers":
        return ("points", marker.get("symbol", "circle")), marker["color"], MARK_PX
    if trace.get("fill") == "toself":
        pattern = (trace.get("fillpattern") or {}).get("shape", "")
        return ("area", pattern), trace["fillcolor"], STRIP_PX
    kind = "bars" if trace["mode"] == "lines+markers" else "line"
    return (kind, line.get("dash", "solid")), line["color"], MARK_PX


def looks(traces):
    """Return the look of each quantity: the name of a trace may end in a value."""
    return {re.split(r" \(| \d", trace["name"])[0]: look(trace) for trace in traces if trace["name"]}


@pytest.fixture(scope="module")
def figures():
    """The looks of all traces that may stand in one figure, by figure and name."""
    found = defaultdict(dict)
    for path in SAMPLES:
        flow = bdpcap.analyze(path).flow(0)
        for kind in plots.FIGURES:
            found[kind] |= looks(plots.drawing(flow, kind).traces)
        linked = draw(Seen(flow), whole(flow))[0].traces
        for legend in {trace["legend"] for trace in linked}:
            found[f"view, {legend}"] |= looks([trace for trace in linked if trace["legend"] == legend])
    return found


@pytest.mark.parametrize("paper", PAPERS)
def test_colour_or_form_separates_each_pair_of_a_figure(paper, figures):
    """Where a deficiency leaves two colours alike, the symbol, dash or hatching of the two must differ."""
    pairs, by_form = 0, 0
    for kind, shown in figures.items():
        for (one, of_one), (other, of_other) in combinations(shown.items(), 2):
            pairs += 1
            colours = rgb(of_one[1], PAPERS[paper]), rgb(of_other[1], PAPERS[paper])
            if distance(*colours, min(of_one[2], of_other[2])) < 1:
                assert of_one[0] != of_other[0], f"{kind}: {one} and {other}"
                by_form += 1
    assert by_form < pairs / 3  # colour is what most pairs differ in


def test_limits_differ_in_colour_alone():
    """The strip of limits has no other form."""
    for one, other in combinations(STATE_COLOURS, 2):
        apart = distance(rgb(STATE_COLOURS[one]), rgb(STATE_COLOURS[other]), STRIP_PX)
        assert apart >= 1, f"{one} and {other}: {apart:.2f}"


def test_marks_differ_in_colour_or_symbol():
    for one, other in combinations((*marks.BY_NAME.values(), *marks.BY_FLAG.values()), 2):
        alike = distance(rgb(one.colour), rgb(other.colour), MARK_PX) < 1
        assert not alike or one.symbol != other.symbol, f"{one.label} and {other.label}"


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("name", ["SENT", "ACKNOWLEDGED", "RETRANSMITTED", "WINDOW", "PATH", "HOST"])
def test_lines_stand_out_from_either_paper(name, paper):
    assert contrast(rgb(getattr(palette, name)), rgb(PAPERS[paper])) >= CONTRAST


def test_the_papers_are_those_of_the_pages():
    for path in ("report/assets/page.css", "report/assets/figure.css", "view/assets/view.css"):
        light, dark, *_ = (ROOT / "bdpcap" / path).read_text("utf-8").split("prefers-color-scheme: dark")
        papers = [re.search(r"--paper: (#\w+)", style)[1] for style in (light, dark)]
        assert papers == ["#fff", PAPERS["dark"]]
