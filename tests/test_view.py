"""The linked figures: what is in view is what the events table says, at any zoom and in bounded memory."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import ROOT
from small_transfer import write_many

import bdpcap
from bdpcap import _core
from bdpcap.cli import main
from bdpcap.plots import marks
from bdpcap.plots.rtt import SMOOTHED
from bdpcap.tables import EVENTS
from bdpcap.tables.events import NAMES, Events
from bdpcap.view.columns import EVENT_BYTES, KEPT, Columns
from bdpcap.view.figure import FREE_AXIS, Span, draw, shown, whole
from bdpcap.view.packet import clicked, packet
from bdpcap.view.seen import Seen
from bdpcap.view.thinning import COLUMNS, thinned
from bdpcap.view.viewer import Viewer

LOSS = ROOT / "sample_captures" / "cwnd_loss_2pct.sender.pcap.zst"
SAMPLES = {
    name: ROOT / "sample_captures" / f"{name}.sender.pcap.zst"
    for name in ("cwnd_loss_2pct", "rwnd_zero_window", "rwnd_slow_reader")
}
FEW = 400
"""So few events in memory that an overview is needed."""


@pytest.fixture(scope="module")
def capture():
    return bdpcap.analyze(LOSS)


@pytest.fixture(scope="module")
def flow(capture):
    return capture.flow(0)


@pytest.fixture(scope="module")
def flows():
    return {name: bdpcap.analyze(path).flow(0) for name, path in SAMPLES.items()}


def seconds(flow, events):
    return (events["time_ns"] - flow.capture.info.first_ns).to_numpy() / 1e9


def table_of(columns, flow):
    """Return the events as the table of the flow has them, with ``pipe_bytes`` null."""
    n = len(columns)
    others = {name: np.full(n, _core.NULL) for name in NAMES if name not in columns.by_name}
    one = {"stream": np.zeros(n, np.int64), "direction": np.zeros(n, np.int64)}
    ends = {"sender": [flow.sender], "receiver": [flow.receiver]}
    return Events({**others, **columns.by_name, **one}, ends).frame().assign(stream=flow.stream)


def same(events, others):
    """Return whether two tables have the same events, but for the column that views leave out."""
    events, others = (table.drop(columns="pipe_bytes").reset_index(drop=True) for table in (events, others))
    return events.equals(others)


parts = st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted).filter(lambda ends: ends[0] < ends[1])
"""Two parts of a flow's life, the smaller first."""


def span_of(flow, part):
    every = whole(flow)
    low, high = (every.start + one * (every.end - every.start) for one in part)
    return Span(low, high).within(flow)


@given(st.sampled_from(list(SAMPLES)), parts, st.sampled_from([FEW, 10**6]))
def test_what_is_in_view_is_what_the_events_table_has(flows, name, part, most):
    flow = flows[name]
    span = span_of(flow, part)
    events, number = shown(Seen(flow, most), span)
    table, every = table_of(events, flow), flow.events
    inside = (seconds(flow, every) >= span.start) & (seconds(flow, every) <= span.end)
    own = (seconds(flow, table) >= span.start) & (seconds(flow, table) <= span.end)
    # Every event in view is one of the table's, column by column.
    of_table = every.set_index("frame").loc[table["frame"]].reset_index()[list(EVENTS)]
    assert same(table, of_table)
    if number is not None:
        # A nanosecond on either side is for rounding.
        assert abs(number - inside.sum()) <= 2
        for column in ("in_flight_bytes", "window_bytes", "rtt_ns", "sequence", "sack_end"):
            for extreme in ("min", "max"):
                expected = getattr(every.loc[inside, column], extreme)()
                assert (
                    getattr(table.loc[own, column], extreme)() == expected
                ) is not False or expected != expected
        if inside.sum() <= 4 * COLUMNS:  # a line keeps four of each column
            assert same(table[own], every[inside])


@given(parts)
def test_every_mark_in_view_is_drawn(flow, part):
    span = span_of(flow, part)
    drawing, _ = draw(Seen(flow), span)
    every = flow.events
    inside = every[(seconds(flow, every) >= span.start) & (seconds(flow, every) <= span.end)]
    names = inside["cause"].fillna(inside["kind"])
    for name, mark in marks.BY_NAME.items():
        if mark.common:
            continue
        drawn = [
            frame
            for trace in drawing.traces
            if trace["name"] == mark.label and trace["mode"] == "markers" and trace["yaxis"] == "y4"
            for frame in trace["customdata"].tolist()
        ]
        assert drawn == inside["frame"][names == name].tolist()


@given(st.sampled_from(list(SAMPLES)), parts)
def test_all_are_said_to_be_drawn_only_where_each_segment_and_sample_is(flows, name, part):
    flow = flows[name]
    span = span_of(flow, part)
    drawing, said = draw(Seen(flow), span)
    every = flow.events
    inside = every[(seconds(flow, every) > span.start) & (seconds(flow, every) < span.end)]
    frames = {
        axis: {
            int(np.atleast_1d(custom)[0])
            for trace in drawing.traces
            if trace["yaxis"] == axis
            and trace.get("customdata") is not None
            and trace["name"] != "smoothed RTT"
            for custom in trace["customdata"]
        }
        for axis in ("y3", "y4")
    }
    if said.endswith("all drawn"):
        assert set(inside["frame"][inside["rtt_ns"].notna()]) <= frames["y3"]
        assert set(inside["frame"][inside["sequence"].notna()]) <= frames["y4"]
    else:
        assert len(inside) > 300


