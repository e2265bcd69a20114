"""Many captures as one dataset: the results of single runs, whatever stops, breaks or dies on the way."""

from __future__ import annotations

import http.server
import os
import shutil
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import duckdb
import fsspec
import pandas as pd
import pytest
from dask_cluster import WAIT_SECONDS, two_workers, wait_for
from packets import pcap, read_pcap
from small_dataset import analysed, left
from small_transfer import write_many, write_pcap

import bdpcap
from bdpcap.cli import main
from bdpcap.fleet import run
from bdpcap.fleet.captures import tasks
from bdpcap.fleet.dataset import TABLES, Dataset
from bdpcap.fleet.work import Order


@pytest.fixture
def captures(tmp_path):
    """A folder of captures with several flows each, two of one name below different hosts among them."""
    folder = tmp_path / "captures"
    for host in ("a", "b"):
        (folder / host).mkdir(parents=True)
        write_many(folder / host / "trace.pcap", 3 if host == "a" else 5)
    for number in range(4):
        write_pcap(folder / f"run {number}.pcap", port=40_000 + number, rounds=10 + number)
    (folder / "notes.txt").write_text("no capture")
    return folder


def bdpcap_batch(*arguments):
    command = [sys.executable, "-m", "bdpcap", "batch", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=WAIT_SECONDS, check=False)


def read(out, table):
    """Return a table of the dataset as DuckDB reads it, ordered."""
    found = duckdb.read_parquet(f"{out}/{table}/*.parquet").df()
    order = ["capture", *(name for name in ("stream", "sender", "round", "rank", "code") if name in found)]
    return found.sort_values(order, kind="stable", ignore_index=True)


def status(out):
    return Dataset(str(out)).statuses()


def assert_same_as_single_runs(out, folder):
    flows, rtts = read(out, "flows"), read(out, "rtts")
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.pcap"))
    assert sorted(flows["capture"].unique()) == names
    for name in names:
        single = bdpcap.analyze(folder / name)
        for all_of_them, table in ((flows, single.flows), (rtts, single.rtts)):
            own = all_of_them[all_of_them["capture"] == name].drop(columns="capture")
            order = [column for column in ("stream", "sender", "round") if column in table]
            ours = table.sort_values(order, kind="stable", ignore_index=True)
            assert list(own) == list(ours)
            for column in ours:
                mine, its = ours[column].astype(object), own[column].reset_index(drop=True).astype(object)
                pd.testing.assert_series_equal(
                    mine.where(mine.notna(), None), its.where(its.notna(), None), check_names=False
                )


def test_the_dataset_holds_the_tables_of_single_runs_with_their_provenance(captures, tmp_path):
    done = bdpcap_batch(captures, "--out", tmp_path / "out", "--workers", 2)
    assert (done.returncode, done.stderr) == (
        0,
        "bdpcap: skipped 1 file whose names are no capture's\nbdpcap: 6 captures analysed\n",
    )
    assert_same_as_single_runs(tmp_path / "out", captures)
    one = status(tmp_path / "out")["a/trace.pcap"]
    assert one["generator"] == f"bdpcap {bdpcap.__version__}"
    assert one["command"][:2] == ["bdpcap", "batch"]
    path = captures / "a" / "trace.pcap"
    said = subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True, timeout=60).stdout
    assert one["inputs"] == [
        {"name": str(path), "size_bytes": path.stat().st_size, "sha256": said.split()[0]}
    ]
    findings = read(tmp_path / "out", "findings")
    told = bdpcap.analyze(captures / "run 0.pcap").flow(0).findings
    assert set(findings[findings["capture"] == "run 0.pcap"]["code"]) == {str(one.code) for one in told}


