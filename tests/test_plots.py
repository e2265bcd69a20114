"""Figures: what is drawn is what the events say, at the time asked for, in units that a reader knows."""

import base64
import json
import re
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.testing import assert_array_equal
from observe import observe
from oracles import ROOT, ask_tshark_for, kept, parse
from packets import pcap
from plotly.subplots import make_subplots
from scenario import HANDSHAKE, scenario
from small_transfer import MSS, ROUNDS, SEGMENTS, write_many, write_pcap

import bdpcap
from bdpcap import _core, plots
from bdpcap.cli import main
from bdpcap.contents.event_reader import EventReader
from bdpcap.diagnosis import LIMIT_NAMES, STATE_COLOURS, STATE_NAMES
from bdpcap.limits import LIMITS, STATES
from bdpcap.limits.stripes import STRIPES, stripes
from bdpcap.plots import decimate, marks, svg
from bdpcap.plots.busiest import Busiest
from bdpcap.plots.canvas import Canvas, floats
from bdpcap.plots.drawing import Drawing
from bdpcap.plots.heading import heading, room
from bdpcap.plots.pixels import Scale
from bdpcap.plots.rtt import smoothed
from bdpcap.plots.sequence import FEW, MOST
from bdpcap.plots.throughput import Spans
from bdpcap.plots.time_axis import life
from bdpcap.read import core_pass
from bdpcap.report import ranking
from bdpcap.words import palette

KB = 1000
ALL = 10**6
"""So many time columns that nothing is thinned."""
LOSS = ROOT / "sample_captures" / "cwnd_loss_2pct.sender.pcap.zst"
ZERO = ROOT / "sample_captures" / "rwnd_zero_window.sender.pcap.zst"
SLOW = ROOT / "sample_captures" / "rwnd_slow_reader.sender.pcap.zst"
SEED = ROOT / "sample_captures" / "linux61_advwinscale2_w50000.pcap.zst"


@pytest.fixture(scope="module")
def flow(tmp_path_factory):
    return bdpcap.analyze(write_pcap(tmp_path_factory.mktemp("captures") / "transfer.pcap")).flow(0)


@pytest.fixture(scope="module")
def flow_of():
    """Return the first flow of a sample, read once."""
    read = {}

    def of(path):
        return read.setdefault(path, bdpcap.analyze(path).flow(0))

    return of


def named(figure, name):
    """Return the points of all traces of a name: x, y and custom data, those without y left out."""
    own = [trace for trace in figure.data if trace.name == name]
    parts = [pd.DataFrame({"x": trace.x, "y": trace.y, "mode": trace.mode}) for trace in own]
    return pd.concat(parts).dropna(subset="y") if parts else pd.DataFrame(columns=["x", "y", "mode"])


def ticks(figure, *names):
    """Return the ticks of traces of some names: frame, first and last sequence number, a row each."""
    own = [
        np.asarray(trace.customdata)[::3]
        for trace in figure.data
        if trace.name in names and trace.mode == "lines+markers"
    ]
    return np.concatenate(own) if own else np.empty((0, 3))


# lines and strips


def test_every_limit_has_a_colour_and_a_name_of_its_own():
    assert tuple(LIMIT_NAMES) == tuple(LIMITS)
    assert tuple(STATE_COLOURS) == tuple(STATE_NAMES) == STATES
    assert len(set(STATE_COLOURS.values())) == len(STATES)


def test_the_ribbon_tiles_the_flow_as_its_rounds_do(flow):
    merged = stripes(flow.rtts)
    assert merged[0].start_ns == flow.rtts["start_ns"].iloc[0]
    assert merged[-1].end_ns == flow.rtts["end_ns"].iloc[-1]
    assert all(left.end_ns == right.start_ns for left, right in pairwise(merged))
    for stripe in merged:
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
    for these, told in (([0, 1, 3], "middle"), ([0, 1, 2, 3], "slow"), ([0], "fast")):
        (stripe,) = stripes(rounds.iloc[these])
        assert stripe.evidence == told, these


def test_the_ribbons_colours_are_the_tables_limits(flow):
    drawn = {
        trace.marker.color: sum(trace.width)
        for trace in plots.figure(flow, "window").data
        if trace.yaxis == "y2"
    }
    lasting = (flow.rtts["end_ns"] - flow.rtts["start_ns"]).groupby(flow.rtts["limit"]).sum() / 1e9
    assert drawn == pytest.approx(
        {STATE_COLOURS[limit]: time for limit, time in lasting.items() if time}, abs=1e-6
    )


def test_more_rounds_than_stripes_still_tile(flow):
    n = 5 * STRIPES
    many = flow.rtts.iloc[np.zeros(n, dtype=int)].assign(
        round=np.arange(n),
        start_ns=np.arange(n) * 10,
        end_ns=np.arange(n) * 10 + 10,
        limit=np.where(np.arange(n) % 5 < 3, "rwnd", "cwnd"),
    )
    merged = stripes(many.reset_index(drop=True))
    assert len(merged) == STRIPES
    assert (merged[0].start_ns, merged[-1].end_ns) == (0, n * 10)
    assert {stripe.limit for stripe in merged} == {"rwnd"}  # three of every five rounds


def test_stripes_tile_a_flow_whose_last_round_outlasts_all_others(flow):
    n = 30
    many = flow.rtts.iloc[np.zeros(n, dtype=int)].assign(
        round=np.arange(n),
        start_ns=np.arange(n),
        end_ns=np.append(np.arange(1, n), 1000 * n),
        limit=np.where(np.arange(n) % 2, "rwnd", "cwnd"),
    )
    merged = stripes(many.reset_index(drop=True), 10)
    assert (merged[0].start_ns, merged[-1].end_ns) == (0, 1000 * n)
    assert all(left.end_ns == right.start_ns for left, right in pairwise(merged))


