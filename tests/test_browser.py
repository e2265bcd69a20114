"""The report in a real browser: it draws, zooms and tells by itself, and asks nobody for anything.

Nothing here can reach a network: the browser is offline, and every request that a page makes is recorded.
"""

import re
from itertools import pairwise
from pathlib import Path

import html5lib
import pytest
from in_browser import CONTRAST, opened
from packets import pcap
from scenario import scenario
from small_transfer import write_many, write_pcapng

import bdpcap
from bdpcap import plots, report
from bdpcap.diagnosis import LIMIT_NAMES

SAMPLES = Path(__file__).parent.parent / "sample_captures"
SCRIPT = "<script>document.title = 'owned'</script>"
LIMIT_BYTES = 5_000_000
TOGETHER = len(plots.FIGURES)
"""Figures that are zoomed together, where none has an overview."""
SEQUENCE_RANGE = "document.querySelector('.plot[data-kind=sequence]').layout.xaxis.range"


@pytest.fixture(scope="module")
def capture():
    return bdpcap.analyze(SAMPLES / "cwnd_loss_2pct.sender.pcap.zst")


@pytest.fixture(scope="module")
def file(capture, tmp_path_factory):
    return report.write_html(capture, tmp_path_factory.mktemp("browser") / "report.html")


@pytest.fixture(scope="module")
def drawn(browser, file):
    """Return the report with every figure drawn."""
    page = opened(browser, file)
    draw_all(page)
    return page


