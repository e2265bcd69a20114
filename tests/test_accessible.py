"""Every kind of page that bdpcap writes or serves, held to axe-core, a phone's width, and silence.

axe-core's rules are those of WCAG 2.2 and of good practice: https://github.com/dequelabs/axe-core.
"""

import re
import signal
import subprocess
import sys
from itertools import pairwise

import dpkt
import pytest
from axe_playwright_python.sync_playwright import Axe
from in_browser import CONTRAST
from oracles import ROOT, SAMPLES
from packets import pcap
from scenario import scenario
from small_dataset import analysed
from small_transfer import CLIENT, SERVER, START, write_many, write_pcapng

import bdpcap
from bdpcap import report
from bdpcap.cli import main
from bdpcap.fleet.captures import tasks
from bdpcap.fleet.work import Order

SAMPLE = ROOT / "sample_captures"
SENDER, RECEIVER = (str(SAMPLE / f"rwnd_slow_reader.{side}.pcap.zst") for side in ("sender", "receiver"))
HOSTILE = "<img src=x onerror=alert(1)> \N{RIGHT-TO-LEFT OVERRIDE}" + "long" * 100
UNANSWERED = """
    0     > S  0:0(0) win 64240 <mss 1460>
    +1    > S  0:0(0) win 64240 <mss 1460>
"""


def write_one(folder):
    return report.write_html(bdpcap.analyze(SENDER), folder / "one.html")


def write_several(folder):
    short = write_many(folder / "many.pcap", 50)
    return report.write_html(bdpcap.analyze([short, *SAMPLES]), folder / "several.html")


def write_fleet(folder):
    dataset = folder / "out"
    for task in tasks([str(SAMPLE)], rotated=False)[0]:
        analysed([task], Order(str(dataset), None, ("bdpcap", "batch"), reports=True))
    assert main(["summary", str(dataset), "-o", str(folder / "fleet.html")]) == 0
    return folder / "fleet.html"


def write_pair(folder):
    assert main(["pair", SENDER, RECEIVER, "-o", str(folder / "pair.html")]) == 0
    return folder / "pair.html"


def write_comparison(folder):
    settings = ["--link-rate", "100Mbit/s", "--rtt", "24ms"]
    page = folder / "compare.html"
    assert main(["compare", SENDER, str(SAMPLES[-1]), "--plot", str(page), *settings]) == 0
    return page


def write_plot(folder):
    assert main(["plot", SENDER, "-o", str(folder / "plot.html")]) == 0
    return folder / "plot.html"


def write_overview(folder):
    long = str(SAMPLE / "rwnd_zero_window.sender.pcap.zst")
    assert main(["plot", long, "--kind", "sequence", "-o", str(folder / "overview.html")]) == 0
    return folder / "overview.html"


def write_udp(folder):
    with (folder / "udp.pcap").open("wb") as file:
        writer = dpkt.pcap.Writer(file)
        for number in range(20):
            udp = dpkt.udp.UDP(sport=5000 + number % 3, dport=9, data=bytes(1000), ulen=1008)
            ip = dpkt.ip.IP(src=CLIENT, dst=SERVER, p=dpkt.ip.IP_PROTO_UDP, ttl=64, data=udp, len=1028)
            frame = dpkt.ethernet.Ethernet(type=dpkt.ethernet.ETH_TYPE_IP, data=ip)
            writer.writepkt(bytes(frame), START + number)
    return report.write_html(bdpcap.analyze(folder / "udp.pcap"), folder / "udp.html")


def write_failed(folder):
    (folder / "failed.pcap").write_bytes(pcap(scenario(UNANSWERED)))
    return report.write_html(bdpcap.analyze(folder / "failed.pcap"), folder / "failed.html")


def write_hostile(folder):
    named = write_pcapng(folder / f"{HOSTILE[:100].replace('/', '')}.pcapng", HOSTILE)
    return report.write_html(bdpcap.analyze(named), folder / "hostile.html")


WRITTEN = {
    write.__name__.removeprefix("write_"): write
    for write in (
        write_one, write_several, write_fleet, write_pair, write_comparison, write_plot, write_overview, write_udp,
        write_failed, write_hostile,
    )
}  # fmt: skip


@pytest.fixture(scope="module", params=WRITTEN)
def written(request, tmp_path_factory):
    """Each kind of page as a file."""
    return WRITTEN[request.param](tmp_path_factory.mktemp(request.param))


def unfold(page):
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")