@pytest.mark.parametrize("kind", plots.FIGURES)
def test_figures_have_units_and_only_what_the_basic_bundle_draws(kind, flow):
    figure = plots.figure(flow, kind)
    assert {trace.type for trace in figure.data} <= {"scatter", "bar"}
    assert figure.layout.xaxis.title.text == "time since capture start (s)"
    assert figure.layout.yaxis.title.text in (
        "in flight (kB)",
        "throughput (Mbit/s)",
        "RTT (ms)",
        "sequence number (kB)",
    )
    assert all("%{" in trace.hovertemplate for trace in figure.data if trace.hoverinfo != "skip")


@pytest.mark.parametrize("kind", plots.FIGURES)
def test_a_heading_has_file_stream_ends_and_time(kind, flow_of):
    flow = flow_of(LOSS)
    drawing = plots.drawing(flow, kind, start=0.25, end=0.35)
    for text in (drawing.figure().layout.title.subtitle.text, svg.svg(drawing, "")):
        for part in (LOSS.name, "stream 0", f"{flow.sender} → {flow.receiver}", "0.25 s to 0.35 s"):
            assert part in text


def test_a_file_with_a_name_of_html_is_named_as_it_is(tmp_path):
    path = tmp_path / "<b>&amp;.pcap"
    path.write_bytes(write_pcap(tmp_path / "transfer.pcap").read_bytes())
    drawing = plots.drawing(bdpcap.analyze(path).flow(0), "window")
    texts = ET.fromstring(svg.svg(drawing, "")).iter("{http://www.w3.org/2000/svg}text")  # noqa: S314 - ours
    assert any((text.text or "").startswith("<b>&amp;.pcap, stream 0") for text in texts)
    assert "&lt;b&gt;&amp;amp;.pcap" in drawing.figure().layout.title.subtitle.text


@pytest.mark.parametrize(
    ("start", "end", "time"),
    [(0, 8.391, "0 s to 8.39 s"), (12.3456, 12.3466, "12.3456 s to 12.3466 s"), (60, 7265, "60 s to 7265 s")],
)
def test_the_time_of_a_heading_has_the_digits_of_its_length(start, end, time, flow):
    assert heading("", flow, decimate.Axis(start, end))["subtitle"]["text"].endswith(time)


def unpacked(value):
    """Return a number array of plotly's as numpy reads it; anything else as it is."""
    if not isinstance(value, dict) or "bdata" not in value:
        return value
    flat = np.frombuffer(base64.b64decode(value["bdata"]), "<" + value["dtype"])
    return flat.reshape([int(length) for length in value.get("shape", str(len(flat))).split(", ")])


@pytest.mark.parametrize("kind", plots.FIGURES)
def test_what_goes_into_a_page_is_what_plotly_writes(kind, flow):
    figure = plots.figure(flow, kind)
    ours, theirs = plots.drawing(flow, kind).document(), json.loads(figure.to_json())
    theirs["layout"].pop("template")  # an empty one
    assert json.loads(json.dumps(ours["layout"])) == theirs["layout"]
    assert len(ours["data"]) == len(theirs["data"]) > 0
    for own, their in zip(ours["data"], theirs["data"], strict=True):
        assert own.keys() == their.keys()
        for name in own:
            if isinstance(own[name], dict) and "bdata" in own[name]:
                assert_array_equal(unpacked(own[name]), np.asarray(unpacked(their[name]), dtype=np.float64))
            else:
                assert own[name] == their[name]


@given(npst.arrays(npst.integer_dtypes(sizes=(64,)), npst.array_shapes(max_dims=2, max_side=5)))
def test_whole_numbers_that_scripts_can_hold_go_into_a_page_as_they_are(numbers):
    numbers = np.clip(numbers, -(2**53), 2**53)
    (trace,) = Drawing([{"x": numbers}], {}).document()["data"]
    assert_array_equal(unpacked(trace["x"]), numbers)


def test_an_unknown_figure_is_named(flow):
    with pytest.raises(ValueError, match="no figure 'pie': there are window"):
        plots.figure(flow, "pie")


def test_the_window_is_drawn_at_its_size_and_time(flow):
    traces = {trace.name.partition(" (")[0]: trace for trace in plots.figure(flow, "window").data}
    assert max(traces["receive window"].y) == pytest.approx(flow.events["window_bytes"].max() / KB)
    assert max(traces["in flight"].y) == pytest.approx(flow.events["in_flight_bytes"].max() / KB)
    known = flow.events.dropna(subset="in_flight_bytes")["time_ns"] - flow.summary["start_ns"]
    assert traces["in flight"].x[0] == pytest.approx(known.iloc[0] / 1e9)
    assert traces["in flight"].x[-1] == pytest.approx(known.iloc[-1] / 1e9)


def axis_tops(figure, name):
    """Return the tops of the vertical axes on which a quantity is drawn, the lowest first."""
    axes = {trace.yaxis for trace in figure.data if trace.name.partition(" (")[0] == name}
    return sorted(figure.layout[axis.replace("y", "yaxis")].range[1] for axis in axes)


def test_a_flight_far_below_its_window_has_a_scale_of_its_own(flow_of):
    """After slow start the losses keep the flight below a fifth of its first peak, and far below the window."""
    flow = flow_of(LOSS)
    figure = flow.plot("window")
    low, high = axis_tops(figure, "in flight")
    flight = flow.rtts["in_flight_max_bytes"] / KB
    assert flight.median() < low < flight.max() < flow.rtts["window_max_bytes"].max() / KB < high
    assert axis_tops(figure, "receive window") == [high]
    titles = {
        trace.name: figure.layout[trace.yaxis.replace("y", "yaxis")].title.text
        for trace in figure.data
        if trace.name == "receive window" or (trace.name == "in flight" and trace.showlegend is not False)
    }
    assert titles == {"receive window": "window (kB)", "in flight": "in flight (kB)"}


@pytest.mark.parametrize("path", [SEED, SLOW], ids=lambda path: path.name)
def test_a_flight_that_fills_its_window_shares_its_scale(path, flow_of):
    figure = flow_of(path).plot("window")
    (top,) = axis_tops(figure, "in flight")
    assert axis_tops(figure, "receive window") == [top]
    assert figure.layout.yaxis.title.text == "window, in flight (kB)"