@pytest.fixture
def page(drawn):
    """Return the same once more, seen whole, in light colours and on a screen."""
    drawn.locator(".plot[data-kind=window]").focus()
    drawn.keyboard.press("0")
    drawn.emulate_media(color_scheme="light", media="screen")
    drawn.mouse.move(0, 0)
    return drawn


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Return the report on two thousand flows."""
    where = tmp_path_factory.mktemp("many")
    return report.write_html(bdpcap.analyze(write_many(where / "many.pcap", 2000)), where / "report.html")


def draw_all(page, count=None):
    """Scroll every figure into view, and wait until it is drawn."""
    for plot in page.locator(".plot").all()[:count]:
        plot.scroll_into_view_if_needed()
    page.wait_for_function("n => document.querySelectorAll('.plot[data-drawn]').length >= n", arg=count or 1)
    page.wait_for_function(
        "n => [...document.querySelectorAll('.plot')].slice(0, n).every(plot => 'drawn' in plot.dataset)",
        arg=count or 10**6,
    )


def time_ranges(page):
    return page.evaluate("[...document.querySelectorAll('.plot')].map(plot => plot.layout.xaxis.range)")


# what it asks for, and what it draws


def test_every_figure_is_drawn_and_nothing_is_asked_for(page, file):
    drawn = page.evaluate(
        "[...document.querySelectorAll('.plot')].map(plot => [plot.dataset.kind, "
        "plot.data.filter(trace => trace.visible !== 'legendonly').length, "
        "[...plot.querySelectorAll('.cartesianlayer .trace')].filter("
        "trace => trace.getBoundingClientRect().width > 0).length])"
    )
    assert [kind for kind, _, _ in drawn] == list(plots.FIGURES)
    for kind, traces, visible in drawn:
        assert visible == traces >= 3, kind
    assert page.asked == [file.as_uri()]
    assert page.complaints == []


def test_the_policy_lets_no_script_of_the_page_reach_a_network(open_page, file):
    page = open_page(file)
    refused = page.evaluate(
        "() => new Promise(done => {"
        "  addEventListener('securitypolicyviolation', event => done(event.effectiveDirective));"
        "  fetch('https://example.org/').catch(() => {});"
        "})"
    )
    assert refused == "connect-src"


def test_a_script_in_a_comment_stays_text(open_page, tmp_path):
    capture = bdpcap.analyze(write_pcapng(tmp_path / "trace.pcapng", SCRIPT))
    page = open_page(report.write_html(capture, tmp_path / "r.html"))
    draw_all(page)
    assert page.title().startswith("What limited the senders")
    assert page.get_by_text(SCRIPT).is_visible()
    assert page.complaints == []


# what a reader can do


def test_dragging_over_one_figure_zooms_all_of_its_flow(page):
    whole = time_ranges(page)
    assert whole == [whole[0]] * TOGETHER
    area = page.locator(".plot[data-kind=rtt] .nsewdrag").first
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.25, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, middle, steps=5)
    page.mouse.up()
    page.wait_for_function(
        "low => [...document.querySelectorAll('.plot')].every(plot => plot.layout.xaxis.range[0] > low)",
        arg=whole[0][0],
    )
    zoomed = time_ranges(page)
    assert zoomed == [zoomed[0]] * TOGETHER
    span = whole[0][1] - whole[0][0]
    # Within two pixels of where the mouse went.
    assert zoomed[0] == pytest.approx([whole[0][0] + span / 4, whole[0][0] + span / 2], abs=span / 400)


def test_keys_zoom_all_figures_of_a_flow_and_back(page):
    whole = time_ranges(page)
    page.locator(".plot[data-kind=window]").focus()
    page.keyboard.press("+")
    low, high = whole[0]
    quarter = (high - low) / 4
    assert time_ranges(page) == [pytest.approx([low + quarter, high - quarter])] * TOGETHER
    page.keyboard.press("0")
    assert time_ranges(page) == whole


def test_a_figure_drawn_after_a_zoom_is_zoomed_too(open_page, file):
    page = open_page(file)
    page.locator(".plot[data-kind=window]").scroll_into_view_if_needed()
    page.wait_for_selector(".plot[data-kind=window][data-drawn]", state="attached")
    page.locator(".plot[data-kind=window]").focus()
    page.keyboard.press("+")
    draw_all(page)
    ranges = time_ranges(page)
    assert ranges == [ranges[0]] * TOGETHER
    assert ranges[0][0] > 0


def test_a_figure_with_an_overview_keeps_a_time_of_its_own(open_page, tmp_path):
    capture = bdpcap.analyze(SAMPLES / "rwnd_zero_window.sender.pcap.zst")
    page = open_page(report.write_html(capture, tmp_path / "report.html"))
    draw_all(page)
    start, end = plots.busiest(capture.flow(0))
    assert page.evaluate(SEQUENCE_RANGE) == pytest.approx([start, end])
    others = [shown for shown in time_ranges(page) if shown != [start, end]]
    assert len(others) == TOGETHER - 1
    page.locator(".plot[data-kind=sequence]").focus()
    page.keyboard.press("+")
    low, high = page.evaluate(SEQUENCE_RANGE)
    assert high - low == pytest.approx((end - start) / 2, abs=1e-3)
    assert all(shown in time_ranges(page) for shown in others)
    page.keyboard.press("0")
    assert page.evaluate(SEQUENCE_RANGE) == pytest.approx([start, end])
    assert page.complaints == []


def test_the_sequence_numbers_follow_a_zoom(page, capture):
    sequence = page.locator(".plot[data-kind=sequence]")
    sequence.focus()
    for _ in range(4):
        page.keyboard.press("+")
    page.wait_for_timeout(300)
    axes = "plot => [plot.layout.xaxis.range, plot.layout.yaxis.range, plot.layout.yaxis.title.text]"
    (start, end), (low, high), title = sequence.evaluate(axes)
    events = capture.flow(0).events
    time = (events["time_ns"] - capture.info.first_ns) / 1e9
    inside = events[(time >= start) & (time <= end)]
    assert title == "sequence number (MB)"
    lowest, highest = inside["sequence"].min() / 1e6, (inside["sequence"] + inside["length"]).max() / 1e6
    assert low < lowest < highest < high
    # Not more than a margin, the window's edge left out: it is far above.
    assert high - low < 1.6 * (highest - lowest)


def test_hovering_shows_the_value_and_the_frame_of_the_table(page, capture):
    page.locator(".plot[data-kind=window]").scroll_into_view_if_needed()
    x, y = page.evaluate(
        "() => {"
        "  const plot = document.querySelector('.plot[data-kind=window]');"
        "  const { xaxis, yaxis } = plot._fullLayout, box = plot.getBoundingClientRect();"
        "  const points = plot.calcdata.find(([point]) => point.trace.name === 'in flight');"
        "  const { x, y } = points[points.length >> 1];"
        "  return [box.x + xaxis._offset + xaxis.d2p(x), box.y + yaxis._offset + yaxis.d2p(y)];"
        "}"
    )
    page.mouse.move(x, y)
    label = page.locator(".plot[data-kind=window] .hoverlayer .hovertext").first
    label.wait_for()
    said = label.text_content()
    value, second, frame = re.fullmatch(r"in flight([\d.]+) kB([\d.]+) s, frame (\d+)", said).groups()
    events = capture.flow(0).events
    of_frame = events[events["frame"] == int(frame)]
    assert round(float(value) * 1000) in of_frame["in_flight_bytes"].tolist()
    assert float(second) == pytest.approx(
        (of_frame["time_ns"].iloc[0] - capture.info.first_ns) / 1e9, abs=1e-6
    )


def test_one_colour_means_one_limit_in_ribbon_table_and_bar(page, capture):
    ribbon = dict(
        page.evaluate(
            "document.querySelector('.plot[data-kind=window]').data.filter(trace => trace.yaxis === 'y2')"
            ".map(trace => [trace.name.replace('limit: ', ''), trace.marker.color])"
        )
    )
    fills = page.evaluate(
        "[...document.querySelectorAll('.plot[data-kind=window] .xy2 .point path')]"
        ".map(bar => getComputedStyle(bar).fill)"
    )
    for selector in (".held .chip", ".first .bar span"):
        shown = page.evaluate(
            "selector => [...document.querySelectorAll(selector)].map(one => "
            "[one.className.replace('chip', '').trim(), getComputedStyle(one).backgroundColor])",
            selector,
        )
        # Chips and bar are of the active time, the ribbon of all of it.
        limits = set(capture.flow(0).rtts["limit"]) - {"idle"}
        assert {limit for limit, _ in shown} == limits
        assert {LIMIT_NAMES[limit] for limit in limits} == set(ribbon) - {"idle"}
        for limit, colour in shown:
            assert colour in fills
            assert ribbon[LIMIT_NAMES[limit]] == "#{:02x}{:02x}{:02x}".format(
                *map(int, re.findall(r"\d+", colour))
            )


# how it reads


def test_without_scripts_the_verdict_the_tables_and_the_pictures_are_there(open_page, file):
    page = open_page(file, java_script_enabled=False)
    assert page.get_by_text("Packet loss held the sender back").first.is_visible()
    assert page.locator(".held").is_visible()
    stills = page.locator("svg.still")
    assert stills.count() == len(plots.FIGURES)
    for still in stills.all():
        assert still.is_visible()
        assert still.locator("path").count() > 3
        assert still.get_attribute("aria-label")
    assert not page.locator(".scripted").is_visible()


def test_a_still_picture_stands_where_a_figure_is_not_drawn_yet(open_page, file):
    page = open_page(file)
    still = page.locator("figure > .plot + svg.still").last
    assert still.is_visible()
    draw_all(page)
    assert not still.is_visible()


def test_print_shows_the_still_pictures_whole(page):
    assert not page.locator("svg.still").first.is_visible()
    page.emulate_media(media="print")
    assert all(still.is_visible() for still in page.locator("svg.still").all())
    assert not any(plot.is_visible() for plot in page.locator(".plot").all())
    paper = {"width": 718, "height": 1000}  # CSS pixels of A4 between margins of 10 mm
    screen = page.viewport_size
    page.set_viewport_size(paper)
    assert page.evaluate("document.documentElement.scrollWidth") <= paper["width"]
    page.set_viewport_size(screen)


def test_text_stands_out_from_its_paper(page, open_page, many):
    for shown in (page, open_page(many)):
        for scheme in ("light", "dark"):
            shown.wait_for_selector(".first .plot[data-drawn]", state="attached")
            shown.emulate_media(color_scheme=scheme)
            for _ in range(50):  # figures are painted anew
                if not shown.evaluate(CONTRAST):
                    break
                shown.wait_for_timeout(200)
            assert shown.evaluate(CONTRAST) == []


def test_headings_descend_by_one_and_pictures_have_words(open_page, many):
    page = open_page(many)
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3, h4')].map(h => Number(h.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    nameless = "[...document.querySelectorAll('[role=img], [role=region], .plot')]"
    assert page.evaluate(f"{nameless}.filter(one => !one.getAttribute('aria-label')).length") == 0


def test_the_html_is_valid(file, many, tmp_path):
    nothing = bdpcap.analyze(tmp_capture(tmp_path, "0 > S 0:0(0) win 64240 <mss 1460>"))
    for page in (file, many, report.write_html(nothing, tmp_path / "empty.html")):
        tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(page.read_text("utf-8"))
        ids = [element.get("id") for element in tree.iter() if element.get("id")]
        assert len(ids) == len(set(ids))
        links = [element.get("href")[1:] for element in tree.iter() if element.get("href")]
        assert set(links) <= set(ids)


# many flows


def test_two_thousand_flows_are_ranked_and_do_not_sink_the_page(open_page, many):
    assert many.stat().st_size < LIMIT_BYTES
    page = open_page(many)
    page.wait_for_selector(".overview rect", state="attached")
    assert (
        page.locator(".verdicts article").count() == 1
    )  # of forty rounds; of three, nothing is to be mended
    assert page.get_by_text("19 more flows to 10.0.0.2:5001: the same").first.is_visible()
    assert page.get_by_text("The 1,000 of least weight are left out").count() == 1
    assert page.locator("tbody tr:not(.about) a").count() == 2 + 40
    assert page.get_by_text("Show 990 more flows").is_visible()
    page.wait_for_selector(".plot[data-drawn]", state="attached")
    assert page.locator(".plot[data-drawn]").count() == 1  # beside the verdict; no other is in view yet
    page.locator(".fold.flow summary").first.click()
    draw_all(page, len(plots.FIGURES))
    assert page.locator(".plot[data-drawn]").count() < 2 * TOGETHER
    assert page.complaints == []


def test_the_longest_addresses_leave_room_for_the_limits(open_page, many, tmp_path):
    """IPv6 written out, at both ends, on a laptop's screen."""
    longest = tmp_path / "longest.html"
    longest.write_text(
        re.sub(
            r"10\.0\.\d+\.\d+", "[2001:db8:1111:2222:3333:4444:5555:6666]", many.read_text(encoding="utf-8")
        ),
        encoding="utf-8",
    )
    page = open_page(longest)
    page.set_viewport_size({"width": 1280, "height": 900})
    table = page.locator("[aria-label=flows]").first
    assert "5555:6666" in table.inner_text()
    assert table.evaluate("element => element.scrollWidth - element.clientWidth") == 0


