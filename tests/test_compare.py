"""Several captures in one table: what iperf itself reported, what labs publish, and what two captures differ in."""

import csv
import io
import json
import re
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import ROOT, SHARED
from small_transfer import MSS, ROUNDS, RTT, SEGMENTS, START, write_pcap

import bdpcap
from bdpcap import plots
from bdpcap.cli import main
from bdpcap.comparing import settings
from bdpcap.comparing.comparison import (
    COMPARISON,
    Transfer,
    compare,
    fairness,
    main_flows,
    together,
    transfer,
)
from bdpcap.comparing.settings import Settings

SAMPLE = ROOT / "sample_captures" / "linux61_advwinscale2_w50000.pcap.zst"
SEED = SHARED / "captures" / "seed"
WINDOWS = {50_000: 73_552, 75_000: 111_052, 100_000: 148_552}
WINDOW_BYTES = SEGMENTS * MSS


def seed(asked):
    return SEED / f"linux61_advwinscale2_w{asked}.pcap.zst"


def rows_of(arguments, capsys, format_="json"):
    assert main(["compare", *map(str, arguments), "--format", format_]) == 0
    said = capsys.readouterr().out
    return json.loads(said)["rows"] if format_ == "json" else list(csv.DictReader(io.StringIO(said)))


def joined(target, *files):
    """Several pcap files as one."""
    first, *others = (file.read_bytes() for file in files)
    target.write_bytes(first + b"".join(other[24:] for other in others))
    return target


@pytest.fixture
def small(tmp_path):
    return write_pcap(tmp_path / "small.pcap")


# what iperf said


def iperf_rates(report):
    """Bits per second of iperf's server and of its client, from MBytes (which are MiB) and seconds."""
    found = re.findall(r"0\.0000-([\d.]+) sec +([\d.]+) MBytes", report.read_text())
    assert len(found) == 2
    return [float(mebibytes) * 2**20 * 8 / float(seconds) for seconds, mebibytes in found]


def agrees_with_iperf(capture):
    """Within 1 %: server and client differ by as much themselves, and the tap is between the two."""
    measured = compare([bdpcap.analyze(capture)], ["it"], [Settings()])["throughput_bps"][0]
    for rate in iperf_rates(capture.with_name(capture.name.replace(".pcap.zst", ".iperf.txt"))):
        assert measured == pytest.approx(rate, rel=0.01)


def test_iperf_reports_the_throughput_of_the_sample():
    agrees_with_iperf(SAMPLE)


@pytest.mark.usefixtures("need_shared")
@pytest.mark.parametrize("asked", WINDOWS)
def test_iperf_reports_the_throughput(asked):
    agrees_with_iperf(seed(asked))


@pytest.mark.usefixtures("need_shared")
def test_what_was_moved_is_what_the_programs_wrote_and_read():
    for meta in sorted((SHARED / "captures" / "lab").glob("*/meta.json")):
        said = json.loads(meta.read_text())
        if said["params"].get("flows", "1") != "1":
            continue  # its programs reported one stream each, over each other
        for place in ("sender", "receiver"):
            capture = bdpcap.analyze(meta.with_name(f"{place}.pcap.zst"))
            moved = transfer(capture.flow(0).events)
            assert moved.payload_bytes == said["sender"]["bytes"] == said["receiver"]["bytes"], meta


# the table of the lab notes, on captures of the same set-up


