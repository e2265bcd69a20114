"""The report: no network, nothing hostile runs, the verdict reads everywhere, figures say what tables say."""

import hashlib
import json
import re
from html.parser import HTMLParser
from importlib import resources
from itertools import pairwise
from xml.etree import ElementTree as ET

import numpy as np
import plotly.offline
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from observe import observe
from scenario import scenario
from small_transfer import MSS, ROUNDS, SEGMENTS, write_many, write_pcap, write_pcapng

import bdpcap
from bdpcap import palette, plots, report, trust, units
from bdpcap.cli import main
from bdpcap.limits import LIMITS
from bdpcap.plots import decimate, ribbon, rtt, svg
from bdpcap.plots.canvas import Canvas, floats
from bdpcap.plots.scale import Scale
from bdpcap.report import page as page_of
from bdpcap.report import verdict
from bdpcap.report.overview import overview

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
    assert f"- Round {span.first_round} (frame" in report.text(short)
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
    assert "0 flows with payload. <a" in html  # captured where, nobody can tell
    assert not Elements(html).of("script")


# text and JSON


def test_text_fits_80_columns_with_the_verdict_first(capture):
    lines = report.text(capture).splitlines()
    assert max(map(len, lines)) <= 80
    heads = [line for line in lines if line and not line.startswith((" ", "bdpcap", "/"))]
    assert heads == ["VERDICT", "EVIDENCE, stream 0", "CAPTURE", "CAVEATS", "TO SEE IT IN WIRESHARK"]
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
    assert document["schema_version"] == 1
    (told,) = document["flows"]
    assert told["payload_bytes"] == flow.summary["payload_bytes"]
    assert [round_["start_ns"] for round_ in told["rounds"]] == flow.rtts["start_ns"].tolist()
    assert document["capture"]["frames"] == capture.info.frames


def test_text_goes_to_standard_output_and_no_page_is_left(capture, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["report", *capture.info.files, "--text", "-"]) == 0
    assert capsys.readouterr().out == report.text(capture)
    assert list(tmp_path.iterdir()) == []


# figures


def test_every_limit_has_a_colour_and_a_name_of_its_own():
    assert tuple(palette.LIMIT_COLOURS) == tuple(palette.LIMIT_NAMES) == tuple(LIMITS)
    assert len(set(palette.LIMIT_COLOURS.values())) == len(LIMITS)


def test_the_ribbon_tiles_the_flow_as_its_rounds_do(flow):
    stripes = ribbon.stripes(flow.rtts)
    assert stripes[0].start_ns == flow.rtts["start_ns"].iloc[0]
    assert stripes[-1].end_ns == flow.rtts["end_ns"].iloc[-1]
    assert all(left.end_ns == right.start_ns for left, right in pairwise(stripes))
    for stripe in stripes:
        rounds = flow.rtts[flow.rtts["round"].between(stripe.first_round, stripe.last_round)]
        assert set(rounds["limit"]) == {stripe.limit}


def test_a_stripe_is_shown_by_the_round_that_is_typical_of_its_time(flow):
    # The longest round is the one that stalled; most of the time went by at the rate of the others.
    rounds = flow.rtts.iloc[[0] * 4].assign(
        round=range(4),
        start_ns=[0, 10, 20, 45],
        end_ns=[10, 20, 45, 55],
        throughput_bps=[9e6, 8e6, 1e5, 7e6],
        evidence=["fast", "middle", "stalled", "slow"],
    )
    for kept, told in (([0, 1, 3], "middle"), ([0, 1, 2, 3], "slow"), ([0], "fast")):
        (stripe,) = ribbon.stripes(rounds.iloc[kept])
        assert stripe.evidence == told, kept


def test_the_ribbons_colours_are_the_tables_limits(flow):
    drawn = {
        trace.line.color: sum(end - start for start, _, end, _ in zip(*[iter(trace.x)] * 4, strict=True))
        for trace in plots.window_figure(flow).data
        if trace.yaxis == "y2"
    }
    lasting = (flow.rtts["end_ns"] - flow.rtts["start_ns"]).groupby(flow.rtts["limit"]).sum() / 1e9
    assert drawn == pytest.approx(
        {palette.LIMIT_COLOURS[limit]: time for limit, time in lasting.items()}, abs=1e-6
    )


