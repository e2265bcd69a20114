"""The page of a capture with 300 flows, in a real browser: short, folded, sorted, and usable by keyboard."""

import re
from operator import attrgetter

import pytest
from oracles import SAMPLES
from packets import Address, pcap
from scenario import scenario
from small_transfer import CLIENT, SERVER, write_many, write_pcap

import bdpcap
from bdpcap import report
from bdpcap.report import screen
from bdpcap.report.cards import HEIGHT, WIDTH, cards

FLOWS = 300
MOST_PIXELS, WIDE = 4000, 1280
"""Height of the page before anything is unfolded, on a laptop's screen."""
MOST_SHEETS = 6
LONGEST = "[2001:db8:1111:2222:3333:4444:5555:6666]"
SHEET = re.compile(rb"/Type\s*/Page\b")
"""A page of a PDF (ISO 32000-1 section 7.7.3.3)."""
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Return the page on flows of every limit: the sample captures, and short transfers between two hosts."""
    where = tmp_path_factory.mktemp("many")
    capture = bdpcap.analyze([write_many(where / "short.pcap", 291), *SAMPLES])
    assert len(capture.flows) == FLOWS
    return report.write_html(capture, where / "report.html")


@pytest.fixture
def page(open_page, many):
    shown = open_page(many)
    shown.set_viewport_size({"width": WIDE, "height": 900})
    shown.wait_for_selector(".first .plot[data-drawn]", state="attached")
    return shown


def test_the_page_is_short_and_nothing_for_the_decision_is_folded(page):
    assert page.evaluate("document.documentElement.scrollHeight") <= MOST_PIXELS
    assert page.locator("details[open]").count() == 0
    verdicts = page.locator(".verdicts article")
    assert verdicts.count() > 3
    for part in (".head", ".sentence", ".do"):
        assert all(verdict.locator(part).first.is_visible() for verdict in verdicts.all())
    assert page.locator(".doubts li").first.is_visible()
    assert page.complaints == []


def test_few_sheets_are_printed(page):
    printed = page.pdf(format="A4", print_background=True, prefer_css_page_size=True)
    assert 1 < len(SHEET.findall(printed)) <= MOST_SHEETS


def test_what_is_open_is_printed_and_what_is_folded_is_not(page):
    page.locator(".fold.flow summary").first.press("Enter")
    page.emulate_media(media="print")
    shown = [one.is_visible() for one in page.locator(".fold.flow .columns").all()]
    assert shown == [True] + [False] * (len(shown) - 1)
    assert page.locator(".fold.flow svg.still").first.is_visible()
    assert not page.locator(".about").first.is_visible()
    assert not page.locator(".copy").first.is_visible()


def test_a_folded_flow_opens_by_keyboard_and_its_figures_are_drawn_and_zoomed(page):
    page.locator(".fold.flow summary").first.focus()
    page.keyboard.press("Enter")
    plot = page.locator(".fold.flow .plot[data-kind=rtt]").first
    plot.scroll_into_view_if_needed()
    page.wait_for_selector(".fold.flow .plot[data-kind=rtt][data-drawn]")
    low, high = plot.evaluate("plot => plot.layout.xaxis.range")
    plot.focus()
    page.keyboard.press("+")
    quarter = (high - low) / 4
    assert plot.evaluate("plot => plot.layout.xaxis.range") == pytest.approx([low + quarter, high - quarter])


def test_a_row_opens_and_closes_by_keyboard_and_keeps_its_place_when_sorted(page):
    row = page.locator("[aria-label=flows] tbody tr:not(.about)").nth(3)
    button = row.get_by_role("button")
    about = page.locator(f".about[data-name='stream {row.locator('td').nth(1).inner_text()}']")
    assert not about.is_visible()
    button.focus()
    page.keyboard.press("Enter")
    about.get_by_text("In Wireshark:").wait_for()
    assert button.get_attribute("aria-expanded") == "true"
    page.get_by_role("button", name="bytes", exact=True).click()
    assert about.is_visible()
    name = about.evaluate("about => about.previousElementSibling.cells[1].textContent")
    assert f"stream {name}" == about.get_attribute("data-name")
    about.locator("summary").first.press("Enter")
    about.wait_for(state="hidden")
    assert button.get_attribute("aria-expanded") == "false"


def test_an_opened_row_leaves_the_columns_as_they_are(page):
    widths = (
        "() => [...document.querySelectorAll('[aria-label=flows] th')].map(th => Math.round(th.offsetWidth))"
    )
    before = page.evaluate(widths)
    page.locator("td button").nth(9).click()
    assert page.evaluate(widths) == before


def test_the_links_of_the_overview_are_read_out_and_lead_to_an_opened_row(page):
    table = page.get_by_role("region", name="flows", exact=True)
    links = page.get_by_role("region", name="all flows in time").get_by_role("link")
    assert links.count() == page.locator(".overview a").count() > 8
    last = links.last
    target = page.locator(last.get_attribute("href"))
    page.get_by_role("searchbox").fill("no such flow")
    assert table.locator("tbody tr").filter(visible=True).count() == 0
    last.focus()
    page.keyboard.press("Enter")
    page.wait_for_function(
        "id => document.querySelector(id).checkVisibility()", arg=last.get_attribute("href")
    )
    page.wait_for_timeout(300)
    assert page.get_by_role("searchbox").input_value() == ""
    assert target.evaluate("one => one.getBoundingClientRect().top < innerHeight")


def test_every_row_and_link_of_the_overview_has_a_name(page):
    tree = page.get_by_role("region", name="all flows in time").aria_snapshot()
    names = re.findall(r"- '?(?:link|img)(.*)", tree)
    assert len(names) == page.locator(".overview > a, .overview > [role=img]").count() > 8
    assert all(re.match(r' "Stream \d+, .+ → .+: .+ %"', name) for name in names)


def test_commands_are_copied_as_they_are_shown(page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button = page.get_by_role("button", name="Copy").first
    shown = page.locator("pre").first.text_content()
    button.focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == shown != ""


def test_without_scripts_everything_is_there_and_opens(open_page, many):
    page = open_page(many, java_script_enabled=False)
    assert page.locator("[aria-label=flows] tbody tr:not(.about)").count() == FLOWS
    about = page.locator(".about details").first
    about.locator("summary").first.click()
    assert about.get_by_text("In Wireshark:").is_visible()
    page.locator(".fold.flow summary").first.click()
    assert page.locator(".fold.flow svg.still").first.is_visible()
    page.locator(".overview a").last.click()
    assert page.locator(page.locator(".overview a").last.get_attribute("href")).is_visible()


def test_a_phone_with_the_longest_addresses_needs_no_sideways_scroll(open_page, many, tmp_path):
    longest = tmp_path / "longest.html"
    text = re.sub(r"\b(10\.0|192\.168)\.\d+\.\d+\b", LONGEST, many.read_text(encoding="utf-8"))
    longest.write_text(text, encoding="utf-8")
    page = open_page(longest)
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


# flows of one limit, hosts and remedy


def test_flows_of_one_remedy_between_other_hosts_share_a_card(tmp_path):
    first = write_pcap(tmp_path / "first.pcap")
    (tmp_path / "other.pcap").write_bytes(
        first.read_bytes().replace(CLIENT + SERVER, b"\x0a\x00\x00\x03\x0a\x00\x00\x04")
        .replace(SERVER + CLIENT, b"\x0a\x00\x00\x04\x0a\x00\x00\x03")
    )  # fmt: skip
    capture = bdpcap.analyze([first, tmp_path / "other.pcap"])
    (card,) = cards(capture, screen.entries(report.ranking.groups(capture)))
    assert [group.flow.sender for group in card.alike] == ["10.0.0.3:40000"]
    assert [chart.group for chart in card.charts] == [None, *card.alike]


def test_a_small_multiple_has_the_area_of_what_its_flow_carried(tmp_path):
    """Width is time and height is throughput, so that the area is proportional to the bytes."""
    capture = bdpcap.analyze(write_many(tmp_path / "few.pcap", 5, rounds=40))
    (card,) = cards(capture, screen.entries(report.ranking.groups(capture)))
    assert len(card.charts) == 5
    for chart in card.charts:
        assert sum(width for _, _, width, _ in chart.columns) == pytest.approx(WIDTH, abs=0.5)
        assert max(high for *_, high in chart.columns) == pytest.approx(HEIGHT, rel=0.05)
        flow = capture.flow(int(chart.flow["stream"]))
        area = sum(width * high for _, _, width, high in chart.columns) / (WIDTH * HEIGHT)
        lasting_s = (flow.summary["end_ns"] - flow.summary["start_ns"]) / 1e9
        highest = flow.rtts["throughput_bps"].max()
        assert area * lasting_s * highest / 8 == pytest.approx(flow.summary["payload_bytes"], rel=0.1)


def test_a_short_burst_flattens_no_small_multiple(tmp_path):
    """10 kB acknowledged within 2 ms, then 10 kB each half second: the burst is too narrow to be seen."""
    rounds = [".002"] + ["0.5"] * 20
    dialogue = """
    0     > S  0:0(0)       win 64240 <mss 1000,sackOK>
    +.002 < S. 0:0(0) ack 1 win 65535 <mss 1000,sackOK>
    +0    > .  1:1(0) ack 1 win 64240
    """ + "\n".join(
        "\n".join(
            f"+0 > . {at}:{at + 1000}(1000) ack 1 win 64240" for at in range(first, first + 10_000, 1000)
        )
        + f"\n+{rtt} < . 1:1(0) ack {first + 10_000} win 65535"
        for first, rtt in zip(range(1, 10**6, 10_000), rounds, strict=False)
    )
    flows = [scenario(dialogue, client=Address("192.0.2.1", port)) for port in (40000, 40001)]
    (tmp_path / "burst.pcap").write_bytes(
        pcap(sorted((packet for flow in flows for packet in flow), key=attrgetter("time_ns")))
    )
    capture = bdpcap.analyze(tmp_path / "burst.pcap")
    (card,) = cards(capture, screen.entries(report.ranking.groups(capture)))
    for chart in card.charts:
        heights = sorted(high for *_, high in chart.columns)
        assert heights[len(heights) // 2] > HEIGHT / 4
        assert heights[-1] == HEIGHT


def test_a_flow_alone_has_no_small_multiple(tmp_path):
    capture = bdpcap.analyze(write_pcap(tmp_path / "one.pcap"))
    (card,) = cards(capture, screen.entries(report.ranking.groups(capture)))
    assert card.charts == card.alike == []
