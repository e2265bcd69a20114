"""What a dataset of many captures shows, against sums over the tables of single captures."""

from __future__ import annotations

import json
import re
import sys
from datetime import UTC, datetime

import duckdb
import numpy as np
import pandas as pd
import pytest
from oracles import ROOT
from small_transfer import START, write_many, write_pcap

import bdpcap
from bdpcap.cli import main
from bdpcap.fleet.captures import tasks
from bdpcap.fleet.questions import ask
from bdpcap.fleet.work import Order, work

LATER = START + 86_400
DATE = datetime.fromtimestamp(START + 3600, UTC)
SAMPLES = ("cwnd_loss_2pct", "rwnd_slow_reader", "sndbuf_24k_15ms")
LIMITS = ("rwnd", "cwnd", "sndbuf", "link", "app", "unknown")


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
    for task in tasks([str(folder)], rotated=False)[0]:
        work(task, Order(str(out), None, ("bdpcap", "batch")))
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


def test_totals_and_time_by_limit(out, flows):
    answers = ask(str(out))
    assert (answers.totals["captures"], answers.totals["failed"]) == (6, 1)
    assert answers.totals["flows"] == len(flows)
    assert answers.totals["payload_bytes"] == flows["payload_bytes"].sum()
    told = answers.limits.set_index("limit")
    for limit in LIMITS:
        assert told["ns"].get(limit, 0.0) == pytest.approx(flows[limit].sum())
        assert told["share"].get(limit, 0.0) == pytest.approx(flows[limit].sum() / flows["active_ns"].sum())


def test_hosts_and_paths_by_what_they_lose(out, flows):
    answers = ask(str(out))
    by_receiver = flows.groupby("receiver_host")["rwnd"].sum()
    by_sender = flows.groupby("sender_host")["sndbuf"].sum()
    assert not answers.hosts.empty
    for row in answers.hosts.itertuples():
        assert row.lost_ns == pytest.approx((by_receiver if row.limit == "rwnd" else by_sender)[row.host])
    assert answers.hosts["lost_ns"].is_monotonic_decreasing
    by_path = flows.groupby(["sender_host", "receiver_host"])[["rwnd", "cwnd", "sndbuf"]].sum()
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


def test_distributions_before_and_after_a_date(out, flows):
    answers = ask(str(out), DATE)
    early = flows["start_ns"] < DATE.timestamp() * 10**9
    assert early.sum() == 7
    for period, own in (("before", flows[early]), ("after", flows[~early])):
        quantiles = answers.quantiles[period]
        assert quantiles["flows"]["active_throughput_bps"] == own["active_throughput_bps"].notna().sum()
        for name in ("active_throughput_bps", "rtt_median_ns", "window_max_bytes"):
            expected = np.quantile(own[name].dropna().astype(float), [0.05, 0.25, 0.5, 0.75, 0.95])
            assert list(quantiles["percentiles"][name]) == pytest.approx(list(expected))
        since = answers.since[answers.since["period"] == period].set_index("limit")["share"]
        for limit in LIMITS:
            assert since.get(limit, 0.0) == pytest.approx(own[limit].sum() / own["active_ns"].sum())


def test_text(out, capsys):
    assert main(["summary", str(out), "--before-after", DATE.strftime("%Y-%m-%dT%H:%M")]) == 0
    said = capsys.readouterr().out
    assert said.startswith("6 captures (1 could not be read), 11 flows")
    for part in (
        "Hosts that lose most",
        "Paths",
        "Causes",
        "percentile, before 2023-11-14",
        "before and after",
    ):
        assert part in said


def test_page(out, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["summary", str(out), "--before-after", f"{DATE:%Y-%m-%d}", "-o", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "summary: " in capsys.readouterr().err
    assert text.count("Plotly.newPlot(") == 7
    assert "&lt;b&gt;late.pcap" in text
    assert "<b>late" not in text
    # Nothing is fetched: no script or style sheet but what is in the page.
    assert re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=", text) == []


def test_only_captures_that_are_complete_count(folder, out, tmp_path):
    partly = tmp_path / "partly"
    for task in tasks([str(folder / "early.pcap"), str(folder / "<b>late.pcap")], rotated=False)[0]:
        work(task, Order(str(partly), None, ()))
    assert ask(str(partly)).totals["flows"] == 8
    (status,) = partly.glob("status/*early*/part.json")
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


def test_without_the_extra_the_message_names_it(monkeypatch, tmp_path, capsys):
    monkeypatch.delitem(sys.modules, "bdpcap.fleet.questions")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert main(["summary", str(tmp_path)]) == 2
    assert "bdpcap[summary]" in capsys.readouterr().err


def test_settings_of_findings_are_json(out):
    found = pd.concat(pd.read_json(path, typ="series") for path in out.glob("status/*/part.json"))
    assert set(found["state"]) == {"done", "failed"}
    settings = duckdb.read_parquet(f"{out}/findings/*/*.parquet").df()["settings"]
    assert all(isinstance(json.loads(one), dict) for one in settings)