columns = st.integers(1, 3000).flatmap(
    lambda n: st.tuples(
        st.just(n), st.integers(0, 2**32), st.integers(2, 50), st.integers(0, n - 1), st.integers(0, n - 1)
    )
)


def made(n, seed):
    """Return random events, with unknown values and times that repeat."""
    random = np.random.default_rng(seed)
    by_name = {name: random.integers(0, 1000, n) for name in KEPT}
    for name in (
        "sequence",
        "length",
        "acknowledged",
        "window_bytes",
        "in_flight_bytes",
        "rtt_ns",
        "sack_start",
        "sack_end",
    ):
        by_name[name] = np.where(random.random(n) < 0.3, _core.NULL, by_name[name])
    by_name["length"] = np.where(
        by_name["sequence"] == _core.NULL, _core.NULL, np.abs(by_name["length"]) % 1000
    )
    by_name["time_ns"] = np.sort(random.integers(0, random.choice([1, 3, 2 * n, 10**9]), n))
    by_name["kind"] = random.integers(0, len(_core.KINDS), n).astype(np.uint8)
    by_name["cause"] = random.integers(0, len(_core.CAUSES), n).astype(np.uint8)
    by_name["tcp_flags"] = random.integers(0, 256, n).astype(np.uint8)
    by_name[SMOOTHED] = np.where(by_name["rtt_ns"] == _core.NULL, np.nan, random.random(n))
    return Columns(by_name)


@given(columns)
def test_thinning_keeps_extremes_and_neighbours_of_every_line(given_columns):
    n, seed, width, one, other = given_columns
    events = made(n, seed)
    start_ns, end_ns = sorted((int(events.time_ns[one]), int(events.time_ns[other])))
    kept = thinned(events, start_ns, end_ns, width)
    assert (np.diff(kept) > 0).all()
    for line in events.lines:
        value = sum(events.by_name[name][line.places] for name in line.columns)
        time_ns = events.time_ns[line.places]
        inside, own = (time_ns >= start_ns) & (time_ns <= end_ns), np.isin(line.places, kept)
        if inside.any():
            assert value[inside & own].min() == value[inside].min()
            assert value[inside & own].max() == value[inside].max()
        for beyond in (np.flatnonzero(time_ns < start_ns)[-1:], np.flatnonzero(time_ns > end_ns)[:1]):
            assert own[beyond].all()


def test_the_memory_of_an_event_is_bounded():
    events = made(3000, 1)
    held = sum(values.nbytes for values in events.by_name.values()) + sum(
        line.places.nbytes for line in events.lines
    )
    assert held <= 3000 * EVENT_BYTES


def test_a_large_flow_has_an_overview_and_its_parts_are_read(flow):
    seen = Seen(flow, FEW)
    assert len(seen) == len(flow.events)
    assert not seen.is_whole
    every = whole(flow)
    events, number = shown(seen, every)
    assert number is None
    assert len(events) <= FEW // 2
    _, said = draw(seen, every)
    assert "extremes" in said


def test_pieces_of_a_flow_are_read_and_given_up_again(flow, monkeypatch):
    whole_columns = next(flow.capture._contents.events.columns([0]))
    bounds = np.arange(0, len(whole_columns["frame"]) + 100, 100)
    monkeypatch.setattr(
        flow.capture._contents.events,
        "columns",
        lambda _, names: (
            {name: whole_columns[name][low : low + 100] for name in names} for low in bounds.tolist()
        ),
    )
    seen = Seen(flow, FEW)
    events = flow.events
    for first in (0, 700, 1500):
        start_ns, end_ns = (int(events["time_ns"].iloc[place]) for place in (first, first + 50))
        held, number = seen.between(start_ns, end_ns)
        assert number == ((events["time_ns"] >= start_ns) & (events["time_ns"] <= end_ns)).sum()
        assert len(held) < 1000
        part = held.chosen(
            np.arange(held.between(start_ns, end_ns).start, held.between(start_ns, end_ns).stop)
        )
        assert same(
            table_of(part, flow), events[(events["time_ns"] >= start_ns) & (events["time_ns"] <= end_ns)]
        )


def test_rounds_in_view_have_their_own_rule_and_evidence(flow):
    every = whole(flow)
    middle = (every.start + every.end) / 2
    drawing, _ = draw(Seen(flow), Span(middle, middle + 0.5).within(flow))
    said = {text for trace in drawing.traces if trace["yaxis"] == "y" for text in trace["hovertext"]}
    start = seconds(flow, flow.rtts.rename(columns={"start_ns": "time_ns"}).drop(columns="end_ns"))
    shown_rounds = flow.rtts[(start > middle) & (start < middle + 0.5)]
    assert len(shown_rounds) > 5
    for row in shown_rounds.itertuples():
        assert any(
            f"round {row.round}," in text and row.evidence in text and row.rule in text for text in said
        )