def test_what_was_sent_in_the_rounds_is_what_the_capture_holds(flow):
    steps = next(trace for trace in plots.figure(flow, "throughput").data if trace.name == "sent")
    lasting = (flow.rtts["end_ns"] - flow.rtts["start_ns"]).to_numpy() / 1e9
    sent_bytes = np.nansum(np.asarray(steps.y)[::2] * 1e6 / 8 * lasting)
    assert sent_bytes == pytest.approx(SEGMENTS * MSS * ROUNDS)


@pytest.mark.parametrize(
    ("tick_ns", "lasting_ms", "mbps"),
    [
        (1000, [20, 20, 20], [0.4, 0.4, 0.4]),
        # Two rounds that ended early have the rate of both, and one alone that of a round trip.
        (1000, [4, 16, 4, 500], [0.8, 0.8, 0.4, 0.016]),
        # A clock of 10 ms gives rounds of no and of one tick.
        (10_000_000, [0, 10] * 10, [1.6] * 20),
    ],
)
def test_a_rate_is_that_of_a_round_trip_and_of_ten_ticks_at_least(tick_ns, lasting_ms, mbps):
    ends = 1_000_000 * np.cumsum(lasting_ms)
    flow = SimpleNamespace(
        rtts=pd.DataFrame({"start_ns": ends - 1_000_000 * np.array(lasting_ms), "end_ns": ends}),
        summary={"rtt_min_ns": 20_000_000},
        _counts={"tick_ns": tick_ns},
    )
    assert Spans(flow).bps(np.full(len(ends), 1000.0)) / 1e6 == pytest.approx(mbps)


@given(st.lists(st.floats(1e-6, 10), min_size=1, max_size=60))
def test_the_smoothed_rtt_stays_within_its_samples_and_settles(samples):
    smooth = smoothed(np.array(samples))
    assert smooth[0] == samples[0]
    assert min(samples) * (1 - 1e-9) <= smooth.min() <= smooth.max() <= max(samples) * (1 + 1e-9)
    for last, sample, now in zip(smooth, samples[1:], smooth[1:], strict=False):
        assert now == pytest.approx(7 / 8 * last + 1 / 8 * sample)  # RFC 6298 section 2.3


@pytest.mark.parametrize("kind", plots.FIGURES)
def test_a_still_is_xml_that_shows_every_trace_within_its_frame(kind, flow):
    figure = plots.figure(flow, kind)
    still = svg.svg(figure, 'said & "done"')
    assert still == svg.svg(plots.drawing(flow, kind), 'said & "done"')
    tree = ET.fromstring(still)  # noqa: S314 - ours
    assert tree.get("aria-label") == 'said & "done"'
    texts = [element.text for element in tree.iter("{http://www.w3.org/2000/svg}text")]
    shown = [trace for trace in figure.data if trace.visible != "legendonly"]
    assert {trace.name for trace in shown} <= set(texts)
    assert figure.layout.yaxis.title.text in texts
    drawn = {
        element.get(way)
        for element in tree.iter("{http://www.w3.org/2000/svg}path")
        for way in ("stroke", "fill")
        if element.get("d")
    }
    assert {
        (trace["line"].color if "line" in trace else None) or trace.marker.color for trace in shown
    } <= drawn


def test_a_figure_without_values_says_so():
    """A sender whose peer was not captured has no round-trip time."""
    flow = bdpcap.analyze(LOSS, filter="src host 192.168.1.3").flow(0)
    figure = flow.plot("rtt")
    (note,) = figure.data
    assert note.text == ("no values in this time",)
    still = svg.svg(plots.drawing(flow, "rtt"), "")
    assert "no values in this time" in still
    # Numbers on its axis would be of nothing.
    assert figure.layout.yaxis.showticklabels is figure.layout.yaxis.showgrid is False
    assert 'text-anchor="end"' not in still


@pytest.mark.parametrize("with_values_first", [True, False])
def test_a_flow_without_values_hides_nothing_of_another(with_values_first, flow):
    empty = bdpcap.analyze(LOSS, filter="src host 192.168.1.3").flow(0)
    one, other = (flow, empty) if with_values_first else (empty, flow)
    figure = plots.figure(other, "rtt", figure=plots.figure(one, "rtt"))
    assert figure.layout.yaxis.showticklabels is figure.layout.yaxis.showgrid is True
    assert 'text-anchor="end"' in svg.svg(figure, "")


def test_what_is_above_an_axis_stays_out_of_the_lanes_of_a_still(flow_of):
    """A browser draws no part of a nested picture outside its frame, and frames stand apart."""
    tree = ET.fromstring(svg.svg(plots.drawing(flow_of(LOSS), "window"), ""))  # noqa: S314 - ours
    frames = sorted(
        (float(frame.get("y")), float(frame.get("y")) + float(frame.get("height")))
        for frame in tree.findall("{http://www.w3.org/2000/svg}svg")
    )
    assert len(frames) == 4
    assert all(above[1] < below[0] for above, below in pairwise(frames))


def test_the_legend_of_a_still_is_whole(flow):
    """However long its names are, none begins where the picture ends."""
    drawing = plots.drawing(flow, "window")
    for trace in drawing.traces:
        trace["name"] += ", and much more of the same"
    tree = ET.fromstring(svg.svg(drawing, ""))  # noqa: S314 - ours
    texts = [
        text for text in tree.iter("{http://www.w3.org/2000/svg}text") if (text.text or "").endswith("same")
    ]
    assert len(texts) == sum(trace.get("showlegend", True) for trace in drawing.traces)
    for text in texts:
        assert float(text.get("x")) + len(text.text) * svg.LETTER <= svg.WIDTH
    lines = {float(text.get("y")) for text in texts}
    assert len(lines) > 1
    for frame in tree.findall("{http://www.w3.org/2000/svg}svg"):
        assert max(lines) < float(frame.get("y"))
        height = float(tree.get("viewBox").split()[3])
        assert float(frame.get("y")) + float(frame.get("height")) < height


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


