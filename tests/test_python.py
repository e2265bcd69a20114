"""The package as a library: what `analyze` takes, how its objects look, iterate and hand out tables."""

from __future__ import annotations

import copy
import io
import pickle
import pydoc
import re
from contextlib import contextmanager
from itertools import pairwise
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from oracles import ROOT

import bdpcap
from bdpcap import plots, tables

SAMPLE = ROOT / "sample_captures" / "linux61_advwinscale2_w50000.pcap.zst"
CLIENT, SERVER = "192.168.1.3:54348", "192.168.1.34:5001"


@pytest.fixture(scope="module")
def capture():
    return bdpcap.analyze(SAMPLE)


# what is read


@pytest.mark.parametrize("kind", ["path", "text", "bytes", "file", "list"])
def test_a_capture_is_the_same_however_it_is_given(kind, capture):
    with SAMPLE.open("rb") as file:
        given = {
            "path": SAMPLE,
            "text": str(SAMPLE),
            "bytes": SAMPLE.read_bytes(),
            "file": file,
            "list": [SAMPLE],
        }
        read = bdpcap.analyze(given[kind])
    pd.testing.assert_frame_equal(read.rtts, capture.rtts)
    pd.testing.assert_frame_equal(read.flow(0).events, capture.flow(0).events)


def test_bytes_have_a_fingerprint_and_no_excerpt(capture):
    read = bdpcap.analyze(SAMPLE.read_bytes())
    assert read.fingerprints()[0].sha256 == capture.fingerprints()[0].sha256
    with pytest.raises(bdpcap.CaptureError, match="save the capture to a file"):
        read.excerpt(0, io.BytesIO())


def test_a_copy_of_a_capture_or_a_flow_is_the_same_one(capture):
    for one in (capture, capture[0]):
        assert copy.copy(one) is copy.deepcopy(one) is one


def test_what_cannot_be_sent_to_another_process_names_what_can(capture):
    for one in (capture, capture[0]):
        with pytest.raises(TypeError, match=r"Capture\.table .* bdpcap\.analyze"):
            pickle.dumps(one)
    for name in ("flows", "rtts"):
        sent = pickle.loads(pickle.dumps(capture.table(name)))  # noqa: S301  our own
        pd.testing.assert_frame_equal(sent, capture.table(name))


def test_progress_is_told_to_whoever_asks():
    told = []
    bdpcap.analyze(SAMPLE, progress=told.append)
    assert told[-1].bytes_read == told[-1].bytes_total == SAMPLE.stat().st_size
    assert all(one.frames <= other.frames for one, other in pairwise(told))


def test_progress_that_nobody_watches_says_nothing(capsys):
    bdpcap.analyze(SAMPLE, progress=True)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("wanted", [True, False])
def test_whoever_watches_sees_a_later_pass_too(wanted, monkeypatch):
    told = []

    @contextmanager
    def bar(*, wanted):
        yield told.append if wanted else None

    monkeypatch.setattr("bdpcap.contents.event_reader.shown", bar)
    assert len(bdpcap.analyze(SAMPLE, progress=wanted).flow(0).events) > 0
    assert [one.bytes_read for one in told[-1:]] == [SAMPLE.stat().st_size] * wanted


# flows


def test_a_capture_is_a_sequence_of_its_flows(capture):
    assert len(capture) == len(capture.flows) == 2
    assert [flow.sender for flow in capture] == capture.flows["sender"].tolist()
    assert [capture[0].sender, capture[-1].sender] == [flow.sender for flow in capture]
    assert [flow.sender for flow in capture[:1]] == [capture[0].sender]
    with pytest.raises(IndexError):
        capture[2]


def test_a_capture_without_flows_is_empty_and_true():
    # A pcap file of no packet: magic, version 2.4, snaplen 65535, Ethernet.
    empty = bytes.fromhex("d4c3b2a1 02000400 00000000 00000000 ffff0000 01000000")
    capture = bdpcap.analyze(empty)
    assert (len(capture), list(capture), bool(capture)) == (0, [], True)
    assert "0 frames" in capture._repr_html_()