def test_no_word_in_a_bar_is_cut(page):
    """Where it has no room it is not shown: the limit's name alone, or nothing."""
    words = page.locator(".bar span").first.evaluate(
        """element => {
          const shown = [];
          for (let width = 4; width <= 160; width++) {
            element.style.flex = `0 0 ${width}px`;
            const box = element.getBoundingClientRect();
            const text = element.lastChild, range = document.createRange();
            const seen = [...text.data.trim().matchAll(/[^ ]+/g)].filter((word) => {
              const start = text.data.indexOf(word[0]);
              range.setStart(text, start);
              range.setEnd(text, start + word[0].length);
              const place = range.getBoundingClientRect();
              if (place.top >= box.bottom) return false;
              if (place.left < box.left - 0.5 || place.right > box.right + 0.5) throw `cut at ${width}: ${word[0]}`;
              return true;
            });
            shown.push(seen.length);
          }
          element.style.flex = "";
          return shown;
        }"""
    )
    assert (words[0], words[-1]) == (0, 2)
    assert words == sorted(words)
    assert 1 in words


def test_a_flow_of_the_table_is_a_click_away(open_page, many):
    page = open_page(many)
    page.get_by_text("Show 990 more flows").click()
    link = page.locator("tbody tr:not(.about) a").nth(10)
    brief = page.locator(link.get_attribute("href"))
    assert not brief.is_visible()
    link.click()
    assert brief.is_visible()