def test_a_round_without_a_value_leaves_a_gap(flow):
    drawn = flow.rtts.assign(rtt_ns=flow.rtts["rtt_ns"].where(flow.rtts["round"] != 3))
    canvas = Canvas("", "", "s", flow)
    canvas.fit(1.0)
    canvas.staircase(drawn, floats(drawn["rtt_ns"]), name="round")
    steps = canvas.finish().traces[0]
    assert np.isnan(steps["y"][6])
    assert not np.isnan(steps["y"][[5, 7]]).any()


@given(
    npst.arrays(
        np.float64, st.integers(1, 400), elements=st.floats(-1e9, 1e9, allow_nan=False, allow_subnormal=False)
    ),
    st.integers(1, 12),
    st.randoms(use_true_random=False),
)
def test_thinning_keeps_every_columns_extremes(y, columns, random):
    x = np.cumsum([random.choice([0.0, 0.5, 3.0]) for _ in y])
    axis = decimate.Axis(x[0], max(x[-1], x[0] + 1))
    thinned = decimate.Thinned(axis, columns, "y")
    cuts = sorted(random.choices(range(len(y)), k=3))
    for piece in np.split(np.arange(len(y)), cuts):
        thinned.add(x=x[piece], y=y[piece], place=piece)
    kept = thinned.rows(columns)["place"]
    assert thinned.count == len(y)
    assert len(kept) <= 4 * columns
    assert (np.diff(kept) > 0).all()
    column = axis.column(x, columns)
    for part in range(columns):
        inside = y[column == part]
        left = y[kept][column[kept] == part]
        if len(inside):
            assert (left[0], left[-1]) == (inside[0], inside[-1])
            assert (left.min(), left.max()) == (inside.min(), inside.max())


@pytest.mark.parametrize("kind", plots.FIGURES)
@pytest.mark.parametrize("sample", [LOSS, ZERO], ids=lambda sample: sample.name)
def test_a_figure_does_not_depend_on_the_pieces_in_which_events_come(sample, kind, monkeypatch):
    documents = []
    for frames in (1 << 15, 97):
        monkeypatch.setattr(core_pass, "EVENTS_STEP", frames)
        documents.append(plots.drawing(bdpcap.analyze(sample)[0], kind).document())
    assert documents[0] == documents[1]


@pytest.mark.parametrize("kind", plots.FIGURES)
def test_a_figure_of_a_part_of_the_time_reads_the_events_once(kind, monkeypatch):
    flow, passes, columns = bdpcap.analyze(LOSS)[0], [], EventReader.columns

    def counted(self, *options):
        passes.append(options)
        return columns(self, *options)

    monkeypatch.setattr(EventReader, "columns", counted)
    plots.drawing(flow, kind, start=0.5, end=1)
    assert len(passes) <= 1


def test_a_thinned_figure_says_so(flow):
    whole = plots.figure(flow, "window")
    assert "points drawn" not in whole.layout.xaxis.title.text
    thin = plots.figure(flow, "window", 5)
    assert "points drawn" in thin.layout.xaxis.title.text
    assert max(thin.data[0].y) == max(whole.data[0].y)


# the time-sequence graph


RETRANSMITTED = [mark.label for mark in marks.BY_NAME.values() if mark.colour == palette.RETRANSMITTED]


@pytest.mark.parametrize("path", [LOSS, ZERO, SEED], ids=lambda path: path.name)
def test_a_tick_is_a_segment_with_payload_that_tshark_sees(path, flow_of):
    frames = parse(kept(path))
    sender = int(flow_of(path).sender.rpartition(":")[2])
    sent = frames[(frames["stream"] == 0) & (frames["source"] == sender) & (frames["length"] > 0)]
    drawn = ticks(
        plots.figure(flow_of(path), "sequence", ALL), "sent", *(mark.label for mark in marks.BY_NAME.values())
    )
    drawn = drawn[drawn[:, 2] > drawn[:, 1]]
    drawn = drawn[drawn[:, 0].argsort()]
    assert drawn[:, 0].tolist() == sent.index.tolist()
    assert drawn[:, 1].tolist() == sent["sequence"].tolist()
    assert (drawn[:, 2] - drawn[:, 1]).tolist() == sent["length"].tolist()


@pytest.mark.parametrize("path", [LOSS, ZERO, SEED], ids=lambda path: path.name)
def test_marks_of_flags_are_the_flags_that_tshark_sees(path, flow_of):
    frames = parse(kept(path))
    sender = int(flow_of(path).sender.rpartition(":")[2])
    sent = frames[(frames["stream"] == 0) & (frames["source"] == sender)]
    figure = plots.figure(flow_of(path), "sequence", ALL)
    counted = {"PUSH": 0x08, "SYN": 0x02, "FIN": 0x01, "RST": 0x04}
    told = {name: len(named(figure, name)) for name in counted}
    assert told == {name: int(((sent["flags"] & flag) > 0).sum()) for name, flag in counted.items()}
    assert told["PUSH"] > 400


@pytest.mark.usefixtures("need_tshark")
@pytest.mark.parametrize(
    ("path", "count"), [(LOSS, 31), (ZERO, 2), (SEED, 1)], ids=lambda one: str(one)[-30:]
)
def test_retransmissions_are_those_of_tshark_and_tcptrace(path, count, flow_of):
    """The numbers are tcptrace's "rexmt data pkts".

    Captured at the sender nothing is reordered: what tshark calls out of order is a retransmission less than a round
    trip after the segments around it.
    """
    frames = ask_tshark_for(path, "tcp.analysis.retransmission || tcp.analysis.out_of_order")
    drawn = ticks(plots.figure(flow_of(path), "sequence", ALL), *RETRANSMITTED)
    assert sorted(drawn[:, 0]) == frames
    assert len(frames) == count