@pytest.mark.usefixtures("need_shared")
def test_the_table_of_the_lab_notes(capsys):
    files = [seed(asked) for asked in WINDOWS]
    asked = [word for size in WINDOWS for word in ("--rcvbuf", size)]
    rows = rows_of([*files, *asked, "--link-rate", "25Mbit/s", "--rtt", "40ms"], capsys)
    for row, (buffer, window) in zip(rows, WINDOWS.items(), strict=True):
        assert (row["link_rate_bps"], row["rtt_path_ns"], row["bdp_bytes"]) == (25e6, 40_000_000, 125_000)
        assert (row["rcvbuf_bytes"], row["buffer_bytes"], row["window_max_bytes"]) == (
            buffer,
            2 * buffer,
            window,
        )
        # Of the wire's 25 Mbit/s, headers leave 1,448 / 1,538 to payload.
        assert row["expected_bps"] == pytest.approx(min(25e6 * 1448 / 1538, window * 8 / 0.040))
        assert row["accuracy"] == pytest.approx(row["throughput_bps"] / row["expected_bps"])
        assert 0.7 < row["accuracy"] < 1  # the notes have 0.90 to 0.94 over a quieter link
        # A window above the BDP keeps a queue at the link.
        assert row["limit"] == ("rwnd" if window * 8 / 0.040 < 25e6 else "link")
    # Below the BDP every larger window moves more; none exceeds what its window and RTT allow.
    assert rows[0]["throughput_bps"] < rows[1]["throughput_bps"] < rows[2]["throughput_bps"]


@pytest.mark.usefixtures("need_shared")
def test_the_table_of_the_mailing_list(capsys):
    for row in rows_of([*map(seed, WINDOWS)], capsys):
        assert row["window_over_rtt_bps"] == pytest.approx(
            row["window_max_bytes"] * 8e9 / row["rtt_median_ns"]
        )
        assert 0.85 < row["window_over_rtt_share"] < 1
        assert row["sent_per_rtt_mean_bytes"] < row["window_max_bytes"]
        assert row["sndbuf_bytes"] is None


def test_a_send_buffer_below_the_window_is_the_w_of_w_over_rtt(small, capsys):
    (row,) = rows_of([small, "--sndbuf", 4000], capsys)
    assert row["window_max_bytes"] == WINDOW_BYTES
    assert row["window_over_rtt_bps"] == pytest.approx(4000 * 8e9 / row["rtt_median_ns"])
    assert row["window_over_rtt_share"] == pytest.approx(2, rel=0.02)  # twice that buffer was in flight


# one transfer


def test_throughput_is_from_the_first_payload_to_the_last_acknowledgment(small, capsys):
    (row,) = rows_of([small], capsys)
    life = ROUNDS * RTT + (ROUNDS - 1) * 1e-4
    assert row["throughput_bps"] == pytest.approx(ROUNDS * WINDOW_BYTES * 8 / life, rel=1e-5)
    assert row["sent_per_rtt_mean_bytes"] == row["sent_per_rtt_max_bytes"] == WINDOW_BYTES
    assert row["fairness"] is None
    assert (row["sender"], row["receiver"], row["streams"]) == ("10.0.0.1", "10.0.0.2", 1)


def test_the_buffer_that_alone_explains_the_window_is_filled_in(tmp_path, capsys):
    # 2 x 40,000 x 1/2 - 1,460, down to 26 segments; the SYN-ACK has 27, which no other kernel makes of a round number.
    rows = rows_of([write_pcap(tmp_path / "a.pcap")], capsys)
    assert [row["rcvbuf_source"] for row in rows] == [None]
    (given,) = rows_of([write_pcap(tmp_path / "a.pcap"), "--rcvbuf", "64KiB"], capsys)
    assert (given["rcvbuf_bytes"], given["rcvbuf_source"]) == (65_536, "given")


@pytest.mark.usefixtures("need_shared")
def test_the_window_that_stood_is_compared(capsys):
    # SO_RCVBUF of 8,192 set after accept(): 65,160 bytes at first, then 11,264. SO_RCVBUF of 70,000 before listen().
    fell, fixed = (SHARED / f"captures/windows/{name}.pcap.zst" for name in ("11_after", "39_before"))
    low, high = rows_of([fell, fixed], capsys)
    assert low["window_max_bytes"] == 11_264
    assert low["rcvbuf_bytes"] is None
    assert (high["rcvbuf_bytes"], high["rcvbuf_source"]) in ((70_000, "explained"), (None, None))


