"""The page of one figure in a real browser: it fills the window in any size, in light and in dark."""

import pytest
from in_browser import CONTRAST
from oracles import ROOT

import bdpcap
from bdpcap import plots
from bdpcap.report.figure import write

LOSS = ROOT / "sample_captures" / "cwnd_loss_2pct.sender.pcap.zst"
BOX = """selector => {
  const { x, y, right, bottom } = document.querySelector(selector).getBoundingClientRect();
  return [x, y, right, bottom];
}"""


@pytest.fixture(scope="module")
def flow():
    return bdpcap.analyze(LOSS).flow(0)


@pytest.fixture(params=plots.FIGURES)
def file(request, flow, tmp_path):
    write(flow, request.param, tmp_path / "figure.html")
    return tmp_path / "figure.html"


def test_a_figure_fills_its_page(file, open_page):
    page = open_page(file)
    page.wait_for_selector("html[data-drawn]")
    for width, height in ((1200, 900), (700, 600)):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(400)
        legend, plot = (page.evaluate(BOX, name) for name in ("#plot .legend", "#plot .nsewdrag"))
        title = page.evaluate(BOX, "#plot .g-gtitle")
        assert title[3] <= legend[1] <= title[3] + 30
        assert legend[3] - 8 <= plot[3]
        assert plot[2] > width - 40
        assert plot[3] > height - 100
        assert page.evaluate("document.documentElement.scrollHeight") <= height
    assert page.complaints == []
    assert page.asked == [file.as_uri()]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_its_text_stands_out_in_either_theme(scheme, flow, open_page, tmp_path):
    write(flow, "window", tmp_path / "figure.html")
    page = open_page(tmp_path / "figure.html", color_scheme=scheme)
    page.wait_for_selector("html[data-drawn]")
    assert page.evaluate(CONTRAST) == []
