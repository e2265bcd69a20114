"""The page of a summary in a real browser: what it links, how it reads on a phone, in the dark and without scripts."""

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import html5lib
import pytest
from in_browser import CONTRAST
from oracles import ROOT
from packets import pcap
from scenario import scenario
from small_dataset import analysed
from small_transfer import START, write_many, write_pcap

from bdpcap.cli import main
from bdpcap.fleet.captures import tasks
from bdpcap.fleet.questions import DISTRIBUTED
from bdpcap.fleet.work import Order

DATE = datetime.fromtimestamp(START, UTC) + timedelta(hours=1)
LONGEST = "2001:db8:1111:2222:3333:4444:5555:6666"
SCRIPT = "<script>document.title = 'owned'</script>"
CONTROL = """
    0     > S  0:0(0) win 64240 <mss 1460>
    +.020 < S. 0:0(0) ack 1 win 1000 <mss 1460>
    +0    > P. 1:101(100) ack 1 win 502
    +.020 < .  1:1(0) ack 101 win 1000
"""
"""A connection of one small segment."""


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """A dataset with reports: captures of two days, a control flow, no flow, a broken one and a wrong one."""
    folder = tmp_path_factory.mktemp("fleet") / "captures"
    (folder / "a b").mkdir(parents=True)
    whole = write_many(folder / "a b" / "100%.pcap", 7).read_bytes()
    write_pcap(folder / "late.pcap", start=START + 86_400, rounds=20)
    (folder / "control.pcap").write_bytes(pcap(scenario(CONTROL)))
    (folder / "empty.pcap").write_bytes(pcap([]))
    (folder / "torn.pcap").write_bytes(whole[:-7])
    (folder / f"{SCRIPT.replace('/', '')}.pcap").write_bytes(b"no capture")
    sample = "rwnd_ipv6_drops.sender.pcapng.zst"
    (folder / sample).symlink_to(ROOT / "sample_captures" / sample)
    out = folder.with_name("out")
    analysed(tasks([str(folder)], rotated=False)[0], Order(str(out), None, ("bdpcap", "batch"), reports=True))
    return out


@pytest.fixture(scope="module")
def file(out):
    """The page, in the folder of the dataset."""
    page = out.parent / "summary.html"
    assert main(["summary", str(out), "--before-after", f"{DATE:%Y-%m-%dT%H:%M}", "-o", str(page)]) == 0
    return page


def test_the_verdict_on_the_fleet_comes_first(open_page, file):
    page = open_page(file)
    assert page.title() == "What limited the senders: 7 captures"
    verdict = page.locator(".first .head").bounding_box()
    assert verdict["y"] + verdict["height"] < 200
    assert page.locator(".first .do").is_visible()
    assert page.asked == [file.as_uri()]
    assert page.complaints == []


def test_each_capture_has_a_row_with_its_verdict_and_a_link_to_its_report(open_page, file):
    page = open_page(file)
    rows = page.locator("[aria-label=captures] tbody tr")
    assert rows.count() == 6
    assert rows.filter(has_text="empty.pcap").get_by_text("The capture has no frames.").is_visible()
    for name in ("a b/100%.pcap", "late.pcap"):
        row = rows.filter(has_text=name)
        assert row.locator(".chip").count() == 1
        row.get_by_role("link").click()
        assert page.title() == f"What limited the senders: {file.parent / 'captures' / name}"
        page.go_back()


def test_captures_that_failed_or_broke_are_listed_with_their_reasons(open_page, file):
    page = open_page(file)
    page.get_by_role("link", name="Why some could not be read").click()
    failed = page.locator("#error")
    assert SCRIPT.replace("/", "") in failed.inner_text()
    assert "no capture" in failed.inner_text() or "not a packet capture" in failed.inner_text()
    assert "torn.pcap" in page.locator("#damage").inner_text()


def test_control_flows_are_left_out_and_the_page_admits_it(open_page, file):
    page = open_page(file)
    said = page.locator(".first .numbers").inner_text()
    (counted,) = re.findall(r"leave out (\d+) control flow", said)
    drawn = page.locator(".multiples svg").first.get_attribute("aria-label")
    flows = sum(map(int, re.findall(r"over (\d+) flow", drawn)))
    assert page.locator(".files").inner_text().count(f"{flows + int(counted)} flows")


def test_a_phone_needs_no_sideways_scroll(open_page, file, tmp_path):
    longest = tmp_path / "longest.html"
    longest.write_text(re.sub(r"10\.0\.\d+\.\d+", f"[{LONGEST}]", file.read_text("utf-8")), "utf-8")
    for shown in (file, longest):
        page = open_page(shown)
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_text_stands_out_and_paper_has_room(open_page, file):
    page = open_page(file)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate(CONTRAST) == []
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 718, "height": 1000})  # CSS pixels of A4 between margins of 10 mm
    assert page.evaluate("document.documentElement.scrollWidth") <= 718


def test_without_scripts_the_page_is_whole(open_page, file):
    page = open_page(file, java_script_enabled=False)
    assert page.locator("[aria-label=captures] tbody tr").count() == 6
    pictures = page.locator(".multiples svg")
    assert pictures.count() == len(DISTRIBUTED)
    assert all(picture.locator("path.line").count() == 2 for picture in pictures.all())


def test_the_html_is_valid_and_its_headings_descend(file, open_page):
    tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(file.read_text("utf-8"))
    ids = [element.get("id") for element in tree.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    page = open_page(file)
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3, h4')].map(h => Number(h.tagName[1]))")
    assert (levels[0], levels.count(1)) == (1, 1)
    assert all(after <= before + 1 for before, after in pairwise(levels))
    nameless = "[...document.querySelectorAll('[role=img], [role=region]')]"
    assert page.evaluate(f"{nameless}.filter(one => !one.getAttribute('aria-label')).length") == 0