def test_what_is_not_given_is_blank(small, capsys):
    (row,) = rows_of([small], capsys, "csv")
    assert list(row) == list(COMPARISON)
    assert [row[name] for name in ("sndbuf_bytes", "rcvbuf_bytes", "buffer_bytes")] == ["", "", ""]


def test_a_link_never_filled_bounds_nothing(small, capsys):
    """The capacity that such a flow shows is a lower bound, and expected is window over RTT alone."""
    (row,) = rows_of([small, "--rtt", "1ms"], capsys)
    assert row["link_rate_source"] == "at least"
    assert row["expected_bps"] == WINDOW_BYTES * 8 / 0.001 > row["link_rate_bps"]
    (row,) = rows_of([small, "--rtt", "1ms", "--link-rate", "10Mbit/s"], capsys)
    # The wire's rate; headers leave less of it to payload.
    assert row["link_rate_source"] == "given"
    assert 0.9 * 10e6 < row["expected_bps"] < 10e6


def test_a_capture_without_payload_is_a_blank_row(small, tmp_path, capsys):
    silent = tmp_path / "silent.pcap"
    silent.write_bytes(small.read_bytes()[: 24 + 3 * 16 + 2 * 62 + 54])
    assert main(["compare", str(silent), str(small), "--format", "json"]) == 0
    said = capsys.readouterr()
    assert "silent.pcap: no TCP payload" in said.err
    row, _ = json.loads(said.out)["rows"]
    assert (row["capture"], row["streams"], row["throughput_bps"]) == ("silent.pcap", 0, None)
    for format_ in ("table", "markdown"):
        assert main(["compare", str(silent), str(silent), "--format", format_]) == 0
        said = capsys.readouterr().out
        assert "no TCP payload" in said
        assert "measured" not in said  # the head of a table with nothing in it
    assert main(["compare", str(silent), "--plot", str(tmp_path / "empty.html")]) == 0


# parallel streams


def test_parallel_streams_are_summed(tmp_path, capsys):
    alone = write_pcap(tmp_path / "one.pcap")
    others = [write_pcap(tmp_path / f"{port}.pcap", port=port) for port in (40001, 40002)]
    (one,) = rows_of([alone], capsys)
    (three,) = rows_of([joined(tmp_path / "three.pcap", alone, *others)], capsys)
    assert three["streams"] == 3
    assert three["window_max_bytes"] == 3 * WINDOW_BYTES
    assert three["throughput_bps"] == pytest.approx(3 * one["throughput_bps"], rel=1e-9)
    assert three["fairness"] == pytest.approx(1)
    assert three["sent_per_rtt_mean_bytes"] == pytest.approx(3 * one["sent_per_rtt_mean_bytes"])
    assert three["sent_per_rtt_max_bytes"] is None


def test_a_later_stream_is_not_parallel(tmp_path):
    first = write_pcap(tmp_path / "first.pcap")
    later = write_pcap(tmp_path / "later.pcap", port=40001, start=START + 60, rounds=ROUNDS - 1)
    capture = bdpcap.analyze(joined(tmp_path / "both.pcap", first, later))
    assert [flow.stream for flow in main_flows(capture)] == [0]


def test_a_stream_that_carried_next_to_nothing_is_not_parallel(tmp_path):
    """As iperf3's control connection beside the stream that it measures."""
    test = write_pcap(tmp_path / "test.pcap", rounds=150)
    control = write_pcap(tmp_path / "control.pcap", port=40001, rounds=1)
    capture = bdpcap.analyze(joined(tmp_path / "both.pcap", test, control))
    assert len(capture.flows) == 2
    assert [flow.stream for flow in main_flows(capture)] == [0]


# ten streams of the article on two data centres: MBytes (MiB) and seconds, as iperf -P 10 printed them

TEN = [
    (5.62, 10.0), (5.75, 10.2), (5.75, 10.2), (6.00, 10.2), (5.75, 10.2),
    (5.88, 10.2), (6.12, 10.3), (6.12, 10.3), (5.88, 10.3), (6.00, 10.3),
]  # fmt: skip


