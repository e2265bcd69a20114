"""What a dataset of many captures shows, against sums over the tables of single captures."""

from __future__ import annotations

import json
import re
import sys
from datetime import UTC, datetime

import dpkt
import duckdb
import numpy as np
import pandas as pd
import pytest
from oracles import ROOT
from packets import Packet, pcap
from scenario import scenario
from small_dataset import analysed
from small_transfer import START, write_many, write_pcap
from words import Text, faults

import bdpcap
from bdpcap.cli import main
from bdpcap.fleet import distribution, sentences
from bdpcap.fleet.captures import tasks
from bdpcap.fleet.questions import ask
from bdpcap.fleet.work import Order
from bdpcap.report import headline, ranking

LATER = START + 86_400
DATE = datetime.fromtimestamp(START + 3600, UTC)
SAMPLES = ("cwnd_loss_2pct", "rwnd_slow_reader", "sndbuf_24k_15ms")
LIMITS = ("rwnd", "cwnd", "sndbuf", "link", "app", "unknown")
NAMES = ("active_throughput_bps", "rtt_median_ns", "window_max_bytes")
WAITING = """
    0     > S  0:0(0) win 64240 <mss 1460>
    +.020 < S. 0:0(0) ack 1 win 100 <mss 1460>
    +0    > P. 1:101(100) ack 1 win 64240
    +.020 < .  1:1(0) ack 101 win 0
    +9    < .  1:1(0) ack 101 win 100
    +0    > P. 101:201(100) ack 1 win 64240
    +.020 < .  1:1(0) ack 201 win 100
"""
"""A connection of two small segments, the second after nine seconds without a window."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Captures of a day and of the next, labelled ones beside them, and one that is none; a name that needs quoting."""
    folder = tmp_path_factory.mktemp("it's") / "captures"
    folder.mkdir()
    write_many(folder / "early.pcap", 7)
    write_pcap(folder / "<b>late.pcap", start=LATER, rounds=20)
    for name in SAMPLES:
        (folder / f"{name}.pcap.zst").symlink_to(ROOT / "sample_captures" / f"{name}.sender.pcap.zst")
    (folder / "junk.pcap").write_bytes(b"no capture")
    return folder


@pytest.fixture(scope="module")
def out(folder):
    out = folder.with_name("out")
    found, _ = tasks([str(folder)], rotated=False)
    for group in (found[:4], found[4:]):
        analysed(group, Order(str(out), None, ("bdpcap", "batch")))
    return out


@pytest.fixture(scope="module")
def flows(folder):
    """The flows of every capture by itself, with the time under each limit."""
    names = [path for path in sorted(folder.iterdir()) if path.name != "junk.pcap"]
    flows = pd.concat(
        [bdpcap.analyze(path).table("flows", endpoints=True).assign(capture=path.name) for path in names],
        ignore_index=True,
    )
    return flows.assign(**{limit: flows[f"{limit}_share"] * flows["active_ns"] for limit in LIMITS})


@pytest.fixture(scope="module")
def large(flows):
    """The flows that shares and figures count."""
    large = flows[ranking.bulk(flows)]
    assert 0 < len(flows) - len(large) < len(large)
    return large


def test_totals_and_time_by_limit(out, flows, large):
    answers = ask(str(out))
    assert (answers.totals["captures"], answers.totals["failed"]) == (6, 1)
    assert answers.totals["flows"] == len(flows)
    assert answers.totals["payload_bytes"] == flows["payload_bytes"].sum()
    assert answers.totals["control_flows"] == len(flows) - len(large)
    assert answers.totals["control_bytes"] == flows["payload_bytes"].sum() - large["payload_bytes"].sum()
    told = answers.limits.set_index("limit")
    for limit in LIMITS:
        assert told["ns"].get(limit, 0.0) == pytest.approx(large[limit].sum())
        assert told["share"].get(limit, 0.0) == pytest.approx(large[limit].sum() / large["active_ns"].sum())
        assert told["flows"].get(limit, 0) == (large[limit] > 0).sum()
        assert told["captures"].get(limit, 0) == large["capture"][large[limit] > 0].nunique()