def test_more_rounds_than_stripes_still_tile(flow):
    n = 5 * ribbon.STRIPES
    many = flow.rtts.iloc[np.zeros(n, dtype=int)].assign(
        round=np.arange(n),
        start_ns=np.arange(n) * 10,
        end_ns=np.arange(n) * 10 + 10,
        limit=np.where(np.arange(n) % 5 < 3, "rwnd", "cwnd"),
    )
    stripes = ribbon.stripes(many.reset_index(drop=True))
    assert len(stripes) == ribbon.STRIPES
    assert (stripes[0].start_ns, stripes[-1].end_ns) == (0, n * 10)
    assert {stripe.limit for stripe in stripes} == {"rwnd"}  # three of every five rounds


@pytest.mark.parametrize("kind", plots.FIGURES)
def test_figures_have_units_and_only_what_the_basic_bundle_draws(kind, flow):
    figure = plots.figure(flow, kind)
    assert {trace.type for trace in figure.data} == {"scatter"}
    assert figure.layout.xaxis.title.text == "time since capture start (s)"
    assert figure.layout.yaxis.ticksuffix in ("B", "s", "bit/s")
    assert figure.layout.yaxis.rangemode == "tozero"
    assert all("%{" in trace.hovertemplate for trace in figure.data)


def test_an_unknown_figure_is_named(flow):
    with pytest.raises(ValueError, match="no figure 'pie'; there are window"):
        plots.figure(flow, "pie")


def test_the_window_is_drawn_at_its_size_and_time(flow):
    traces = {trace.name.partition(" (")[0]: trace for trace in plots.window_figure(flow).data}
    assert max(traces["window"].y) == flow.events["window_bytes"].max()
    assert max(traces["in flight"].y) == flow.events["in_flight_bytes"].max()
    known = flow.events.dropna(subset="in_flight_bytes")["time_ns"] - flow.summary["start_ns"]
    assert traces["in flight"].x[0] == pytest.approx(known.iloc[0] / 1e9)
    assert traces["in flight"].x[-1] == pytest.approx(known.iloc[-1] / 1e9)


def test_the_sequence_figure_shows_sack_blocks_and_zero_windows():
    text = """
        0     > S  0:0(0) win 64240 <mss 1460,sackOK,wscale 7>
        +.020 < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 0>
        +0    > .  1:1(0) ack 1 win 502
        +0    > .  1:1001(1000) ack 1 win 502
        +0    > .  1001:2001(1000) ack 1 win 502
        +0    > .  2001:3001(1000) ack 1 win 502
        +.020 < .  1:1(0) ack 1 win 65535 <sack 1001:2001>
        +0    < .  1:1(0) ack 1 win 65535 <sack 1001:3001>
        +.001 > .  1:1001(1000) ack 1 win 502
        +.020 < .  1:1(0) ack 3001 win 0
        +.001 < .  1:1(0) ack 3001 win 0 <sack 1:1001>        # a D-SACK: the first copy came late
    """
    flow = observe(scenario(text)).capture.flow(0)
    traces = {trace.name: trace for trace in plots.sequence_figure(flow).data}
    blocks = traces["SACK block"]
    assert [tuple(one) for one in blocks.customdata[::3].tolist()] == [(7, 1001, 2001), (8, 1001, 3001)]
    assert [blocks.y[0], blocks.y[1], blocks.y[3], blocks.y[4]] == [1001, 2001, 1001, 3001]
    assert list(traces["zero window"].customdata) == [10, 11]
    assert list(traces["zero window"].y) == [3001, 3001]
    assert list(traces["retransmission"].y) == [1001]


def test_what_was_sent_in_the_rounds_is_what_the_capture_holds(flow):
    steps = next(trace for trace in plots.throughput_figure(flow).data if trace.name == "sent")
    lasting = (flow.rtts["end_ns"] - flow.rtts["start_ns"]).to_numpy() / 1e9
    sent_bytes = np.nansum(np.asarray(steps.y)[::2] / 8 * lasting)
    assert sent_bytes == pytest.approx(SEGMENTS * MSS * ROUNDS)


@given(st.lists(st.floats(1e-6, 10), min_size=1, max_size=60))
def test_the_smoothed_rtt_stays_within_its_samples_and_settles(samples):
    smooth = rtt.smoothed(np.array(samples))
    assert smooth[0] == samples[0]
    assert min(samples) * (1 - 1e-9) <= smooth.min() <= smooth.max() <= max(samples) * (1 + 1e-9)
    for last, sample, now in zip(smooth, samples[1:], smooth[1:], strict=False):
        assert now == pytest.approx(7 / 8 * last + 1 / 8 * sample)  # RFC 6298 section 2.3