def shown_rows(page):
    """Return the cells of the rows of the table of flows that are shown."""
    return page.evaluate(
        "[...document.querySelectorAll('[aria-label=flows] tbody tr:not(.about)')].filter(row => !row.hidden)"
        ".map(row => [...row.cells].map(cell => cell.textContent))"
    )


def test_the_table_of_flows_is_sorted_by_a_click_and_filtered_by_words(open_page, many):
    page = open_page(many)
    titles = page.locator("[aria-label=flows] th").all_inner_texts()
    stream, ends = titles.index("stream"), titles.index("sender → receiver")
    assert len(shown_rows(page)) == 10
    heading = page.get_by_role("button", name="stream", exact=True)
    for direction in ("descending", "ascending"):
        heading.click()
        assert heading.locator("..").get_attribute("aria-sort") == direction
        numbers = [int(row[stream]) for row in shown_rows(page)]
        assert numbers == sorted(numbers, reverse=direction == "descending")
        assert len(numbers) == 10  # of all thousand rows, not of those shown before
    page.get_by_role("searchbox").fill("10.0.0.1:1010 RWND")
    found = shown_rows(page)
    assert found
    assert all("10.0.0.1:1010" in row[ends] and row[0] == "rwnd" for row in found)
    assert page.get_by_role("status").inner_text() == f"{len(found)} of 1000 flows"
    page.get_by_role("searchbox").fill("")
    page.get_by_text("Show 990 more flows").click()
    assert len(shown_rows(page)) == 1000
    assert page.complaints == []