@given(parts, st.floats(-10, 10))
def test_a_span_stays_within_the_life_of_its_flow(flow, part, moved):
    every, span = whole(flow), span_of(flow, part)
    held = Span(span.start + moved, span.end + moved).within(flow)
    assert every.start <= held.start < held.end <= every.end
    assert held.end - held.start == pytest.approx(span.end - span.start, abs=1e-9)  # float rounding of a sum


def test_a_figure_without_values_keeps_its_place():
    """A sender whose peer was not captured has neither an RTT nor a window."""
    capture = bdpcap.analyze(LOSS, filter="src host 192.168.1.3")
    flow = capture.flow(0)
    drawing, _ = draw(Seen(flow), whole(flow))
    assert {trace["yaxis"] for trace in drawing.traces} >= {"y", "y2", "y3", "y4"}
    notes = {trace["yaxis"] for trace in drawing.traces if trace.get("text") == ["no values in this time"]}
    assert notes == {"y2", "y3"}
    numbered = [drawing.layout[f"yaxis{number}"]["showticklabels"] for number in (2, 3, 4)]
    assert numbered == [False, False, True]
    assert drawing.figure().data  # plotly accepts it


def test_a_chosen_range_of_sequence_numbers_is_kept(flow):
    drawing, _ = draw(Seen(flow), Span(1, 2, (3.0, 4.0)).within(flow))
    assert drawing.layout[FREE_AXIS]["range"] == [3.0, 4.0]


def test_flows_are_offered_as_the_report_ranks_them(tmp_path):
    capture = bdpcap.analyze(write_many(tmp_path / "many.pcap", 5))
    viewer = Viewer(capture, capture.flow(3))
    assert len(viewer.labels) == len(capture)
    assert viewer.labels[viewer.first].startswith("stream 3: ")
    assert viewer.flow(viewer.first).stream == 3
    assert [viewer.flow(place).stream for place in range(3)] == [flow.stream for flow in capture.top(3)]
    drawing, _ = viewer.draw(viewer.first)
    other, _ = viewer.draw(1 - viewer.first if viewer.first < 2 else 0)
    assert drawing.traces
    assert other.traces


def test_a_flow_beyond_the_list_is_offered_too(tmp_path, monkeypatch):
    monkeypatch.setattr("bdpcap.view.viewer.LISTED", 2)
    capture = bdpcap.analyze(write_many(tmp_path / "many.pcap", 5))
    for stream in range(5):
        viewer = Viewer(capture, capture.flow(stream))
        assert len(viewer.labels) == 2 + (viewer.first == 2)
        assert viewer.flow(viewer.first).stream == stream


def test_a_packet_has_the_number_of_its_own_file(tmp_path):
    one, other = (write_many(tmp_path / name, 2) for name in ("one.pcap", "other.pcap"))
    capture = bdpcap.analyze([one, other])
    frame = capture._contents.files.frames[0] + 3
    found = packet(capture.flow(0), frame)
    assert found.frame == frame
    assert found.filters == ("frame.number == 3",)
    assert found.where.startswith("Frame 3 of ")
    assert packet(bdpcap.analyze(one).flow(0), 2).filters == ("frame.number == 2", "tcp.stream eq 0")


@pytest.mark.parametrize(
    ("point", "frame"),
    [({"customdata": 7}, 7), ({"customdata": [8, 1, 2]}, 8), ({"customdata": None}, None), ({}, None)],
)
def test_a_click_gives_a_frame_where_there_is_one(point, frame):
    assert clicked(point) == frame


def test_a_widget_draws_the_time_that_is_zoomed_to(flow):
    view = flow.view()
    assert view.shown.value.startswith("8.39 s")
    view.figure.layout.xaxis.range = (1, 1.2)
    assert view.shown.value.startswith("200 ms")
    expected, _ = draw(Seen(flow), Span(1, 1.2).within(flow))
    assert [trace.name for trace in view.figure.data] == [trace["name"] for trace in expected.traces]
    view.figure.layout[FREE_AXIS].range = (1, 2)
    assert view.figure.layout[FREE_AXIS].range == (1, 2)
    view.figure.layout.xaxis.autorange = True
    assert view.shown.value.startswith("8.39 s")
    trace = next(trace for trace in view.figure.data if trace.name == "sent")
    view._click(trace, SimpleNamespace(point_inds=[0]), None)
    assert f"frame.number == {trace.customdata[0][0]:.0f}" in view.packet.value


def test_without_the_extra_the_message_names_it(flow, monkeypatch, capsys):
    for name in [name for name in sys.modules if name.startswith("bdpcap.view.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tsdownsample", None)
    assert main(["view", str(LOSS)]) == 2
    assert "bdpcap[view]" in capsys.readouterr().err
    with pytest.raises(ModuleNotFoundError, match=r"bdpcap\[view\]"):
        flow.view()