def test_ten_streams_add_up_as_iperf_adds_them():
    """All bytes over the time of all; the sum of the ten rates, 48.2, is more than the 47.8 that were moved."""
    moved = [Transfer(round(mib * 2**20), 0, round(seconds * 1e9)) for mib, seconds in TEN]
    # Ten amounts of three digits, over a time of three: 0.5 %.
    assert together(moved) == pytest.approx(47.8e6, rel=0.005)
    assert sum(together([one]) for one in moved) == pytest.approx(48.2e6, rel=0.005)
    assert fairness([together([one]) for one in moved]) > 0.999


@given(st.lists(st.floats(0, 1e12), min_size=2, max_size=20).filter(any), st.floats(1e-3, 1e3))
def test_fairness_lies_between_one_of_n_and_one(rates, scale):
    index = fairness(rates)
    assert 1 / len(rates) - 1e-9 <= index <= 1 + 1e-9
    assert fairness([scale * rate for rate in rates]) == pytest.approx(index)


def test_fairness_at_its_ends():
    assert fairness([5e6, 0, 0, 0]) == pytest.approx(1 / 4)
    assert fairness([5e6] * 7) == pytest.approx(1)
    assert fairness([5e6]) is None


# settings

CSV_SETTINGS = "capture,rcvbuf,link_rate\nsmall.pcap,64KiB,25Mbit/s\nother.pcap,1,\n"
YAML_SETTINGS = "small.pcap:\n  rcvbuf: 64KiB\n  link_rate: 25Mbit/s\nother.pcap: {rcvbuf: 1}\n"


@pytest.mark.parametrize(("name", "text"), [("bdpcap.csv", CSV_SETTINGS), ("bdpcap.yaml", YAML_SETTINGS)])
def test_settings_lie_beside_the_captures(name, text, small, capsys):
    small.with_name(name).write_text(text)
    (row,) = rows_of([small], capsys)
    assert (row["rcvbuf_bytes"], row["link_rate_bps"], row["sndbuf_bytes"]) == (65536, 25e6, None)


def test_no_output_replaces_the_settings(small, tmp_path, capsys):
    beside = small.with_name("bdpcap.csv")
    mine = tmp_path / "mine.csv"
    for file, words in ((beside, []), (mine, ["--settings", str(mine)])):
        file.write_text(CSV_SETTINGS)
        assert main(["compare", str(small), *words, "-o", str(file)]) == 2
        assert f"{file} is a file of settings itself" in capsys.readouterr().err
        assert file.read_text() == CSV_SETTINGS


def test_the_plot_does_not_replace_the_table(small, tmp_path, capsys):
    both = str(tmp_path / "both.html")
    assert main(["compare", str(small), "--format", "csv", "-o", both, "--plot", both]) == 2
    assert f"two outputs in one, {both}" in capsys.readouterr().err