def test_what_is_complete_is_not_done_again(captures, tmp_path):
    out = tmp_path / "out"
    assert bdpcap_batch(captures / "a", "--out", out).returncode == 0
    assert bdpcap_batch(captures / "a", "--out", out).stderr == "bdpcap: 1 of 1 capture were done before\n"
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    order = Order(str(out), None, ())
    (task,), _ = tasks([str(captures / "a")], rotated=False)
    assert left([task], order) == []
    # Of another size, or by another filter, it is another capture.
    assert left([task], Order(str(out), "tcp", ())) == [task]
    # Of the same size, it may still be another.
    os.utime(captures / "a" / "trace.pcap", (1, 1))
    (changed,), _ = tasks([str(captures / "a")], rotated=False)
    assert left([changed], order) == [changed]
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before


def test_progress_counts_captures_and_bytes(captures, tmp_path):
    found, _ = tasks([str(captures)], rotated=False)
    seen = []
    assert (
        len(list(run.run(found, Order(str(tmp_path / "out"), None, ()), workers=1, progress=seen.append)))
        == 6
    )
    total = sum(path.stat().st_size for path in captures.rglob("*.pcap"))
    assert [one.captures for one in seen] == [(done, 6) for done in range(7)]
    assert [one.bytes_read for one in seen] == sorted({one.bytes_read for one in seen})
    assert (seen[0].bytes_read, seen[-1].bytes_read) == (0, total)
    assert {one.bytes_total for one in seen} == {total}