@pytest.mark.parametrize(("start", "end"), [(0.25, 0.35), (4.5, 4.6), (0.0, 0.2)])
def test_a_window_of_time_holds_what_was_captured_in_it(start, end, flow_of):
    flow = flow_of(LOSS)
    time = (flow.events["time_ns"] - flow.capture.info.first_ns) / 1e9
    inside = flow.events[(time >= start) & (time <= end)]
    figure = flow.plot("sequence", start=start, end=end)
    assert tuple(figure.layout.xaxis.range) == (start, end)
    every = [mark.label for mark in marks.BY_NAME.values()]
    assert len(ticks(figure, "sent", *every)) == inside["length"].notna().sum() > 0
    assert len(ticks(figure, "SACK block")) == inside["sack_start"].notna().sum()
    low, high = figure.layout.yaxis.range
    for name in ("sent", "acknowledged"):
        points = named(figure, name)
        points = points[(points["x"] >= start) & (points["x"] <= end)]["y"]
        assert points.between(low, high).all()


def test_stairs_come_into_a_window_of_time_at_their_height(flow_of):
    flow = flow_of(ZERO)
    # The window is closed here: nothing is captured, but what was acknowledged before still is.
    figure = flow.plot("sequence", start=0.9, end=1.0)
    assert not len(ticks(figure, "sent"))
    before, after = named(figure, "acknowledged")["y"]
    acked = flow.events[flow.events["length"].isna()]
    time = (acked["time_ns"] - flow.capture.info.first_ns) / 1e9
    unit = 1e6 if "MB" in figure.layout.yaxis.title.text else 1e3
    assert before == pytest.approx(acked["acknowledged"][time < 0.9].iloc[-1] / unit)
    assert after == pytest.approx(acked["acknowledged"][time > 1.0].iloc[0] / unit)
    low, high = figure.layout.yaxis.range
    assert low <= before <= high


def test_sack_blocks_zero_windows_and_duplicate_acks_are_marked():
    text = """
        0     > S  0:0(0) win 64240 <mss 1460,sackOK,wscale 7>
        +.020 < S. 0:0(0) ack 1 win 65535 <mss 1460,sackOK,wscale 0>
        +0    > .  1:1(0) ack 1 win 502
        +0    > .  1:1001(1000) ack 1 win 502
        +0    > .  1001:2001(1000) ack 1 win 502
        +0    > P. 2001:3001(1000) ack 1 win 502
        +.020 < .  1:1(0) ack 1 win 65535 <sack 1001:2001>
        +0    < .  1:1(0) ack 1 win 65535 <sack 1001:3001>
        +.001 > .  1:1001(1000) ack 1 win 502
        +.020 < .  1:1(0) ack 3001 win 0
        +.001 < .  1:1(0) ack 3001 win 0 <sack 1:1001>        # a D-SACK: the first copy came late
        +1    > F. 3001:3001(0) ack 1 win 502
    """
    figure = plots.figure(observe(scenario(text)).capture.flow(0), "sequence", start=0, end=2)
    assert ticks(figure, "SACK block").tolist() == [[7, 1001, 2001], [8, 1001, 3001]]
    assert named(figure, "zero window")["y"].tolist() == [3.001, 3.001]
    assert named(figure, "duplicate ACK")["y"].tolist() == [0.001, 0.001]
    assert ticks(figure, *RETRANSMITTED).tolist() == [[9, 1, 1001]]
    assert named(figure, "PUSH")["y"].tolist() == [3.001]
    assert named(figure, "FIN")["x"].tolist() == [pytest.approx(1.062)]
    assert named(figure, "RST").empty
    colours = {trace.name.partition(" (")[0]: trace.line.color for trace in figure.data}
    assert len({colours[name] for name in ("sent", "acknowledged", "receive window's edge")}) == 3


def test_every_kind_of_the_core_is_plain_or_has_a_mark():
    known = {*marks.PLAIN, *marks.BY_NAME}
    assert set(_core.KINDS) <= known
    assert {mark.symbol for mark in (*marks.BY_NAME.values(), *marks.BY_FLAG.values())} <= set(svg.SYMBOLS)


def test_retransmissions_go_by_their_cause_where_it_is_known():
    kinds = ["data", "retransmission", "retransmission"]
    causes = [0, _core.CAUSES.index("tail loss probe"), 0]
    codes = marks.codes(
        {"kind": np.array([_core.KINDS.index(kind) for kind in kinds]), "cause": np.array(causes)}
    )
    assert [marks.NAMES[code] for code in codes] == ["data", "tail loss probe", "retransmission"]
    assert marks.of("tail loss probe").label == "tail loss probe"
    assert marks.of("a cause of tomorrow").label == "a cause of tomorrow"


# the busiest second


def test_the_busiest_second_holds_the_most_packets(flow_of):
    flow = flow_of(LOSS)
    start, end = plots.busiest(flow)
    time = ((flow.events["time_ns"] - flow.capture.info.first_ns) / 1e9).to_numpy()
    held = [((time >= first) & (time <= first + 1)).sum() for first in time]
    assert end - start == pytest.approx(1)
    assert ((time >= start) & (time <= end)).sum() == max(held)


def test_a_second_of_too_many_packets_gives_way_to_a_shorter_time(flow_of):
    flow = flow_of(ZERO)
    time = ((flow.events["time_ns"] - flow.capture.info.first_ns) / 1e9).to_numpy()
    for most in (MOST, 300, 20):
        busiest = Busiest(*life(flow), most)
        busiest.add({"x": time})
        start, end = busiest.span
        assert 0 < ((time >= start) & (time <= end)).sum() <= most
        assert end - start < 1


def test_a_flow_of_many_packets_is_shown_in_its_busiest_time_with_an_overview(flow_of):
    flow = flow_of(ZERO)
    assert len(flow.events) > FEW
    figure = flow.plot("sequence")
    start, end = figure.layout.xaxis.range
    assert (start, end) == plots.busiest(flow)
    time = ((flow.events["time_ns"] - flow.capture.info.first_ns) / 1e9).to_numpy()
    inside = flow.events[(time >= start) & (time <= end)]
    every = [mark.label for mark in marks.BY_NAME.values()]
    drawn = ticks(figure, "sent", *every)[:, 0]
    assert set(inside["frame"][inside["length"].notna()]) <= set(drawn)
    assert tuple(figure.layout.xaxis.rangeslider.range) == life(flow)
    acknowledged = named(figure, "acknowledged")
    assert (acknowledged["x"].iloc[0], acknowledged["x"].iloc[-1]) == pytest.approx(
        (time[flow.events["length"].isna()][0], time[flow.events["length"].isna()][-1])
    )
    assert (np.diff(acknowledged["x"]) >= 0).all()
    low, high = figure.layout.yaxis.range
    assert high - low < 0.1 * figure.layout.xaxis.rangeslider.yaxis.range[1]
    assert figure.layout.title.text == "Time-sequence graph of the busiest 100 ms"
    assert f"{start:.4f} s to {end:.4f} s" in figure.layout.title.subtitle.text


