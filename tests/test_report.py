"""The report: no network, nothing hostile runs, the verdict reads everywhere, figures say what tables say."""

import hashlib
import json
import re
from html.parser import HTMLParser
from importlib import resources

import plotly.offline
import pytest
from observe import observe
from scenario import CLIENT, SERVER, scenario
from small_transfer import START, write_many, write_pcap, write_pcapng

import bdpcap
from bdpcap import plots, report
from bdpcap.cli import main
from bdpcap.explain import trust
from bdpcap.report import page as page_of
from bdpcap.report import ranking, verdict
from bdpcap.report.overview import ROWS, overview
from bdpcap.words import units

ASSETS = resources.files("bdpcap.report") / "assets"
HOSTILE = "<img src=x onerror=alert(1)>{{ 7*7 }}</script>"


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    return bdpcap.analyze(write_pcap(tmp_path_factory.mktemp("captures") / "transfer.pcap"))


@pytest.fixture(scope="module")
def page(capture, tmp_path_factory):
    return report.write_html(capture, tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="module")
def flow(capture):
    return capture.flow(0)


class Elements(HTMLParser):
    """The elements of a page, their attributes, and the text of scripts and styles."""

    def __init__(self, page):
        super().__init__()
        self.elements = []
        self.text = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.text.append("")

    def handle_data(self, data):
        if self.text:
            self.text[-1] += data

    def of(self, tag):
        return [
            (attributes, text)
            for (name, attributes), text in zip(self.elements, self.text, strict=True)
            if name == tag
        ]


# words


def test_one_round_is_no_span_of_rounds(tmp_path):
    assert units.span("Round", 3, 3) == "Round 3"
    assert units.span("frame", 3, 5) == "frames 3 to 5"
    assert (units.number(1, "byte"), units.number(1448, "byte")) == ("1 byte", "1,448 bytes")
    short = bdpcap.analyze(write_pcap(tmp_path / "short.pcap", rounds=1))
    span = verdict.best_span(short.flow(0)).stripe
    assert span.first_round == span.last_round
    assert f"- Round {span.first_round} (frame" in report.text(short, full=True)
    assert f", round {span.first_round}:" in page_of.html(short)


# the page


def test_nothing_is_fetched(page):
    elements = Elements(page.read_text(encoding="utf-8"))
    addresses = [
        attributes[name]
        for _, attributes in elements.elements
        for name in ("src", "href", "srcset", "data", "action", "poster")
        if name in attributes
    ]
    assert addresses
    assert all(address.startswith("#") for address in addresses)
    assert not elements.of("link")
    assert not any("url(" in text or "@import" in text for _, text in elements.of("style"))