def faults(page):
    """Return what axe-core calls serious or critical, with the elements."""
    found = Axe().run(page).response["violations"]
    return [
        (fault["id"], [node["html"][:200] for node in fault["nodes"]])
        for fault in found
        if fault["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(open_page, written, scheme):
    page = open_page(written, color_scheme=scheme)
    unfold(page)
    page.wait_for_timeout(500)  # figures come into view
    assert faults(page) == []
    assert page.complaints == []
    assert page.asked == [written.as_uri()]


def test_a_phone_needs_no_sideways_scroll(open_page, written):
    page = open_page(written)
    page.set_viewport_size({"width": 390, "height": 844})
    unfold(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def on_a_phone(page, width=390):
    """Draw every figure of a page on a phone."""
    page.set_viewport_size({"width": width, "height": 844})
    page.reload()
    unfold(page)
    for plot in page.locator(".plot, #plot").all():
        plot.scroll_into_view_if_needed()
        page.wait_for_timeout(300)


@pytest.mark.parametrize("width", [360, 430])
def test_no_part_of_a_figure_lies_over_another_on_a_phone(open_page, width, written):
    page = open_page(written)
    on_a_phone(page, width)
    parts = [".g-gtitle", ".nsewdrag", ".rangeslider-bg", ".g-xtitle", ".legend"]
    for plot in page.locator(".js-plotly-plot").all():
        boxes = [plot.locator(part).last.bounding_box() for part in parts if plot.locator(part).count()]
        for above, below in pairwise(boxes):
            assert above["y"] + above["height"] <= below["y"] + 1, boxes


def test_no_text_of_a_figure_is_cut_on_a_phone(open_page, written):
    page = open_page(written)
    on_a_phone(page)
    cut = page.evaluate(
        "[...document.querySelectorAll('.js-plotly-plot .main-svg text')].filter(one => {"
        " const [own, whole] = [one, one.closest('.js-plotly-plot')].map(part => part.getBoundingClientRect());"
        " return own.width && (own.left < whole.left - 1 || own.right > whole.right + 1); }).map(one => one.textContent)"
    )
    assert cut == []


def test_print_is_as_wide_as_paper_and_dark_on_light(open_page, written):
    page = open_page(written, color_scheme="dark")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 718, "height": 1000})  # CSS pixels of A4 between margins of 10 mm
    assert page.evaluate("document.documentElement.scrollWidth") <= 718
    assert page.evaluate(CONTRAST) == []


def test_everything_that_scrolls_or_is_clicked_has_focus_by_tab(open_page, written):
    page = open_page(written)
    unfold(page)
    lost = page.evaluate(
        "[...document.querySelectorAll('a, button, summary, input, pre, .scroll, .plot')]"
        ".filter(one => one.checkVisibility() && one.tabIndex < 0 && !one.closest('.modebar'))"
        ".map(one => one.outerHTML.slice(0, 100))"
    )
    assert lost == []


SAID = {
    "pair": "every byte in one capture is in the other",
    "compare": "Throughput by window of 2 captures: the figure needs JavaScript",
    "plot": "time since capture start",
    "overview": "time since capture start",
    "udp": "Only UDP: 20 datagrams in 3 flows",
    "failed": "The connection was never answered",
}
"""Text on a page that has no section with a verdict on a flow, by the name of its file."""


def test_without_scripts_a_page_says_and_shows_what_it_has(open_page, written):
    page = open_page(written, java_script_enabled=False)
    assert SAID.get(written.stem, "Verdict") in page.locator("body").inner_text()
    pictures = page.locator("svg").locator("visible=true").count()
    assert (pictures > 0) == (written.stem not in ("compare", "udp", "failed"))


@pytest.fixture(scope="module")
def address():
    """Address of the served figures."""
    command = [sys.executable, "-m", "bdpcap", "view", SENDER, "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        yield re.search(r"http://\S+", server.stderr.readline())[0]
        server.send_signal(signal.SIGINT)
        server.wait(10)


@pytest.fixture
def served(browser, address):
    """Return a function that opens the served figures; it takes Playwright's options of a page."""
    pages = []

    def open_(**how):
        page = browser.new_page(**how)
        pages.append(page)
        page.goto(address)
        page.wait_for_function(
            "() => document.querySelector('#figure .js-plotly-plot')?.calcdata?.length > 5"
        )
        return page

    yield open_
    for page in pages:
        page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_served_page_has_no_serious_fault(served, width, scheme):
    page = served(viewport={"width": width, "height": 844}, color_scheme=scheme)
    assert faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_on_a_phone_the_served_page_names_its_lines_and_its_time(served):
    page = served(viewport={"width": 1280, "height": 844})
    names = page.locator("#names")
    assert not names.is_visible()
    legends = page.locator("#figure").locator(".legend2text, .legend3text")
    legends.first.wait_for()
    shown = legends.all_text_contents()
    assert {"in flight", "receive window", "smoothed RTT"} < set(shown)
    page.set_viewport_size({"width": 390, "height": 844})
    assert sorted(names.locator("span").all_inner_texts()) == sorted(shown)
    assert names.locator("li").first.inner_text() == "0 s to 6.34 s"


def test_the_served_page_is_printed_as_wide_as_paper_and_dark_on_light(served):
    page = served(viewport={"width": 718, "height": 1000}, color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 718
    assert page.evaluate(CONTRAST) == []


def test_without_scripts_the_served_page_names_the_command_that_needs_none(browser, address):
    page = browser.new_page(java_script_enabled=False)
    page.goto(address)
    assert "bdpcap report CAPTURE -o report.html" in page.locator("body").inner_text()
    assert not page.get_by_text("Loading...").is_visible()
    page.context.close()