def test_a_capture_has_the_verdict_on_its_most_important_flow(out, folder, large):
    rows = ask(str(out)).captures.set_index("capture")
    assert set(rows.index) == {path.name for path in folder.iterdir()}
    assert rows["state"].value_counts().to_dict() == {"done": 5, "failed": 1}
    assert rows["error"]["junk.pcap"].startswith("not a packet capture")
    for name in set(rows.index) - {"junk.pcap"}:
        capture = bdpcap.analyze(folder / name)
        leading, row = ranking.first(capture)[0], rows.loc[name]
        assert (row["sender"], row["limit"]) == (leading.sender, leading.summary["limit"])
        assert row["verdict"] == leading.verdict  # in the words of its report
        assert (row["flows"], row["first_ns"]) == (len(capture), capture.info.first_ns)
        assert row["lost_ns"] == pytest.approx(ranking.lost_ns(large[large["capture"] == name]).sum())


def test_hosts_and_paths_by_what_they_lose(out, large):
    answers = ask(str(out))
    by_receiver = large.groupby("receiver_host")["rwnd"].sum()
    by_sender = large.groupby("sender_host")["sndbuf"].sum()
    assert not answers.hosts.empty
    for row in answers.hosts.itertuples():
        assert row.lost_ns == pytest.approx((by_receiver if row.limit == "rwnd" else by_sender)[row.host])
    assert answers.hosts["lost_ns"].is_monotonic_decreasing
    by_path = large.groupby(["sender_host", "receiver_host"])[["rwnd", "cwnd", "sndbuf"]].sum()
    for row in answers.paths.itertuples():
        assert row.lost_ns == pytest.approx(by_path.loc[tuple(row.path.split(" → ")), row.limit])


def test_the_worst_flows_and_what_caused_them(out, flows):
    answers = ask(str(out))
    lost = flows[["rwnd", "cwnd", "sndbuf"]].sum(axis=1)
    worst = flows.loc[lost.sort_values(ascending=False).index[0]]
    first = answers.worst.iloc[0]
    assert (first["capture"], first["stream"], first["limit"]) == (
        worst["capture"],
        worst["stream"],
        worst["limit"],
    )
    assert first["lost_ns"] == pytest.approx(lost.max())
    # The labels of the samples: what was set up is what the findings name.
    assert {"congestion-window", "slow-reader", "send-buffer"} <= set(answers.causes["code"])
    # A root cause is the main limit's, so no other limit's time is its cost.
    main = flows[flows["limit"].isin(["rwnd", "cwnd", "sndbuf"])]
    own = [row[row["limit"]] for _, row in main.iterrows()]
    assert 0 < answers.causes["lost_ns"].sum() <= sum(own) * (1 + 1e-9)
    assert sum(own) < lost.sum()


def test_control_flows_lose_no_time_in_any_list(tmp_path):
    """A flow of little payload that waits for the receive window for seconds, beside a bulk flow."""
    (tmp_path / "in").mkdir()
    write_pcap(tmp_path / "in" / "bulk.pcap")
    (tmp_path / "in" / "control.pcap").write_bytes(pcap(scenario(WAITING)))
    analysed(tasks([str(tmp_path / "in")], rotated=False)[0], order := Order(str(tmp_path / "out"), None, ()))
    answers = ask(order.out)
    assert answers.totals["control_lost_ns"] > 1e9
    assert "control.pcap" not in set(answers.worst["capture"])
    assert answers.captures["lost_ns"].sum() == pytest.approx(answers.totals["lost_ns"])


NOT_OPENED = """
    0     > S  0:0(0) win 64240 <mss 1460>
    +.020 < R. 0:0(0) ack 1 win 0
"""
UDP = dpkt.udp.UDP(sport=5000, dport=9, data=bytes(1000), ulen=1008)
DATAGRAM = dpkt.ip.IP(src=b"abcd", dst=b"efgh", p=dpkt.ip.IP_PROTO_UDP, ttl=64, data=UDP, len=1028)
WITHOUT_FLOWS = {
    "refused": scenario(NOT_OPENED),
    "udp": [Packet(int(START) * 10**9, bytes(dpkt.ethernet.Ethernet(data=DATAGRAM)), 1042)],
    "empty": [],
}


