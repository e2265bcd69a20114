"""`Flow.view` in a notebook: plotly's own script in a real browser, and the widget's answers to a person's actions."""

import re

import pytest
from in_notebook import Notebook
from oracles import ROOT

import bdpcap
from bdpcap.view.figure import HEIGHT

LOSS = ROOT / "sample_captures" / "cwnd_loss_2pct.sender.pcap.zst"
PLOT = "document.querySelector('.js-plotly-plot')"


@pytest.fixture(scope="module")
def flow():
    return bdpcap.analyze(LOSS).flow(0)


@pytest.fixture
def shown(flow, open_page, tmp_path):
    """Return the notebook, its page and the widget that it shows."""
    empty = tmp_path / "notebook.html"
    empty.write_text("<!doctype html><html lang='en'><title>notebook</title><body></body></html>", "utf-8")
    page, notebook = open_page(empty), Notebook()
    page.set_viewport_size({"width": 1200, "height": 1300})
    with notebook.made():
        view = flow.view()
    notebook.show(page, view)
    page.wait_for_function(f"() => {PLOT}?.calcdata?.length > 5")
    settled(notebook, page)
    yield notebook, page, view
    assert page.complaints == []
    assert all(url.startswith(("file:", "blob:", "data:")) for url in page.asked)


def settled(notebook, page):
    """Pass messages on, until page and widget send no more."""
    while notebook.exchange(page):
        page.wait_for_timeout(100)  # plotly draws, and says afterwards what it drew


def said(page):
    return page.locator("body").inner_text().splitlines()[0]


def traces(page):
    """Return name and number of points of each trace that is drawn."""
    return page.evaluate(f"{PLOT}._fullData.map((one) => [one.name, one.x.length])")


def expected(view):
    return [[trace.name, len(trace.x)] for trace in view.figure.data]


def place(page, x, y):
    """Return where a point of the lowest figure lies on the page, in pixels."""
    return page.evaluate(
        f"([x, y]) => {{ const {{ left, top }} = {PLOT}.getBoundingClientRect();"
        f" const {{ xaxis, yaxis4 }} = {PLOT}._fullLayout;"
        " return [left + xaxis._offset + xaxis.l2p(x), top + yaxis4._offset + yaxis4.l2p(y)]; }",
        [x, y],
    )


def zoomed(notebook, page, start, end):
    """Drag over a time in the figure of windows."""
    (low, _), (high, _) = (place(page, x, 0) for x in (start, end))
    y = page.evaluate(f"{PLOT}.getBoundingClientRect().top + {PLOT}._fullLayout.yaxis2._offset + 20")
    page.mouse.move(low, y)
    page.mouse.down()
    page.mouse.move(high, y, steps=5)
    page.mouse.up()
    page.wait_for_function("window.outbox.length > 0")
    settled(notebook, page)


def test_the_widget_draws_the_whole_flow_in_all_the_room_there_is(shown):
    _, page, view = shown
    assert said(page) == view.shown.value
    assert traces(page) == expected(view)
    width, height = page.evaluate(f"[{PLOT}._fullLayout.width, {PLOT}._fullLayout.height]")
    assert (width, height) == (page.evaluate("document.body.clientWidth"), HEIGHT)
    title, subtitle = (
        page.locator(f".js-plotly-plot .{name}").bounding_box() for name in ("gtitle", "gtitle-subtitle")
    )
    assert title["y"] + title["height"] <= subtitle["y"]


def test_a_zoom_draws_the_events_of_its_time_and_a_double_click_all(shown, flow):
    notebook, page, view = shown
    whole = view.shown.value
    zoomed(notebook, page, 4.4, 4.8)
    start, end = page.evaluate(f"{PLOT}.layout.xaxis.range")
    assert (start, end) == pytest.approx((4.4, 4.8), abs=0.02)  # two pixels
    assert (start, end) == view.figure.layout.xaxis.range
    inside = len(flow.events_between(start, end))
    assert re.search(rf": {inside} events, all drawn$", said(page))
    assert traces(page) == expected(view)
    page.mouse.dblclick(*place(page, 4.6, sum(page.evaluate(f"{PLOT}._fullLayout.yaxis4.range")) / 2))
    page.wait_for_function("window.outbox.length > 0")
    settled(notebook, page)
    assert said(page) == whole
    assert traces(page) == expected(view)


def test_a_click_on_a_packet_gives_its_frame(shown):
    notebook, page, view = shown
    zoomed(notebook, page, 4.4, 4.8)
    sent = next(trace for trace in view.figure.data if trace.name == "sent")
    point = next(number for number, time_s in enumerate(sent.x) if time_s > 4.5)
    left, top = place(page, sent.x[point], sent.y[point])
    page.mouse.move(left - 40, top)
    page.mouse.move(left, top, steps=8)
    page.wait_for_selector(".hoverlayer .hovertext")
    page.mouse.click(left, top)
    page.wait_for_function("window.outbox.length > 0")
    settled(notebook, page)
    frame = int(re.search(r"frame\.number == (\d+)", page.locator("body").inner_text())[1])
    assert frame == int(sent.customdata[point][0])


def test_a_second_view_shows_what_the_first_shows(shown):
    notebook, page, view = shown
    zoomed(notebook, page, 4.4, 4.8)
    notebook.show(page, view)
    page.wait_for_function("document.querySelectorAll('.js-plotly-plot')[1]?.calcdata?.length > 5")
    settled(notebook, page)
    names = "one => one._fullData.map(({ name, x }) => [name, x.length])"
    first, second = page.evaluate(f"[...document.querySelectorAll('.js-plotly-plot')].map({names})")
    assert first == second == expected(view)