def test_without_scripts_the_table_of_flows_is_whole(open_page, many):
    page = open_page(many, java_script_enabled=False)
    rows = page.locator("[aria-label=flows] tbody tr:not(.about)")
    assert rows.count() == 1000
    assert rows.last.is_visible()


def test_the_verdict_what_to_do_and_the_picture_are_on_the_first_screen(page):
    page.evaluate("scrollTo(0, 0)")
    boxes = [page.locator(f".first {part}").first.bounding_box() for part in (".sentence", ".do", ".plot")]
    verdict, action, picture = boxes
    assert verdict["y"] < action["y"]
    assert picture["x"] > verdict["x"] + verdict["width"]
    assert all(box["y"] + box["height"] < page.viewport_size["height"] / 1.5 for box in boxes[:2])
    assert picture["y"] + picture["height"] < page.viewport_size["height"]
    screen = page.viewport_size
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.locator(".first .plot").bounding_box()["y"] > page.locator(".first .do").bounding_box()["y"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size(screen)


def test_a_flow_of_few_bytes_that_lost_much_time_is_among_the_first(tmp_path):
    stalled = """
        0     > S  0:0(0) win 64240 <mss 1460,sackOK,wscale 7>
        +.020 < S. 0:0(0) ack 1 win 1000 <mss 1460,sackOK,wscale 0>
        +0    > .  1:1(0) ack 1 win 502
        +0    > P. 1:1001(1000) ack 1 win 502
        +.020 < .  1:1(0) ack 1001 win 0
        +5    < .  1:1(0) ack 1001 win 1000
        +0    > P. 1001:2001(1000) ack 1 win 502
        +.020 < .  1:1(0) ack 2001 win 1000
    """
    quick = bdpcap.analyze(write_many(tmp_path / "quick.pcap", 20, rounds=30))
    slow = bdpcap.analyze(tmp_capture(tmp_path, stalled))
    both = bdpcap.analyze([*quick.info.files, *slow.info.files])
    first = report.ranking.ranked(both).iloc[0]
    assert first["payload_bytes"] == 2000 < both.flows["payload_bytes"].max()
    assert first["limit"] == "rwnd"
    # Below ten segments and a hundredth of all bytes it has no place of its own, and is named.
    shown = report.ranking.groups(both)
    assert first["stream"] not in {group.flow.stream for group in shown}
    assert f"stream {first['stream']} was held for 5.0" in report.headline.rest(both, shown)


def tmp_capture(where, text):
    path = where / "scenario.pcap"
    path.write_bytes(pcap(scenario(text)))
    return path