@pytest.mark.parametrize(
    "asked",
    [(0,), (0, CLIENT), (CLIENT,), (CLIENT, SERVER), ("192.168.1.3",), ("192.168.1.3", "192.168.1.34")],
    ids=str,
)
def test_a_flow_is_found_by_stream_or_by_its_ends(asked, capture):
    assert (capture.flow(*asked).sender, capture.flow(*asked).receiver) == (CLIENT, SERVER)


@pytest.mark.parametrize("asked", [(7,), (0, "10.0.0.1:1"), ("10.0.0.1",), (CLIENT, "10.0.0.1:1")], ids=str)
def test_a_flow_that_is_not_there_is_a_key_error(asked, capture):
    with pytest.raises(KeyError, match=r"no flow (from|of stream)"):
        capture.flow(*asked)


# errors


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        (lambda _: bdpcap.analyze(b"abc"), bdpcap.CaptureError, "<bytes>: not a packet capture"),
        (lambda _: bdpcap.analyze("sample_captures"), bdpcap.CaptureError, "name one, or sample_captures/*"),
        (lambda _: bdpcap.analyze([]), bdpcap.ArgumentError, "no capture given: name a file"),
        (lambda _: bdpcap.compare(), bdpcap.ArgumentError, "no capture given: name those"),
        (lambda _: bdpcap.compare(SAMPLE, settings=[]), bdpcap.ArgumentError, "0 settings for 1"),
        (lambda _: bdpcap.bdp(-1, 1), bdpcap.ArgumentError, "above zero"),
        (lambda _: bdpcap.bdp(float("nan"), 1), bdpcap.ArgumentError, "no finite number"),
        (lambda capture: capture[2], bdpcap.NotFoundError, "the capture has 2 flows"),
        (lambda capture: capture[-3], IndexError, "the capture has 2 flows"),
        (lambda capture: capture["10.0.0.1"], bdpcap.ArgumentError, r"Capture.flow\('10.0.0.1'\)"),
        (lambda capture: capture.flow(7), bdpcap.NotFoundError, "the capture has 1 stream, stream 0"),
        (lambda capture: capture.flow(None), bdpcap.ArgumentError, "which is None: give the number of a stream"),
        (lambda capture: capture.flow(0, 5), bdpcap.ArgumentError, "other is 5: give an address"),
        (lambda capture: capture.top("a"), bdpcap.ArgumentError, "flows is 'a': give a number, one at least"),
        (lambda capture: capture.excerpt(1, io.BytesIO()), bdpcap.NotFoundError, "the capture has 1 stream"),
        (lambda capture: capture.table("packets"), bdpcap.ArgumentError, "there are flows, rtts"),
        (lambda capture: capture.pieces("events"), bdpcap.ArgumentError, "there are flows, rtts"),
        (lambda capture: capture.report("x.pdf"), bdpcap.ArgumentError, "x.pdf: reports are HTML; name it x.html"),
        (lambda capture: capture[0].plot("pie"), bdpcap.ArgumentError, "no figure 'pie': there are window"),
        (lambda capture: capture[0].explain(rcvbuf=0), bdpcap.ArgumentError, "rcvbuf is 0: give a size"),
        (lambda capture: capture[0].explain(rmem=5), bdpcap.ArgumentError, "rmem is 5: give three sizes"),
        (lambda capture: capture[0].explain(kernel=6.1), bdpcap.ArgumentError, "kernel is 6.1: give a version"),
        (lambda capture: capture[0].events_between("a", 1), bdpcap.ArgumentError, "start is 'a': give seconds"),
        (lambda capture: capture[0].events_between(5, 1), bdpcap.ArgumentError, "the end comes after the start"),
        (lambda capture: capture[0].plot(end="a"), bdpcap.ArgumentError, "end is 'a': give seconds"),
        (lambda capture: capture[0].plot(figure="a"), bdpcap.ArgumentError, "figure is 'a': give a figure"),
        (lambda capture: capture.annotate("x.pcapng"), bdpcap.ArgumentError, "file is 'x.pcapng': give one that is"),
        (lambda capture: capture.annotate(io.StringIO()), bdpcap.ArgumentError, "one that is open for bytes"),
        (lambda capture: capture.excerpt(0, "x.pcapng"), bdpcap.ArgumentError, "file is 'x.pcapng': give one that"),
        (lambda capture: capture.excerpt("0", io.BytesIO()), bdpcap.ArgumentError, "give the number of a stream"),
        (lambda capture: capture.pieces(["rtts"]), bdpcap.ArgumentError, "there are flows, rtts"),
        (lambda capture: capture.report(None), bdpcap.ArgumentError, "path is None: give a path"),
        (lambda _: bdpcap.analyze(SAMPLE, jobs="a"), bdpcap.ArgumentError, "jobs is 'a': give one at least"),
        (lambda _: bdpcap.analyze(SAMPLE, filter=80), bdpcap.ArgumentError, "filter is 80: give an expression"),
        (lambda _: bdpcap.analyze(SAMPLE, memory_bytes="1G"), bdpcap.ArgumentError, "give a number of bytes"),
        (lambda _: bdpcap.analyze(SAMPLE, host="ss.log"), bdpcap.ArgumentError, "that bdpcap.host.read returns"),
        (lambda _: bdpcap.compare(SAMPLE, settings=["x"]), bdpcap.ArgumentError, "give a list of bdpcap.comparing"),
        (lambda _: bdpcap.Pair("a.pcap", "b.pcap"), bdpcap.ArgumentError, "bdpcap.pair takes paths"),
        (lambda _: next(bdpcap.stream_events(SAMPLE, streams=0)), bdpcap.ArgumentError, "give numbers of streams"),
        (lambda _: bdpcap.bdp(None, 1), bdpcap.ArgumentError, "None: give a number, or a text with its unit"),
        (lambda _: bdpcap.Budget(rows="a"), bdpcap.ArgumentError, "rows of the budget is 'a': give a whole number"),
        (lambda _: bdpcap.Pseudonyms("secret"), bdpcap.ArgumentError, r"^a key is 32 bytes, as [^']*gives$"),
        (lambda _: bdpcap.Pseudonyms().address("x"), bdpcap.ArgumentError, "'x' is no address"),
        (lambda _: bdpcap.Pseudonyms().packed(b"abc"), bdpcap.ArgumentError, "give 4, 6 or 16 bytes"),
        (lambda _: bdpcap.Pseudonyms().endpoint(80), bdpcap.ArgumentError, "end is 80: give an address with its"),
        (lambda _: bdpcap.host.read("/nope"), bdpcap.CaptureError, "/nope: cannot be read: No such file"),
        (lambda _: bdpcap.host.read(5), bdpcap.ArgumentError, "the log is 5: give a path"),
        (bdpcap.host.compare, bdpcap.ArgumentError, r"flow is <Capture of .*: give a flow of a capture"),
        (plots.figure, bdpcap.ArgumentError, r"flow is <Capture of .*: give a flow of a capture"),
        (lambda capture: plots.figure(capture[0], columns=0), bdpcap.ArgumentError, "columns is 0: give a number"),
        (plots.comparison_figure, bdpcap.ArgumentError, "give the table of bdpcap.compare"),
        (plots.Still, bdpcap.ArgumentError, "give a figure, such as flow.plot"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line(wrong, error, said, capture, monkeypatch):
    monkeypatch.chdir(ROOT)
    with pytest.raises(error, match=said) as raised:
        wrong(capture)
    assert "\n" not in str(raised.value)


def test_every_error_is_sent_between_processes():
    for error in (bdpcap.ArgumentError, bdpcap.CaptureError, bdpcap.FilterError, bdpcap.NotFoundError):
        again = pickle.loads(pickle.dumps(error("said")))  # noqa: S301  our own
        assert (type(again), str(again)) == (error, "said")


# what matters


@pytest.fixture(scope="module")
def three():
    names = ("rwnd_slow_reader", "sndbuf_24k_15ms", "app_small_writes")
    return bdpcap.analyze([ROOT / "sample_captures" / f"{name}.sender.pcap.zst" for name in names])


def sections(page):
    """Return the streams that a page has a section or a folded line for, in its order."""
    found = re.findall(r'<(?:section class="flow"|div) id="flow-(\d+)"', page.read_text(encoding="utf-8"))
    return [int(stream) for stream in found]


def test_the_flows_that_matter_are_in_the_order_of_the_page(three, tmp_path):
    shown = sections(three.report(tmp_path / "all.html"))
    assert sorted(shown) == [0, 1, 2]
    assert [flow.stream for flow in three.top()] == shown
    assert [flow.stream for flow in three.top(2)] == shown[:2]
    assert [flow.stream for flow in three.top(99)] == shown
    with pytest.raises(bdpcap.ArgumentError, match="one at least"):
        three.top(0)


def test_the_report_on_a_flow_has_no_other(three, tmp_path):
    page = three.flow(2).report(tmp_path / "one.html")
    assert sections(page) == [2]
    assert three.flow(2).verdict in page.read_text(encoding="utf-8")
    assert three.flow(0).sender not in page.read_text(encoding="utf-8")


def test_a_capture_is_drawn_as_its_flows_that_matter(three, capture):
    figure = three.plot("rtt")
    assert [title.text.partition(":")[0] for title in figure.layout.annotations] == [
        f"stream {flow.stream}" for flow in three.top()
    ]
    shown = [trace.name for trace in figure.data if trace.showlegend]
    assert len(shown) == len(set(shown)) > 0
    assert len(capture.plot().data) == len(capture[0].plot().data)  # its only flow that matters


def test_a_capture_without_flows_has_nothing_to_draw():
    empty = bytes.fromhex("d4c3b2a1 02000400 00000000 00000000 ffff0000 01000000")
    with pytest.raises(bdpcap.NotFoundError, match="nothing to draw"):
        bdpcap.analyze(empty).plot()


# looks


def test_objects_are_short_in_text(capture):
    flow = capture.flow(0)
    for thing in (capture, capture.info, flow, flow.findings[0]):
        assert repr(thing).startswith("<")
        assert len(repr(thing)) < 300
    assert "8,912 frames" in repr(capture)
    assert "rwnd" in repr(flow)


def test_objects_show_the_verdict_in_a_notebook_without_a_script(capture):
    flow = capture.flow(0)
    for thing in (capture, flow):
        shown = thing._repr_html_()
        assert "The receive window held the sender back" in shown
        widths = [float(width) for width in re.findall(r"width:([\d.]+)%", shown)]
        assert sum(widths) == pytest.approx(100, abs=0.1)
    for thing in (capture, capture.info, flow, flow.findings, flow.findings[0]):
        assert "<script" not in thing._repr_html_()
    assert flow.findings._repr_html_().count("<details>") == len(flow.findings)


def test_what_a_capture_names_is_escaped(capture):
    info = capture.info.__class__(**{**vars(capture.info), "comments": ["<script>alert(1)</script>"]})
    assert "<script>" not in info._repr_html_()


def test_help_shows_everything_public(capture):
    for thing in (capture, capture.flow(0)):
        said = pydoc.plain(pydoc.render_doc(type(thing)))
        public = {name for name in (*dir(thing), *vars(thing)) if not name.startswith("_")}
        assert {name for name in public if name not in said} == set()
        undocumented = {
            name
            for name in public
            if (own := getattr(type(thing), name, None)) is not None and not getattr(own, "__doc__", None)
        }
        assert undocumented == set()


def test_help_of_the_package_names_everything_public():
    said = pydoc.plain(pydoc.render_doc(bdpcap))
    names = set(bdpcap.__all__) - {"__version__"}
    assert {name for name in names if not re.search(rf"\b{name}\b", said)} == set()
    assert "class Capture" in said
    assert "stream_events(" in said


def test_what_a_shell_completes_is_for_users(capture):
    assert len([name for name in dir(capture) if not name.startswith("_")]) <= 20
    assert len([name for name in dir(capture[0]) if not name.startswith("_")]) <= 22
    assert {name for name in dir(bdpcap) if not name.startswith("__")} | {"__version__"} == set(
        bdpcap.__all__
    )
    for module in (bdpcap.host, bdpcap.plots):
        assert [name for name in dir(module) if not name.startswith("__")] == sorted(module.__all__)
    assert bdpcap.Capture.__name__ not in {kind.__name__ for kind in bdpcap.Capture.__bases__}


def test_every_public_name_is_there_and_documented():
    for name in bdpcap.__all__:
        assert getattr(bdpcap, name) is not None
        assert name == "__version__" or getattr(bdpcap, name).__doc__, name


# tables


def test_text_of_few_values_is_categorical(capture):
    assert capture.flows["limit"].dtype == pd.CategoricalDtype(list(tables.LIMITS))
    assert capture.rtts["limit"].dtype == pd.CategoricalDtype(list(tables.STATES))
    for name, schema in (("flows", tables.FLOWS), ("connections", tables.CONNECTIONS)):
        table = getattr(capture, name)
        for column, told in schema.items():
            found = set(table[column].dropna()) if told.only else set()
            assert found <= set(told.only), column


@pytest.mark.parametrize("name", ["flows", "rtts", "connections", "exchanges", "datagrams"])
def test_tables_say_what_their_columns_mean(name, capture):
    table = getattr(capture, name)
    assert set(table.attrs["meanings"]) == set(table.columns)
    assert all(table.attrs["units"][column] == "ns" for column in table if column.endswith("_ns"))
    assert table.head(1).attrs == table.attrs


def test_ends_come_apart(capture):
    table = capture.table("rtts", endpoints=True)
    assert set(table["sender_host"]) == {"192.168.1.3", "192.168.1.34"}
    assert table["sender_port"].dtype == "Int64"
    joined = table["sender_host"] + ":" + table["sender_port"].astype(str)
    assert joined.tolist() == capture.rtts["sender"].tolist()


def test_times_are_timestamps_where_they_are_asked_for(capture):
    table = capture.table("flows", timestamps=True)
    assert str(table["start"].dtype) == "datetime64[ns, UTC]"
    assert (table["start"].astype("int64") == capture.flows["start_ns"]).all()
    # A duration is no time.
    assert (table["rtt_min_ns"] == capture.flows["rtt_min_ns"]).all()
    with pytest.raises(ValueError, match="no table 'packets'"):
        capture.table("packets")


@pytest.mark.parametrize("source", ["file", "pipe"])
def test_events_of_a_while_are_those_of_the_whole(source, capture):
    read = capture if source == "file" else bdpcap.analyze(io.BytesIO(SAMPLE.read_bytes()))
    whole = capture.flow(0).events
    seconds = (whole["time_ns"] - capture.info.first_ns) / 1e9
    inside = whole[(seconds >= 1.0) & (seconds <= 1.5)].reset_index(drop=True)
    assert len(inside)
    pd.testing.assert_frame_equal(read.flow(0).events_between(1.0, 1.5), inside)
    nothing = read.flow(0).events_between(100.0, 101.0)
    assert nothing.empty
    assert nothing.columns.tolist() == whole.columns.tolist()


def test_other_libraries_read_tables_over_the_arrow_stream(capture):
    arrow = pytest.importorskip("pyarrow", reason="the extra bdpcap[arrow] is not installed")
    table = arrow.table(capture.rtts)
    assert table.num_rows == len(capture.rtts)
    assert arrow.types.is_dictionary(table.schema.field("limit").type)
    assert table.column("rtt_ns").null_count == int(capture.rtts["rtt_ns"].isna().sum())


# functions


def test_the_figures_have_the_names_of_the_type():
    assert get_args(plots.Kind) == tuple(plots.FIGURES)


def test_what_is_known_besides_changes_the_explanation(capture):
    flow = capture.flow(0)
    known = {finding.code for finding in flow.explain(rcvbuf=50_000, kernel="6.1")}
    assert "window-predicted" in known or "buffer-doubled" in known
    (takes,) = [one for one in flow.explain(link_rate="1Gbit/s", rtt="40ms") if one.code == "what-it-takes"]
    assert "1.00 Gbit/s" in takes.sentence


def test_captures_are_compared_as_paths_or_analysed(capture):
    table = bdpcap.compare(capture, SAMPLE)
    assert table["throughput_bps"][0] == table["throughput_bps"][1]
    assert table["window_max_bytes"].tolist() == [73_552, 73_552]
    assert table.attrs["units"]["throughput_bps"] == "bit/s"


def test_the_product_takes_numbers_and_words():
    assert bdpcap.bdp(25e6, 0.04) == pytest.approx(125_000)
    assert bdpcap.bdp("25Mbit/s", "40ms") == 125_000
    assert np.isclose(bdpcap.bdp("25Mbit/s", 0.04), 125_000)
    with pytest.raises(ValueError, match="cannot read 'fast'"):
        bdpcap.bdp("fast", "40ms")