def test_only_the_pages_own_scripts_may_run(page):
    elements = Elements(page.read_text(encoding="utf-8"))
    (policy,) = (
        attributes["content"]
        for attributes, _ in elements.of("meta")
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in rules["script-src"]
    assert len(re.findall("'sha256-[^']{44}'", rules["script-src"])) == 2
    running = [text for attributes, text in elements.of("script") if "type" not in attributes]
    assert len(running) == 2
    assert not any(name.startswith("on") for _, attributes in elements.elements for name in attributes)


def test_no_figure_has_an_upload_button(page):
    (figures,) = (
        text for attributes, text in Elements(page.read_text()).of("script") if "type" in attributes
    )
    config = json.loads(figures)["config"]
    assert config == plots.CONFIG
    assert config["showSendToCloud"] is False
    assert config["displaylogo"] is False


@pytest.mark.parametrize("how", ["name", "comment"])
def test_hostile_text_stays_text(how, tmp_path):
    name = HOSTILE.replace("/", "") if how == "name" else "trace"
    file = tmp_path / f"{name}.pcapng"
    write_pcapng(file, HOSTILE if how == "comment" else "harmless")
    elements = Elements(
        report.write_html(bdpcap.analyze(file), tmp_path / "r.html").read_text(encoding="utf-8")
    )
    assert not elements.of("img")
    assert len(elements.of("script")) == 3
    shown = "".join(elements.text)
    assert "onerror=alert(1)" in shown
    assert "{{ 7*7 }}" in shown


def test_the_bundle_is_the_one_that_plotly_draws_for():
    bundle = (ASSETS / "plotly-basic.min.js").read_bytes()
    assert f"plotly.js (basic - minified) v{plotly.offline.get_plotlyjs_version()}".encode() in bundle[:200]
    assert f"`{hashlib.sha256(bundle).hexdigest()}`" in (ASSETS / "VENDORED.md").read_text()
    assert b"</script" not in bundle


def test_the_verdict_reads_without_scripts(page, flow):
    elements = Elements(page.read_text(encoding="utf-8"))
    shown = "".join(
        text
        for (tag, _), text in zip(elements.elements, elements.text, strict=True)
        if tag not in ("script", "style")
    )
    limit = flow.summary["limit"]
    assert units.share(flow.summary[f"{limit}_share"]) in shown
    assert "10.0.0.1:40000" in shown
    assert "tcp.stream eq 0" in shown
    assert shown.count("kB") > len(flow.rtts)


def test_a_capture_without_flows_has_a_report_too(tmp_path):
    empty = write_pcap(tmp_path / "handshake.pcap", rounds=0)
    html = report.write_html(bdpcap.analyze(empty), tmp_path / "r.html").read_text(encoding="utf-8")
    assert "nothing to judge" in html
    assert "; no TCP payload in it." in html  # captured where, nobody can tell
    assert not Elements(html).of("script")


# text and JSON


def test_text_fits_80_columns_with_the_verdict_first(capture):
    lines = report.text(capture).splitlines()
    assert max(map(len, lines)) <= 80
    heads = [line for line in lines if line.partition("  ")[0].partition(",")[0].isupper()]
    assert [head.partition("  ")[0] for head in heads] == ["VERDICT", "WHAT TO DO", "TO SEE IT IN WIRESHARK"]
    assert lines[4].startswith("VERDICT  receive window, ")
    assert any(
        re.search(r"tcp\.stream eq 0 && frame\.number >= \d+ && frame\.number <= \d+", line) for line in lines
    )


def test_text_of_the_longest_names_fits_80_columns(tmp_path):
    file = tmp_path / ("x" * 200 + ".pcapng")
    write_pcapng(file, "a comment without a blank " + "y" * 300)
    assert max(map(len, report.text(bdpcap.analyze(file)).splitlines())) <= 80


def test_json_holds_flows_and_their_rounds(capture, flow, tmp_path, capsys):
    file = tmp_path / "report.json"
    assert main(["report", *capture.info.files, "--json", str(file)]) == 0
    assert capsys.readouterr().out == ""
    document = json.loads(file.read_text(), parse_constant=pytest.fail)
    assert document["schema_version"] == 3
    (told,) = document["flows"]
    assert told["payload_bytes"] == flow.summary["payload_bytes"]
    assert [round_["start_ns"] for round_ in told["rounds"]] == flow.rtts["start_ns"].tolist()
    assert document["capture"]["frames"] == capture.info.frames


def test_text_goes_to_standard_output_and_no_page_is_left(capture, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["report", *capture.info.files, "--text", "-"]) == 0
    assert capsys.readouterr().out == report.text(capture)
    assert list(tmp_path.iterdir()) == []


# all flows in time


def test_the_crowd_is_as_high_as_flows_are_alive(tmp_path):
    # Flows start every 30 ms and live 41 ms or more, so that two are alive at any time, and never four.
    capture = bdpcap.analyze(write_many(tmp_path / "many.pcap", 90, rounds=1))
    drawn = overview(capture, ranking.ranked(capture))
    assert len(drawn.rows) == ROWS
    assert drawn.crowd.flows == 90 - ROWS
    assert 2 <= drawn.crowd.most <= 3
    limits = {limit for limit, _ in drawn.crowd.areas}
    assert limits <= set(capture.flows["limit"])


def test_both_directions_of_a_stream_are_told_apart():
    asked = """
        0     > S  0:0(0) win 64240 <mss 1460>
        +.020 < S. 0:0(0) ack 1 win 65535 <mss 1460>
        +0    > .  1:1(0) ack 1 win 64240
        +0    > P. 1:101(100) ack 1 win 64240
        +.020 < P. 1:1001(1000) ack 101 win 65535
        +.020 > .  101:101(0) ack 1001 win 64240
    """
    capture = observe(scenario(asked)).capture
    drawn = overview(capture, ranking.ranked(capture))
    ways = {row.flow["sender"]: row.label for row in drawn.rows}
    assert ways == {str(CLIENT): "stream 0 →", str(SERVER): "stream 0 ←"}
    assert drawn.both
    capture = observe(scenario(TRANSFER)).capture
    drawn = overview(capture, ranking.ranked(capture))
    assert [row.label for row in drawn.rows] == ["stream 0"]
    assert not drawn.both


@pytest.mark.parametrize(
    ("apart_s", "unit", "last"),
    [(60, "s", "60"), (36_000, "h", "10"), (864_000, "days", "10"), (158e6, "years", "5")],
)
def test_the_axis_of_captures_far_apart_has_short_labels(apart_s, unit, last, tmp_path):
    early = write_pcap(tmp_path / "early.pcap", rounds=3)
    late = write_pcap(tmp_path / "late.pcap", port=40_001, rounds=3, start=START + apart_s)
    capture = bdpcap.analyze([early, late])
    drawn = overview(capture, ranking.ranked(capture))
    assert (drawn.unit, drawn.ticks[-1][1]) == (unit, last)


# trust


TRANSFER = """
    0     > S  0:0(0) win 64240 <mss 1460,sackOK,wscale 7>
    +.020 < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 7>
    +0    > .  1:1(0) ack 1 win 502
    +0    > .  1:1461(1460) ack 1 win 502
    +.020 < .  1:1(0) ack 1461 win 502
"""


@pytest.mark.parametrize(
    ("text", "caveat"),
    [
        (
            TRANSFER.replace("1:1461(1460)", "1:4381(4380)").replace("ack 1461", "ack 4381"),
            "larger than the MSS",
        ),
        (
            "\n".join(line for line in TRANSFER.splitlines() if "<" not in line[:12]),
            "Without an acknowledgment of the receiver: 1 flow.",
        ),
        ("\n".join(TRANSFER.splitlines()[4:]), "Handshake not captured: 1 flow."),
    ],
)
def test_what_makes_a_capture_doubtful_is_said(text, caveat):
    whole = trust.caveats(observe(scenario(TRANSFER)).capture)
    assert not any(caveat in one for one in whole)
    assert any(caveat in one for one in trust.caveats(observe(scenario(text)).capture))


# units


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (units.exact_bytes(1), "1 byte"),
        (units.data_size(73552), "73.6 kB"),
        (units.data_size(999), "999 B"),
        (units.data_size(999_960), "1.00 MB"),
        (units.rate(12_357_125.4), "12.4 Mbit/s"),
        (units.duration(20_188_000), "20.2 ms"),
        (units.duration(999_600), "1 ms"),
        (units.duration(4_200_000_000), "4.2 s"),
        (units.duration(3_720_000_000_000), "1 h 02 min"),
        (units.duration(50 * 3_600_000_000_000), "2 d 2 h"),
        (units.duration(8.5 * units.YEAR_NS), "8.5 years"),
        (units.share(0.004), "< 1 %"),
        (units.share(0.996), "> 99 %"),
        (units.share(1.0), "100 %"),
        (units.data_size(None), "-"),
        (units.duration(float("nan")), "-"),
        (units.instant(1_700_000_000_123_456_789), "2023-11-14 22:13:20.123456 UTC"),
    ],
)
def test_quantities_read_well(shown, expected):
    assert shown == expected