def test_captures_without_flows_say_what_they_hold(tmp_path, capsys):
    (tmp_path / "in").mkdir()
    for name, packets in WITHOUT_FLOWS.items():
        (tmp_path / "in" / f"{name}.pcap").write_bytes(pcap(packets))
    analysed(tasks([str(tmp_path / "in")], rotated=False)[0], Order(out := str(tmp_path / "out"), None, ()))
    for row in ask(out).captures.itertuples():
        assert row.verdict == headline.summary(bdpcap.analyze(tmp_path / "in" / row.capture), [])
    assert main(["summary", out]) == 0
    said = capsys.readouterr().out
    assert said.startswith("3 captures, from 20")
    (verdict,) = re.findall(r"VERDICT ([^.]*)\.", " ".join(said.split()))
    assert verdict == (
        "No TCP flow carried payload: connections without payload in 1 capture, only UDP in 1 capture, "
        "neither TCP nor UDP in 1 capture"
    )
    assert "lose most" not in said
    assert main(["summary", out, "-o", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text("utf-8")
    assert verdict in page
    assert "Only UDP" in page
    assert "lose most" not in page


def test_if_no_capture_could_be_read_each_is_named_with_its_reason(tmp_path, capsys):
    (tmp_path / "in").mkdir()
    for name in ("one.pcap", "two.pcap"):
        (tmp_path / "in" / name).write_bytes(b"this is no capture")
    analysed(tasks([str(tmp_path / "in")], rotated=False)[0], Order(out := str(tmp_path / "out"), None, ()))
    page = tmp_path / "page.html"
    for arguments in ([], ["-o", str(page), "--before-after", "2026-11-22"]):
        assert main(["summary", out, *arguments]) == 1
    for said in (capsys.readouterr().out, page.read_text("utf-8")):
        assert "No capture could be read" in said
        assert " ".join(said.split()).count("not a packet capture") == 2
        assert {"one.pcap", "two.pcap"} <= set(re.findall(r"\w+\.pcap", said))


def test_distributions_before_and_after_a_date(out, large):
    answers = ask(str(out), DATE)
    early = large["start_ns"] < DATE.timestamp() * 10**9
    assert 0 < early.sum() < len(large)
    for period, own in (("before", large[early]), ("after", large[~early])):
        quantiles = answers.quantiles[period]
        assert quantiles["flows"]["active_throughput_bps"] == own["active_throughput_bps"].notna().sum()
        for name in NAMES:
            expected = np.quantile(own[name].dropna().astype(float), np.linspace(0, 1, 101))
            assert list(quantiles["percentiles"][name]) == pytest.approx(list(expected))
        since = answers.since.limits
        shares = since[since["period"] == period].set_index("limit")["share"]
        for limit in LIMITS:
            assert shares.get(limit, 0.0) == pytest.approx(own[limit].sum() / own["active_ns"].sum())
    paths = large["sender_host"] + " → " + large["receiver_host"]
    both = sorted(set(paths[early]) & set(paths[~early]))
    assert sorted(answers.since.paths["path"]) == both != []
    for row in answers.since.paths.itertuples():
        for period, own in (("before", large[early]), ("after", large[~early])):
            of_path = own[paths[own.index] == row.path]
            assert getattr(row, f"flows_{period}") == len(of_path)
            assert getattr(row, f"bps_{period}") == of_path["active_throughput_bps"].median()
            lost = ranking.lost_ns(of_path).sum() / of_path["active_ns"].sum()
            assert getattr(row, f"lost_{period}") == pytest.approx(lost)


def test_a_period_without_flows_is_named(out):
    far = datetime(2100, 1, 1, tzinfo=UTC)
    assert sentences.changes(ask(str(out), far)).startswith("No bulk flow begins after")


def test_text(out, capsys):
    assert main(["summary", str(out), "--before-after", DATE.strftime("%Y-%m-%dT%H:%M")]) == 0
    said = capsys.readouterr().out
    assert said.startswith("6 captures (1 could not be read), 11 flows")
    verdict, *sections = (
        "VERDICT",
        "Hosts that lose most",
        "Paths",
        "Causes",
        "percentile, before 2023-11-14",
        "Before and after",
        "Captures that could not be read",
    )
    assert said.splitlines()[3].startswith(verdict)
    for part in sections:
        assert part in said


def test_sentences_are_short_and_of_standard_words(out):
    said = []
    for answers in (ask(str(out)), ask(str(out), DATE)):
        said += [sentences.totals(answers), sentences.head(answers), sentences.reason(answers)]
        said += [sentences.advice(answers), sentences.omitted(answers), sentences.changes(answers)]
    assert all(said[:5] + said[6:])
    assert [fault for words in said for fault in faults(Text(ROOT, 1, words, doc=False))] == []


def test_an_axis_is_logarithmic_where_values_span_decades():
    def drawn(name, low, high):
        values = np.geomspace(low, high, 101)
        found = pd.DataFrame({"flows": [101], "percentiles": [values]}, index=[name])
        return distribution.picture(name, {"all": found})

    wide = drawn("active_throughput_bps", 1e3, 1e9)
    assert wide.logarithmic
    assert [text for _, text in wide.ticks] == ["10 kbit/s", "1 Mbit/s", "100 Mbit/s"]
    # On a logarithmic axis values in geometric progression lie on one line.
    places = [tuple(map(float, place.split())) for place in wide.lines["all"][1:].split("L")]
    width, height = distribution.WIDTH, distribution.HEIGHT
    assert all(x / width == pytest.approx(1 - y / height, abs=0.002) for x, y in places)
    narrow = drawn("rtt_median_ns", 10e6, 60e6)
    assert not narrow.logarithmic
    assert len(narrow.ticks) >= 3


def test_only_captures_that_are_complete_count(folder, out, tmp_path):
    partly = tmp_path / "partly"
    for task in tasks([str(folder / "early.pcap"), str(folder / "<b>late.pcap")], rotated=False)[0]:
        analysed([task], Order(str(partly), None, ()))
    assert ask(str(partly)).totals["flows"] == 8
    (status,) = (path for path in partly.glob("status/*") if "early" in path.read_text())
    status.unlink()
    assert ask(str(partly)).totals["flows"] == 1
    assert ask(str(out)).totals["flows"] == 11


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ([], 2, "name the folder"),
        (["absent"], 1, "no results of bdpcap batch"),
        ([".", "--before-after", "yesterday"], 2, "is no date"),
        ([".", "-o", "page.pdf"], 2, ".html"),
    ],
)
def test_what_cannot_be_told_is_one_line(arguments, code, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["summary", *arguments]) == code
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1