def test_a_flow_of_few_packets_is_shown_whole(flow_of):
    flow = flow_of(LOSS)
    assert len(flow.events) < FEW
    figure = flow.plot("sequence")
    assert tuple(figure.layout.xaxis.range) == life(flow)
    assert figure.layout.xaxis.rangeslider.visible is None


def test_an_overview_of_a_still_has_a_frame_around_the_time_shown(flow_of):
    flow = flow_of(ZERO)
    start, end = plots.busiest(flow)
    tree = ET.fromstring(svg.svg(plots.drawing(flow, "sequence", 300), ""))  # noqa: S314 - ours
    overview, plot = tree.findall("{http://www.w3.org/2000/svg}svg")
    assert float(plot.get("y")) + float(plot.get("height")) < float(overview.get("y"))
    frame = overview.findall("{http://www.w3.org/2000/svg}path")[-1].get("d")
    left, right = (float(part) for part in re.fullmatch(r"M([\d.]+) 0V\d+H([\d.]+)V0z", frame).groups())
    width = float(overview.get("width"))
    assert (left / width, right / width) == pytest.approx(
        (start / life(flow)[1], end / life(flow)[1]), abs=0.001
    )


def test_packets_of_one_moment_are_drawn():
    """By a clock that stands still, no time is short enough."""
    text = HANDSHAKE.replace("+.020", "+0") + "+0 > . 1:1001(1000) ack 1 win 502\n" * 3
    figure = observe(scenario(text)).capture.flow(0).plot("sequence")
    assert len(ticks(figure, "sent")) >= 1


@pytest.mark.parametrize("kind", plots.FIGURES)
def test_a_clock_that_was_set_back_stops_no_figure(kind):
    packets = scenario(HANDSHAKE + "+0 > . 1:1001(1000) ack 1 win 502\n+.020 < . 1:1(0) ack 1001 win 65535")
    moved = [replace(packets[0], time_ns=packets[0].time_ns + 10**12), *packets[1:]]
    figure = observe(moved).capture.flow(0).plot(kind)
    assert figure.layout.xaxis.range[0] < figure.layout.xaxis.range[1]
    assert json.loads(figure.to_json())


# queueing delay


def shaded(figure, name):
    """Return the time that a shade covers."""
    x = [np.asarray(trace.x) for trace in figure.data if trace.name == name]
    areas = np.split(x[0], np.flatnonzero(np.isnan(x[0]))) if x else []
    return sum(np.nanmax(area) - np.nanmin(area) for area in areas if len(area) > 1)


@pytest.mark.parametrize("path", [SLOW, ZERO], ids=lambda path: path.name)
def test_a_closed_window_is_no_queueing_delay(path, flow_of):
    flow = flow_of(path)
    figure = flow.plot("rtt")
    closing, queue = "receiver closing its window", "queueing delay or delayed ACKs"
    rounds = flow.rtts[flow.rtts["detail"].isin(["slow reader", "zero window"])]
    lasting = (rounds["end_ns"] - rounds["start_ns"]).sum() / 1e9
    life = (flow.summary["end_ns"] - flow.summary["start_ns"]) / 1e9
    # A sample stands until the next one, about a round trip later.
    assert shaded(figure, closing) == pytest.approx(lasting, rel=0.1)
    assert shaded(figure, queue) <= life - lasting + 0.3


def test_the_delay_of_a_full_queue_is_queueing_delay(flow_of):
    flow = flow_of(ROOT / "sample_captures" / "link_5_100ms_bloat.sender.pcap.zst")
    figure = flow.plot("rtt")
    assert shaded(figure, "receiver closing its window") == 0
    life = (flow.summary["end_ns"] - flow.summary["start_ns"]) / 1e9
    assert shaded(figure, "queueing delay or delayed ACKs") == pytest.approx(life, rel=0.1)


# stalls


def shades(figure, word):
    """Return the spans of the shades whose name begins with a word."""
    return [
        (area[0], area[2])
        for trace in figure.data
        if trace.name.startswith(word) and trace.fill == "toself"
        for area in np.split(np.asarray(trace.x), np.flatnonzero(np.isnan(trace.x)) + 1)
        if len(area)
    ]


def stalled(waits):
    """Return a flow that sends two segments each time, and waits some seconds for the acknowledgment."""
    lines, sent = [HANDSHAKE], 1
    for wait in waits:
        for _ in range(2):
            lines.append(f"+0 > . {sent}:{sent + 1000}(1000) ack 1 win 502")
            sent += 1000
        lines.append(f"+{wait} < . 1:1(0) ack {sent} win 65535")
        lines.append("+5 > . 1:1(0) ack 1 win 502")  # idle, with nothing in flight
    return observe(scenario("\n".join(lines))).capture.flow(0)


@given(st.lists(st.sampled_from([0.020, 1.5, 2.5, 7.0]), min_size=1, max_size=6))
def test_the_time_without_new_acknowledgments_is_shaded_and_idle_time_is_not(waits):
    flow = stalled([0.020] * (len(waits) + 1) + waits)  # most round trips are short
    figure = flow.plot("window")
    found = sorted([*shades(figure, "stall"), *shades(figure, "outage")])
    assert [end - start for start, end in found] == pytest.approx([wait for wait in waits if wait > 0.5])
    longest = flow.summary["longest_stall_ns"] / 1e9
    assert max((end - start for start, end in found), default=0) == pytest.approx(
        longest if longest > 0.5 else 0
    )