def test_reports_are_written_and_made_up_for(captures, tmp_path):
    out = tmp_path / "out"
    (task,), _ = tasks([str(captures / "a")], rotated=False)
    plain, wanted = (Order(str(out), None, (), reports=reports) for reports in (False, True))
    analysed([task], plain)
    assert Dataset(str(out)).reports(tmp_path) == {}
    assert left([task], plain) == []
    assert left([task], wanted) == [task]
    analysed([task], wanted)
    assert Dataset(str(out)).reports(tmp_path) == {"trace.pcap": "out/reports/capture%3Dtrace.pcap/part.html"}
    page = (out / "reports" / "capture=trace.pcap" / "part.html").read_text("utf-8")
    own = bdpcap.analyze(captures / "a" / "trace.pcap").report(tmp_path / "own.html")
    assert page == own.read_text("utf-8")
    assert left([task], wanted) == left([task], plain) == []


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_stopped_leaves_only_whole_files_and_goes_on(how, captures, tmp_path):
    first = write_many(captures / "more.pcap", 40)
    for number in range(80):  # enough that the first is done long before the last
        shutil.copy(first, captures / f"more {number}.pcap")
    out = tmp_path / "out"
    command = [sys.executable, "-m", "bdpcap", "batch", str(captures), "--out", str(out), "--workers", "1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        wait_for(lambda: len(list(out.glob("status/*"))) > 0, lambda: running.poll() is None)
        running.send_signal(how)
        running.communicate(timeout=WAIT_SECONDS)
    assert running.returncode == (130 if how is signal.SIGINT else -how)
    done = len(status(out))
    assert 0 < done < 87
    for path in out.glob("*/*.parquet"):
        assert len(duckdb.read_parquet(str(path)).fetchall()) >= 0
    resumed = bdpcap_batch(captures, "--out", out)
    assert f"{done} of 87 captures were done before" in resumed.stderr
    assert resumed.returncode == 0
    assert not (out / "_unfinished").exists()
    assert_same_as_single_runs(out, captures)


def test_a_bad_capture_is_recorded_and_ends_nothing(captures, tmp_path):
    (captures / "junk.pcap").write_bytes(b"this is no capture")
    torn = captures / "torn.pcap"
    torn.write_bytes((captures / "run 0.pcap").read_bytes()[:-7])
    out = tmp_path / "out"
    done = bdpcap_batch(captures, "--out", out)
    assert done.returncode == 1
    assert "8 captures analysed, 2 of them damaged or unreadable" in done.stderr
    said = status(out)
    assert (said["junk.pcap"]["state"], said["torn.pcap"]["state"]) == ("failed", "done")
    # The name of the capture stands before its reason.
    assert said["junk.pcap"]["error"].startswith("not a packet capture")
    assert said["torn.pcap"]["damage"].startswith("frame ")
    (captures / "junk.pcap").unlink()
    assert_same_as_single_runs(out, captures)


def test_a_bad_capture_is_named_again_and_read_again_only_if_it_changed_or_on_request(captures, tmp_path):
    out, junk, torn = tmp_path / "out", captures / "a" / "junk.pcap", captures / "a" / "torn.pcap"
    junk.write_bytes(b"this is no capture")
    torn.write_bytes((captures / "run 0.pcap").read_bytes()[:-7])
    *reasons, end = bdpcap_batch(captures / "a", "--out", out).stderr.splitlines()
    assert end == "bdpcap: 3 captures analysed, 2 of them damaged or unreadable: see status"
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    again = bdpcap_batch(captures / "a", "--out", out)
    *said, end = again.stderr.splitlines()
    assert (again.returncode, sorted(said)) == (1, sorted(reasons))
    assert end == "bdpcap: 3 of 3 captures were done before, 2 of them damaged or unreadable: see status"
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before
    found, _ = tasks([str(captures / "a")], rotated=False)
    order = Order(str(out), None, ())
    assert [task.name for task in left(found, order, retry_failed=True)] == ["junk.pcap"]
    shutil.copy(captures / "run 0.pcap", junk)
    mended = bdpcap_batch(captures / "a", "--out", out)
    assert (mended.returncode, status(out)["junk.pcap"]["state"]) == (1, "done")
    assert mended.stderr.endswith("see status\nbdpcap: 1 capture analysed\n")
    torn.unlink()
    assert bdpcap_batch(captures / "a", "--out", out, "--retry-failed").returncode == 0


def test_a_worker_that_is_killed_in_the_middle_changes_nothing(captures, tmp_path):
    for number in range(20):
        write_many(captures / f"more {number}.pcap", 40)
    out = tmp_path / "out"
    command = [sys.executable, "-m", "bdpcap", "batch", str(captures), "--out", str(out)]
    with (
        two_workers(tmp_path) as (address, workers),
        subprocess.Popen([*command, "--scheduler", address], stderr=subprocess.PIPE, text=True) as running,
    ):
        wait_for(lambda: len(list(out.glob("status/*"))) > 0, lambda: running.poll() is None)
        workers[0].kill()
        assert len(status(out)) < 26
        said = running.communicate(timeout=WAIT_SECONDS)[1]
    assert running.returncode == 0, said
    assert_same_as_single_runs(out, captures)


def test_a_capture_without_flows_leaves_the_columns_of_the_others_what_they_are(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.pcap").write_bytes(pcap([]))
    write_pcap(tmp_path / "in" / "b.pcap")
    found = tasks([str(tmp_path / "in")], rotated=False)[0]
    for task in found:
        assert analysed([task], Order(f"{tmp_path}/{task.name}", None, ()))[0]["state"] == "done"
    for table in TABLES:
        empty, other = (duckdb.read_parquet(f"{tmp_path}/{name}.pcap/{table}/*.parquet") for name in "ab")
        assert len(empty) == 0 < len(other)
        assert empty.types == other.types


# what is meant, and where it lies


def test_captures_and_results_lie_wherever_fsspec_reaches(tmp_path):
    data = write_pcap(tmp_path / "one.pcap").read_bytes()
    memory = fsspec.filesystem("memory")
    memory.pipe("/in/x/one.pcap", data)
    found, _ = tasks(["memory://in"], rotated=False)
    assert [(task.name, task.sizes_bytes) for task in found] == [("x/one.pcap", (len(data),))]
    order = Order("memory://out", None, ("bdpcap",))
    assert analysed(found, order)[0]["state"] == "done"
    said = Dataset("memory://out").statuses()["x/one.pcap"]
    assert (said["files"], said["flows"]) == (["memory:///in/x/one.pcap"], 1)
    table = tmp_path / "flows.parquet"
    table.write_bytes(memory.cat_file(memory.ls("/out/flows", detail=False)[0]))
    assert duckdb.read_parquet(str(table)).df()["payload_bytes"].tolist() == [320_000]
    assert left(found, order) == []


def test_a_copy_of_a_remote_file_that_cannot_be_read_is_named_by_its_url(tmp_path):
    memory = fsspec.filesystem("memory")
    for number in (1, 2):
        memory.pipe(f"/junk/ring_{number:05}.pcap", b"this is no capture")
    order = Order(str(tmp_path / "out"), None, ())
    (ring,), _ = tasks(["memory://junk"], rotated=True)
    assert analysed([ring], order)[0]["error"].startswith(
        "memory:///junk/ring_00001.pcap: not a packet capture"
    )
    (one,), _ = tasks(["memory://junk/ring_00001.pcap"], rotated=False)
    assert analysed([one], order)[0]["error"].startswith("not a packet capture")


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_capture_is_fetched_by_http(tmp_path):
    write_pcap(tmp_path / "one.pcap")
    quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(quiet, directory=tmp_path)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/one.pcap"
        (task,), _ = tasks([url], rotated=False)
        (said,) = analysed([task], Order(str(tmp_path / "out"), None, ()))
        server.shutdown()
    assert (said["state"], said["files"], said["flows"]) == ("done", [url], 1)


def test_a_ring_is_one_capture_where_it_is_asked_for(tmp_path):
    whole = write_pcap(tmp_path / "whole.pcap")
    packets = list(read_pcap(whole.read_bytes()))
    (tmp_path / "in").mkdir()
    for number, piece in enumerate([packets[:90], packets[90:200], packets[200:]], start=1):
        (tmp_path / "in" / f"ring_{number:05}.pcap").write_bytes(pcap(piece))
    apart, _ = tasks([str(tmp_path / "in")], rotated=False)
    assert len(apart) == 3
    (task,), _ = tasks([str(tmp_path / "in" / "ring_*.pcap")], rotated=True)
    assert (task.name, len(task.files)) == ("ring.pcap", 3)
    out = tmp_path / "out"
    assert analysed([task], Order(str(out), None, ()))[0]["streams"] == 1
    assert (
        read(out, "rtts").drop(columns="capture")["evidence"].tolist()
        == bdpcap.analyze(whole).rtts["evidence"].tolist()
    )


def test_two_captures_of_one_name_are_refused(captures, capsys):
    named = [str(captures / host / "trace.pcap") for host in ("a", "b")]
    assert main(["batch", *named, "--out", "out"]) == 2
    assert "would both be trace.pcap" in capsys.readouterr().err
    found, _ = tasks([str(captures / "*" / "trace.pcap")], rotated=False)
    assert [task.name for task in found] == ["a/trace.pcap", "b/trace.pcap"]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--out", "out"], 2, "name captures, and --out DIR"),
        (["absent.pcap", "--out", "out"], 1, "absent.pcap: no capture there"),
        (["absent://x", "--out", "out"], 2, "absent"),
        ([".", "--out", "out", "-f", "tcp prot 80"], 2, "filter"),
        ([".", "--out", "out", "--scheduler", "tcp://x:1", "--workers", "2"], 2, "--workers"),
    ],
)
def test_what_cannot_be_done_is_one_line(arguments, code, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["batch", *arguments]) == code
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_without_the_extra_the_message_names_it(monkeypatch, tmp_path, capsys):
    for name in [name for name in sys.modules if name.startswith("bdpcap.fleet")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["batch", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    assert "bdpcap[cluster]" in capsys.readouterr().err


def test_nothing_of_a_fleet_is_loaded_before_it_is_asked_for():
    loaded = (
        "import sys, bdpcap, bdpcap.cli, bdpcap.cli.batch, bdpcap.cli.summary; "
        "print([name for name in ('dask', 'distributed', 'fsspec', 'duckdb') if name in sys.modules])"
    )
    said = subprocess.run(
        [sys.executable, "-c", loaded], capture_output=True, text=True, timeout=60, check=True
    )
    assert said.stdout == "[]\n"
    assert Path(bdpcap.__file__).parent.joinpath("fleet").is_dir()