def test_what_is_typed_outranks_the_file(small, tmp_path, capsys):
    file = tmp_path / "mine.csv"
    file.write_text(CSV_SETTINGS)
    (row,) = rows_of([small, "--settings", file, "--rcvbuf", 7], capsys)
    assert (row["rcvbuf_bytes"], row["link_rate_bps"]) == (7, 25e6)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("s.csv", "file,rcvbuf\na,1\n", "no column 'capture'"),
        ("s.csv", "capture,mtu\na,1500\n", "no setting 'mtu'"),
        ("s.csv", "capture,rcvbuf\na,1,2\n", "too many cells"),
        ("s.csv", "capture,rcvbuf\na,64k\n", "write KiB or kB"),
        ("s.yaml", "a: [", "no YAML"),
        ("s.yaml", "- a", "must map"),
        ("s.yaml", "a: 5", "must map"),
        ("s.yaml", "a: {rtt: [1]}", "is one value"),
    ],
)
def test_settings_that_cannot_be_understood_are_one_line(name, text, says, small, tmp_path, capsys):
    file = tmp_path / name
    file.write_text(text)
    assert main(["compare", str(small), "--settings", str(file)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert says in said
    assert file.name in said


def test_yaml_without_the_extra_names_it(small, monkeypatch, capsys):
    small.with_name("bdpcap.yaml").write_text(YAML_SETTINGS)
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert main(["compare", str(small)]) == 2
    assert "bdpcap[yaml]" in capsys.readouterr().err


@given(text=st.text(max_size=60), suffix=st.sampled_from(["csv", "yaml"]))
def test_any_file_of_settings_is_read_or_refused(text, suffix, tmp_path_factory):
    file = tmp_path_factory.getbasetemp() / f"any.{suffix}"
    file.write_text(text, encoding="utf-8")
    try:
        found = settings.read(file)
    except ValueError:
        return
    assert all(isinstance(one, Settings) for one in found.values())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--rtt", "1ms", "--rtt", "2ms"], "once for each of 1"),
        (["--rtt", "1"], "ns, us"),
        (["-"], "standard input"),
    ],
)
def test_usage_is_one_line(arguments, says, small, capsys):
    captures = [] if arguments == ["-"] else [str(small)]
    assert main(["compare", *captures, *arguments]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert says in said.err


# before and after


@pytest.mark.usefixtures("need_shared")
def test_two_captures_say_what_changed(capsys):
    assert main(["compare", str(seed(50_000)), str(seed(75_000)), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    changes = {change["quantity"]: change for change in document["difference"]}
    window = changes["window_max_bytes"]
    assert (window["before"], window["after"]) == (73_552, 111_052)
    assert window["ratio"] == pytest.approx(111_052 / 73_552)
    assert "streams" not in changes
    before, after = document["rows"]
    assert changes["throughput_bps"]["ratio"] == pytest.approx(
        after["throughput_bps"] / before["throughput_bps"]
    )
    assert main(["compare", str(seed(50_000)), str(seed(75_000))]) == 0
    said = capsys.readouterr().out
    assert "73,552 bytes -> 111,052 bytes" in said
    assert re.search(r"Throughput rose by 3\d(\.\d)? %\. Limit now: receive window", said)


def test_a_capture_does_not_differ_from_itself(small, tmp_path, capsys):
    again = tmp_path / "again.pcap"
    again.write_bytes(small.read_bytes())
    assert main(["compare", str(small), str(again), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["difference"] == []
    assert main(["compare", str(small), str(again)]) == 0
    assert "Throughput did not change." in capsys.readouterr().out


def test_one_or_three_captures_have_no_difference(small, tmp_path, capsys):
    others = [write_pcap(tmp_path / f"{number}.pcap") for number in (1, 2)]
    for captures in ([small], [small, *others]):
        assert main(["compare", *map(str, captures), "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out)["difference"] is None


# how it is shown


def test_the_examples_of_settings_in_the_reference_are_read_alike(tmp_path):
    page = (ROOT / "docs" / "commands" / "compare.md").read_text(encoding="utf-8")
    (as_csv,) = re.findall(r"```text\n(capture,.*?)```", page, flags=re.DOTALL)
    (as_yaml,) = re.findall(r"```yaml\n(before.*?)```", page, flags=re.DOTALL)
    files = {name: tmp_path / f"bdpcap.{name}" for name in ("csv", "yaml")}
    files["csv"].write_text(as_csv)
    files["yaml"].write_text(as_yaml)
    read = {name: settings.read(file) for name, file in files.items()}
    assert read["csv"] == read["yaml"]
    assert read["csv"]["after.pcap"] == Settings(Fraction(25_000_000), Fraction(1, 25), None, Fraction(2**18))


def test_the_tables_fit_80_columns(small, tmp_path, capsys):
    both = [str(small), str(write_pcap(tmp_path / "other.pcap", rounds=20))]
    assert main(["compare", *both, "--rcvbuf", "123456", "--sndbuf", "4MiB", "--link-rate", "100Gbit/s"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    head = next(line for line in lines if "expected" in line)
    assert head.split() == [
        "rate",
        "RTT",
        "BDP",
        "rcvbuf",
        "buffer",
        "window",
        "expected",
        "measured",
        "accuracy",
    ]


def test_markdown_has_both_tables(small, tmp_path):
    page = tmp_path / "page.md"
    assert main(["compare", str(small), str(small), "-o", str(page)]) == 0
    tables = [block for block in page.read_text().split("\n\n") if block.startswith("|")]
    assert len(tables) == 3
    for block in tables:
        widths = {line.count("|") for line in block.splitlines()}
        assert len(widths) == 1
    assert "window (B)" in tables[0]


def test_a_damaged_capture_is_compared_as_far_as_it_goes(small, tmp_path, capsys):
    torn = tmp_path / "torn.pcap"
    torn.write_bytes(small.read_bytes()[:-5])
    assert main(["compare", str(torn), str(small)]) == 1
    said = capsys.readouterr()
    assert "torn.pcap" in said.err
    assert "measured" in said.out


@pytest.mark.parametrize("bad", ["absent.pcap", "empty.pcap"])
def test_a_capture_that_cannot_be_read_leaves_the_others_to_compare(bad, small, tmp_path, capsys):
    """With its own settings: the third capture's are the third given."""
    last = write_pcap(tmp_path / "last.pcap")
    (tmp_path / "empty.pcap").touch()
    sizes = [word for size in (1, 2, 3) for word in ("--rcvbuf", str(size))]
    assert main(["compare", str(small), str(tmp_path / bad), str(last), *sizes, "--format", "json"]) == 1
    said = capsys.readouterr()
    assert (bad in said.err, said.err.count("\n")) == (True, 1)
    rows = json.loads(said.out)["rows"]
    assert [(row["capture"], row["rcvbuf_bytes"]) for row in rows] == [("small.pcap", 1), ("last.pcap", 3)]


def test_captures_of_which_none_can_be_read_are_an_error(tmp_path, capsys):
    assert main(["compare", str(tmp_path / "a.pcap"), str(tmp_path / "b.pcap")]) == 1
    said = capsys.readouterr()
    assert (said.out, "a.pcap" in said.err, said.err.count("\n")) == ("", True, 1)


def test_the_plot_has_the_points_and_the_line_of_theory(small):
    table = compare(
        [bdpcap.analyze(small)],
        ["small"],
        [Settings(link_rate=Fraction(2_000_000))],
    )
    line, point = plots.comparison_figure(table).data
    rtt_ns = float(table["rtt_path_ns"][0])
    window, allowed = np.asarray(line.x), np.asarray(line.y)
    assert np.allclose(allowed, np.minimum(window * 8e9 / rtt_ns, 2e6))
    assert np.isclose(window, 2e6 * rtt_ns / 8e9).any()  # the corner, at the BDP
    assert (point.x[0], point.y[0]) == (WINDOW_BYTES, table["throughput_bps"][0])


def test_the_plot_shows_what_was_expected(small):
    """Of a path a tenth as long as it is, ten times what was measured."""
    table = compare([bdpcap.analyze(small)], ["small"], [Settings(rtt=Fraction(RTT) / 10)])
    expected = table["expected_bps"][0]
    assert expected > 9 * table["throughput_bps"][0]
    figure = plots.comparison_figure(table)
    assert figure.layout.yaxis.range[1] > expected
    # The theory of the capture's window is inside the picture.
    line = figure.data[0]
    assert np.interp(WINDOW_BYTES, line.x, line.y) == pytest.approx(expected)


def test_the_plot_is_a_page(small, tmp_path, capsys):
    page = tmp_path / "plot.html"
    assert main(["compare", str(small), "--plot", str(page)]) == 0
    assert "small.pcap" in page.read_text(encoding="utf-8")
    assert "plot.html" in capsys.readouterr().err