def test_a_long_shade_has_its_length_in_words():
    figure = stalled([0.02, 9.0, 0.02]).plot("sequence")
    (label,) = [trace for trace in figure.data if trace.mode == "text"]
    assert label.text == ("stall 9 s",)
    assert "stall 9 s" in svg.svg(figure, "")


def test_a_closed_window_is_shaded_as_one(flow_of):
    flow = flow_of(ZERO)
    figure = flow.plot("window")
    shut = flow.rtts[flow.rtts["detail"] == "zero window"]
    lasting = (shut["end_ns"] - shut["start_ns"]).sum() / 1e9
    assert sum(end - start for start, end in shades(figure, "receive window closed")) == pytest.approx(
        lasting
    )
    assert not shades(figure, "stall")


# windows of time, and figures of others


@pytest.mark.parametrize("kind", plots.FIGURES)
def test_a_window_of_time_is_drawn_alone(kind, flow_of):
    flow = flow_of(ZERO)
    figure = flow.plot(kind, start=2.0, end=2.2)
    assert tuple(figure.layout.xaxis.range) == (2.0, 2.2)
    # Lines come in from the point before and leave to the one after; a closed window lasts 0.25 s.
    assert all(1.7 < point < 2.5 for trace in figure.data for point in trace.x if not pd.isna(point))
    assert figure.layout.yaxis.range[1] > figure.layout.yaxis.range[0]


@pytest.mark.parametrize("kind", plots.FIGURES)
@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        (2.0, 1.0, "the end comes after the start"),
        (1.0, 1.0, "the end comes after the start"),
        (1.0, float("inf"), "the end comes after the start"),
        (100.0, 200.0, r"no packet between 100 s and 200 s: it lasts from 0 s to 5\.2"),
        (100.0, None, "no packet from 100 s on"),
        (None, -1.0, "no packet up to -1 s"),
        (float("nan"), 1.0, "no packet"),
    ],
)
def test_a_window_without_the_flow_is_refused(kind, start, end, message, flow_of):
    with pytest.raises(ValueError, match=message):
        flow_of(ZERO).plot(kind, start=start, end=end)


@pytest.mark.parametrize("kind", plots.FIGURES)
def test_one_end_is_enough(kind, flow_of):
    flow = flow_of(ZERO)
    life = (flow.summary["end_ns"] - flow.capture.info.first_ns) / 1e9
    assert tuple(flow.plot(kind, start=5.0).layout.xaxis.range) == (5.0, life)
    assert tuple(flow.plot(kind, end=0.5).layout.xaxis.range) == (0.0, 0.5)


@pytest.mark.parametrize("kind", plots.FIGURES)
def test_a_figure_draws_into_a_subplot_of_another(kind, flow_of):
    flow = flow_of(LOSS)
    alone = flow.plot(kind)
    figure = make_subplots(rows=2, cols=2)
    figure.update_layout(title="mine", height=777)
    figure.add_scatter(x=[1], y=[2], name="theirs", row=1, col=1)
    assert flow.plot(kind, figure=figure, row=2, col=2) is figure
    assert (figure.layout.title.text, figure.layout.height) == ("mine", 777)
    assert figure.layout.yaxis.title.text is None
    assert figure.layout.yaxis4.title.text == alone.layout.yaxis.title.text
    assert figure.layout.xaxis4.range == alone.layout.xaxis.range
    drawn = figure.data[1:]
    assert {trace.xaxis for trace in drawn} == {"x4"}
    assert [trace.name for trace in drawn] == [trace.name for trace in alone.data]
    # Its lanes stand above one another in its own place, the main axis below them.
    lanes = {trace.yaxis for trace in drawn} - {"y4"}
    assert len(lanes) == {"window": 3, "throughput": 1}.get(kind, 0)
    low, high = make_subplots(rows=2, cols=2).layout.yaxis4.domain
    axes = ["yaxis4", *(lane.replace("y", "yaxis") for lane in lanes)]
    domains = sorted(figure.layout[axis].domain for axis in axes)
    assert domains[0] == figure.layout.yaxis4.domain
    assert (domains[0][0], domains[-1][1]) == (low, high)
    assert all(below[1] < above[0] for below, above in pairwise(domains))


TIMEOUTS = f"""{HANDSHAKE}
    +0    > .  1:1001(1000) ack 1 win 502
    +0    > .  1001:2001(1000) ack 1 win 502
    +1.2  > .  1:1001(1000) ack 1 win 502
    +2.4  > .  1:1001(1000) ack 1 win 502
    +.020 < .  1:1(0) ack 1001 win 65535
    +0    > .  1001:2001(1000) ack 1 win 502
    +.020 < .  1:1(0) ack 2001 win 65535
"""

OVERTAKEN = f"""{HANDSHAKE}
    +0     > .  1:1001(1000)    ack 1 win 502 id 501
    +.0001 > .  2001:3001(1000) ack 1 win 502 id 503
    +.0001 > .  1001:2001(1000) ack 1 win 502 id 502
    +.020  < .  1:1(0) ack 3001 win 65535
"""


@pytest.mark.parametrize(
    ("captured", "names"),
    [
        (LOSS, {"fast retransmit"}),
        (ZERO, {"tail loss probe"}),
        (TIMEOUTS, {"timeout", "after timeout"}),
        (OVERTAKEN, {"reordered"}),
    ],
    ids=["fast retransmits", "probes", "timeouts", "reordering"],
)
@pytest.mark.parametrize("kind", ["window", "throughput"])
def test_losses_stand_above_by_kind(kind, captured, names, flow_of):
    """Each kind has a row, with its number in the legend."""
    made = isinstance(captured, str)
    flow = observe(scenario(captured)).capture.flow(0) if made else flow_of(captured)
    lane = {trace.name: trace for trace in flow.plot(kind).select_traces({"mode": "markers"})}
    again = flow.events[flow.events["kind"].isin(("retransmission", "reordered"))]
    by_name = dict(iter(again.groupby(again["cause"].fillna(again["kind"]))))
    assert set(by_name) == names
    told = {marks.BY_NAME[name].label: own for name, own in by_name.items()}
    assert {name.partition(" (")[0] for name in lane} == set(told)
    for label, own in told.items():
        points = lane[f"{label} ({len(own)})"]
        assert set(points.customdata) <= set(own["frame"])
        assert points.x[0] == pytest.approx((own["time_ns"].iloc[0] - flow.capture.info.first_ns) / 1e9)
    rows = [set(points.y) for points in lane.values()]
    assert sum(map(len, rows)) == len(set().union(*rows)) == len(rows)