@pytest.mark.parametrize("kind", plots.FIGURES)
def test_a_still_is_xml_that_shows_every_trace_within_its_frame(kind, flow):
    figure = plots.figure(flow, kind)
    tree = ET.fromstring(svg.svg(figure, 'said & "done"'))  # noqa: S314 - ours
    assert tree.get("aria-label") == 'said & "done"'
    texts = [element.text for element in tree.iter("{http://www.w3.org/2000/svg}text")]
    assert {trace.name for trace in figure.data} <= set(texts)
    assert any(text.endswith(figure.layout.yaxis.ticksuffix) for text in texts)
    drawn = {
        element.get("stroke") for element in tree.iter("{http://www.w3.org/2000/svg}path") if element.get("d")
    }
    assert {trace.line.color or trace.marker.color for trace in figure.data} <= drawn


@pytest.mark.parametrize(
    ("low", "high", "most", "ticks"),
    [
        (0, 10, 5, [0, 2, 4, 6, 8, 10]),
        (0.003, 0.0091, 10, [0.003, 0.004, 0.005, 0.006, 0.007, 0.008, 0.009]),
        (41.2, 43.9, 10, [41.5, 42, 42.5, 43, 43.5]),
        (0, 78_000, 5, [0, 20_000, 40_000, 60_000]),
    ],
)
def test_ticks_are_round(low, high, most, ticks):
    assert Scale(low, high, 0, 100).ticks(most) == pytest.approx(ticks)


def test_the_crowd_is_as_high_as_flows_are_alive(tmp_path):
    # Flows start every 30 ms and live 41 ms or more, so that two are alive at any time, and never four.
    capture = bdpcap.analyze(write_many(tmp_path / "many.pcap", 90, rounds=1))
    drawn = overview(capture, verdict.ranked(capture))
    assert len(drawn.rows) == 40
    assert drawn.crowd.flows == 50
    assert 2 <= drawn.crowd.most <= 3
    limits = {limit for limit, _ in drawn.crowd.areas}
    assert limits <= set(capture.flows["limit"])


def test_a_round_without_a_value_leaves_a_gap(flow):
    drawn = flow.rtts.assign(rtt_ns=flow.rtts["rtt_ns"].where(flow.rtts["round"] != 3))
    canvas = Canvas("", "", "s", flow)
    canvas.staircase(drawn, floats(drawn["rtt_ns"]), name="round", unit="s")
    steps = canvas.figure.data[0]
    assert np.isnan(steps.y[6])
    assert not np.isnan(steps.y[[5, 7]]).any()


@given(
    npst.arrays(
        np.float64, st.integers(1, 400), elements=st.floats(-1e9, 1e9, allow_nan=False, allow_subnormal=False)
    ),
    st.integers(1, 12),
    st.randoms(use_true_random=False),
)
def test_thinning_keeps_every_columns_extremes(y, columns, random):
    x = np.cumsum([random.choice([0.0, 0.5, 3.0]) for _ in y])
    kept = decimate.keep(x, y, columns)
    assert len(kept) <= max(4 * columns, 1)
    assert (np.diff(kept) > 0).all()
    if len(y) <= 4 * columns or x[0] == x[-1]:
        lowest_and_highest = {y.min(), y.max()}
        assert lowest_and_highest <= set(y[kept])
        return
    column = np.minimum(((x - x[0]) * (columns / (x[-1] - x[0]))).astype(int), columns - 1)
    for part in range(columns):
        inside = y[column == part]
        left = y[kept][column[kept] == part]
        if len(inside):
            assert (left[0], left[-1]) == (inside[0], inside[-1])
            assert (left.min(), left.max()) == (inside.min(), inside.max())


def test_a_thinned_figure_says_so(flow):
    whole = plots.window_figure(flow)
    assert "points drawn" not in whole.layout.xaxis.title.text
    thin = plots.window_figure(flow, 5)
    assert "points drawn" in thin.layout.xaxis.title.text
    assert max(thin.data[0].y) == max(whole.data[0].y)


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
            "Without a single acknowledgment: 1 flow.",
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