def test_a_summary_is_the_same_however_captures_share_files(tmp_path):
    """Flows that lose the same time are a tie, which no name and no order of files decides."""
    (tmp_path / "in").mkdir()
    for number in range(6):
        write_many(tmp_path / "in" / f"{number}.pcap", 3)
    found, _ = tasks([str(tmp_path / "in")], rotated=False)
    answers = []
    for number, groups in enumerate(
        ([found], [found[::-1]], [[one] for one in found], [found[3:], found[:3]])
    ):
        order = Order(str(tmp_path / str(number)), None, ())
        for group in groups:
            analysed(group, order)
        answers.append(ask(order.out))
    assert answers[0].causes["capture"].tolist() == ["0.pcap"] * len(answers[0].causes) != []
    for other in answers[1:]:
        for table in ("captures", "hosts", "paths", "causes", "worst"):
            pd.testing.assert_frame_equal(getattr(other, table), getattr(answers[0], table))


def test_a_broken_file_of_the_dataset_is_named_in_one_line(folder, tmp_path, capsys):
    dataset = tmp_path / "dataset"
    for task in tasks([str(folder / "early.pcap")], rotated=False)[0]:
        analysed([task], Order(str(dataset), None, ()))
    (part,) = dataset.glob("flows/*")
    part.write_bytes(b"no table")
    assert main(["summary", str(dataset)]) == 1
    said = capsys.readouterr().err
    assert str(part) in said
    assert ("internal error" in said, said.count("\n")) == (False, 1)


def test_without_the_extra_the_message_names_it(monkeypatch, tmp_path, capsys):
    monkeypatch.delitem(sys.modules, "bdpcap.fleet.questions")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert main(["summary", str(tmp_path)]) == 2
    assert "bdpcap[summary]" in capsys.readouterr().err


def test_settings_of_findings_are_json(out):
    found = pd.concat(pd.read_json(path, lines=True) for path in out.glob("status/*"))
    assert set(found["state"]) == {"done", "failed"}
    settings = duckdb.read_parquet(f"{out}/findings/*.parquet").df()["settings"]
    assert all(isinstance(json.loads(one), dict) for one in settings)