def test_a_linked_pair_shares_its_time_and_can_be_restyled(flow):
    pair = make_subplots(rows=2, shared_xaxes=True)
    plots.figure(flow, "window", figure=pair, row=1)
    plots.figure(flow, "rtt", figure=pair, row=2)
    assert pair.layout.xaxis.matches == "x2"
    assert pair.layout.xaxis.range == pair.layout.xaxis2.range
    pair.update_layout(template="plotly_dark", legend_orientation="h")
    pair.update_traces(line_color="red", selector={"name": "in flight"})
    assert {trace.line.color for trace in pair.data if trace.name == "in flight"} == {"red"}


def test_two_flows_on_one_axis_share_its_unit(flow, flow_of):
    figure = go.Figure()
    plots.figure(flow, "window", figure=figure)
    assert figure.layout.yaxis.title.text == "in flight (kB)"
    top = figure.layout.yaxis.range[1]
    big = flow_of(ROOT / "sample_captures" / "link_5_100ms_bloat.sender.pcap.zst")
    plots.figure(big, "sequence", start=0, figure=(other := go.Figure()))
    assert other.layout.yaxis.title.text.endswith("(MB)")
    plots.figure(big, "window", figure=figure)
    assert figure.layout.yaxis.title.text == "in flight (kB)"
    assert figure.layout.yaxis.range[1] >= top
    most = max(max(trace.y) for trace in figure.data if trace.name == "in flight")
    assert most == pytest.approx(big.events["in_flight_bytes"].max() / KB)


def test_a_subplot_of_no_figure_is_refused(flow):
    with pytest.raises(ValueError, match="name the figure, too"):
        flow.plot(row=1)
    with pytest.raises(TypeError, match="strat"):
        flow.plot(strat=1)


# the command


REPAIRED = """
    +0    > P. 1:101(100) ack 1 win 502
    +.2   > P. 1:101(100) ack 1 win 502
    +.4   > P. 1:101(100) ack 1 win 502
    +.8   > P. 1:101(100) ack 1 win 502
    +.020 < .  1:1(0) ack 101 win 65535
"""


def drawn_stream(said):
    return int(said.split("stream ")[1].split(",")[0])


def test_without_a_stream_the_flow_that_matters_most_is_drawn(tmp_path, capsys):
    many = write_many(tmp_path / "many.pcap", 5, rounds=3)
    both = [str(many), str(LOSS)]
    page = tmp_path / "x.html"
    assert main(["plot", *both, "-o", str(page)]) == 0
    first = bdpcap.analyze(both).top(1)[0]
    assert drawn_stream(capsys.readouterr().err) == first.stream
    assert f"stream {first.stream}:" in page.read_text("utf-8")
    for stream in (0, 3):
        assert main(["plot", *both, "--stream", str(stream), "-o", str(page)]) == 0
        assert drawn_stream(capsys.readouterr().err) == stream


def test_the_flow_drawn_is_the_first_of_the_report(tmp_path, capsys):
    """A hundred bytes that were lost thrice cost most time, yet the report shows a flow of many segments first."""
    (tmp_path / "lost.pcap").write_bytes(pcap(scenario(HANDSHAKE + REPAIRED)))
    both = [str(tmp_path / "lost.pcap"), str(write_many(tmp_path / "many.pcap", 5, rounds=3))]
    capture = bdpcap.analyze(both)
    assert ranking.ranked(capture)["stream"].iloc[0] == 0
    assert main(["plot", *both, "-o", str(tmp_path / "x.html")]) == 0
    drawn = drawn_stream(capsys.readouterr().err)
    assert [drawn] == [flow.stream for flow in capture.top()] != [0]
    assert main(["report", *both, "-o", str(tmp_path / "report.html")]) == 0
    assert drawn_stream(capsys.readouterr().err) == drawn


def test_a_capture_without_flows_has_nothing_to_draw(tmp_path, capsys):
    empty = write_pcap(tmp_path / "handshake.pcap", rounds=0)
    assert main(["plot", str(empty), "-o", str(tmp_path / "x.html")]) == 2
    assert "no flow to draw" in capsys.readouterr().err
    assert not (tmp_path / "x.html").exists()


@pytest.mark.parametrize("name", ["x.pdf", "x", "x.htm", "x.jpeg"])
def test_a_wrong_suffix_is_refused_with_the_right_ones(name, tmp_path, capsys):
    assert main(["plot", str(LOSS), "-o", str(tmp_path / name)]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "end it in .html, .svg or .png" in said
    assert not (tmp_path / name).exists()


def test_a_window_of_time_is_drawn_from_the_command_line(tmp_path, capsys):
    page = tmp_path / "x.html"
    asked = ["plot", str(LOSS), "-o", str(page), "--kind", "sequence"]
    assert main([*asked, "--from", "0.25", "--to", "0.3"]) == 0
    assert '"range":[0.25,0.3]' in page.read_text("utf-8").replace(" ", "")
    capsys.readouterr()
    page.unlink()
    assert main([*asked, "--from", "100"]) == 2
    assert "has no packet from 100 s on" in " ".join(capsys.readouterr().err.split())
    assert not page.exists()


def test_a_legend_without_groups_stands_in_columns():
    traces = [{"name": "a" * letters} for letters in (12, 4, 48, 35, 21)]
    layout = {"title": {"subtitle": {"text": "one line"}}}
    one, grouped, columns = (
        room(layout, those, 896)
        for those in (traces[:1], [{**trace, "legendgroup": "a"} for trace in traces], traces)
    )
    assert columns - one == 2 * (grouped - one) > 0
