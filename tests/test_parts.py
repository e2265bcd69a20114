"""Files that captures share: whatever stops a run, each capture is there once, as any reader of Parquet sees."""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_dataset import analysed, left
from small_transfer import write_many, write_pcap

import bdpcap
from bdpcap.fleet import run
from bdpcap.fleet.captures import CAPTURE_BYTES, GROUP_BYTES, GROUPS_EACH, Task, groups, tasks
from bdpcap.fleet.dataset import TABLES, Dataset, new_part
from bdpcap.fleet.work import Order
from bdpcap.tables import cells

NAMES = ("a", "b/c", "d e", "ä%")
FAILED = 3
"""The version of a capture that cannot be read; the others are the number of its flows."""


class KilledError(BaseException):
    """The process ends here."""


class Mortal:
    """A file system that does so many steps and no more; it moves as object storage does, by a copy."""

    def __init__(self, system, steps):
        self.system, self.steps = system, steps

    def __getattr__(self, name):
        return getattr(self.system, name)

    def step(self):
        if self.steps == 0:
            raise KilledError
        self.steps -= 1

    def makedirs(self, path, **how):
        self.step()
        self.system.makedirs(path, **how)

    def open(self, path, mode):
        self.step()
        return self.system.open(path, mode)

    def mv(self, path, final):
        self.step()
        self.system.cp_file(path, final)
        self.rm([path])

    def rm(self, paths, *, recursive=False):
        if recursive:
            assert self.system.exists(paths) or self.system.ls(paths)
        for path in self.system.find(paths) if recursive else paths:
            self.step()
            self.system.rm(path)


def tables_of(capture, version):
    """Return pieces of the tables of a capture; one may have no rows, or several pieces."""
    names = [f"{capture} {version}"]
    flows = pd.DataFrame({"stream": range(version), "sender": pd.Series(names * version, dtype="str")})
    return {
        "flows": [flows],
        "rtts": [flows.assign(round=0.5), flows.iloc[:0].assign(round=1.0), flows.assign(round=1.5)],
        "findings": [flows.iloc[:1]],
    }


def expected(versions, table):
    """Return the rows that a table must have for captures of these versions."""
    every = [
        (*row, capture)
        for capture, version in versions.items()
        if version != FAILED
        for piece in tables_of(capture, version)[table]
        for row in piece.itertuples(index=False, name=None)
    ]
    return sorted(every)


def rows(paths):
    return sorted(duckdb.read_parquet([*map(str, paths)]).fetchall()) if paths else []


@dataclass(frozen=True)
class Run:
    versions: dict[str, int]
    """The captures that are named, and what they are now."""
    group: int
    """Captures in a group."""
    steps: int
    """The run is killed after so many steps of the file system."""


def carried_out(dataset, one):
    """Do what `run` does, with tables that need no analysis."""
    statuses = dataset.statuses()
    left = [name for name, version in one.versions.items() if not is_done(statuses.get(name), version)]
    dataset.clear()
    dataset.forget(left)
    for start in range(0, len(left), one.group):
        name, found = new_part(), []
        with dataset.part(name) as part:
            for capture in left[start : start + one.group]:
                version = one.versions[capture]
                tables = {} if version == FAILED else tables_of(capture, version)
                cells_of = {table: map(cells.of_frame, pieces) for table, pieces in tables.items()}
                counts = part.add(capture, cells_of, "page" if version == 2 else None)
                status = {"version": version, "reports": version == 2, "row_groups": counts}
                found.append({"capture": capture} | status)
        dataset.commit(name, found)
    dataset.clear()


def is_done(status, version):
    return status is not None and status["version"] == version != FAILED


RUNS = st.builds(
    Run,
    st.dictionaries(st.sampled_from(NAMES), st.integers(0, FAILED), min_size=1),
    st.integers(1, len(NAMES)),
    st.integers(0, 120),
)


@settings(max_examples=150)
@given(runs=st.lists(RUNS, min_size=1, max_size=4), last=st.integers(1, len(NAMES)))
def test_a_run_killed_at_any_step_loses_no_other_capture_and_leaves_none_twice(runs, last):
    with tempfile.TemporaryDirectory() as folder:
        dataset = Dataset(folder)
        system, before = dataset.system, {}
        for one in runs:
            dataset.system = Mortal(system, one.steps)
            with contextlib.suppress(KilledError):
                carried_out(dataset, one)
            dataset.system = system
            parts = dataset.parts()
            now = {name: status["version"] for name, status in dataset.statuses().items()}
            for name in NAMES:
                if name in one.versions:
                    assert now.get(name) in (None, before.get(name), one.versions[name])
                else:
                    assert now.get(name) == before.get(name)
            for table in TABLES:
                assert rows(dataset.files(table, parts)) == expected(now, table)
            before = now
        versions = dict.fromkeys(NAMES, 1) | runs[-1].versions
        carried_out(dataset, Run(versions, last, -1))
        assert {name: status["version"] for name, status in dataset.statuses().items()} == versions
        for table in TABLES:  # of all files, as another reader takes them
            assert rows([*Path(folder, table).glob("*")]) == expected(versions, table)
        assert sum(map(len, dataset.parts().values())) == len(NAMES)
        assert not Path(folder, "_unfinished").exists()
        made = {name for name, version in versions.items() if version == 2}
        assert {*dataset.reports(Path(folder))} == made


@given(
    sizes=st.lists(st.sampled_from([0, 10_000, 3_000_000, 30_000_000, 10**9]), max_size=200),
    workers=st.integers(1, 32),
)
def test_groups_hold_each_capture_once_and_share_the_work(sizes, workers):
    every = [Task(str(number), (), (size,)) for number, size in enumerate(sizes)]
    found = groups(every, workers)
    assert sorted((task for group in found for task in group), key=every.index) == every
    costs = [sum(CAPTURE_BYTES + sum(task.sizes_bytes) for task in group) for group in found]
    least, most = GROUP_BYTES
    for cost, group in zip(costs, found, strict=True):
        assert len(group) == 1 or cost <= most
        assert len(group) == 1 or cost <= max(least, sum(costs) / (GROUPS_EACH * workers))
    # The next capture never has room in a group, so there are no more files than the limit asks for.
    after = [CAPTURE_BYTES + sum(group[0].sizes_bytes) for group in found[1:]]
    assert all(cost + other > least for cost, other in zip(costs, after, strict=False))


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """A dataset of seven captures in three parts, and the folder of the captures."""
    folder = tmp_path_factory.mktemp("captures")
    for number in range(6):
        write_pcap(folder / f"{number}.pcap", port=40_000 + number, rounds=3 + number)
    write_many(folder / "many.pcap", 4)
    found, _ = tasks([str(folder)], rotated=False)
    for group in (found[:3], found[3:6], found[6:]):
        analysed(group, Order(str(folder / "out"), None, ()))
    return folder / "out"


def readers():
    def pandas(path):
        pytest.importorskip("pyarrow", reason="pandas reads Parquet by it")
        return pd.read_parquet(path)

    return {
        "duckdb": lambda path: duckdb.read_parquet(f"{path}/*.parquet").df(),
        "pandas": pandas,
        "polars": lambda path: pd.DataFrame(pl.read_parquet(f"{path}/*.parquet").to_dicts()),
    }


@pytest.mark.parametrize("reader", readers())
@pytest.mark.parametrize("table", ["flows", "rtts"])
def test_each_reader_takes_the_files_of_a_table_as_one(out, table, reader):
    found = readers()[reader](out / table)
    assert len(list((out / table).iterdir())) == 3
    for path in out.parent.glob("*.pcap"):
        single = getattr(bdpcap.analyze(path), table)
        own = found[found["capture"] == path.name]
        key = [column for column in ("stream", "sender", "round") if column in single]
        for column in ("throughput_bps", "limit"):
            mine, its = (one.sort_values(key)[column].tolist() for one in (single, own))
            assert mine == its


def test_a_row_group_has_rows_of_one_capture(out):
    for table in TABLES:
        for path in (out / table).iterdir():
            about = duckdb.execute(
                "SELECT stats_min_value AS least, stats_max_value AS most FROM parquet_metadata(?) "
                "WHERE path_in_schema = 'capture'",
                [str(path)],
            ).df()
            assert (about["least"] == about["most"]).all()
            assert len(about) == about["least"].nunique() > 0


def test_a_capture_that_changed_is_taken_out_of_its_part_and_the_others_stay(tmp_path):
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    for name in "abc":
        write_pcap(folder / f"{name}.pcap", rounds=4)
    order = Order(str(out), None, ())
    before, _ = tasks([str(folder)], rotated=False)
    assert [status["state"] for _, status in run.run(before, order, workers=1)] == ["done"] * 3
    (part,) = (out / "flows").iterdir()
    write_pcap(folder / "b.pcap", rounds=9)
    for name in "ac":  # what was analysed is kept, though its capture is gone
        (folder / f"{name}.pcap").unlink()
    after, _ = tasks([str(folder)], rotated=False)
    assert left(after, order) == after
    assert len(list(run.run(after, order, workers=1))) == 1
    assert not part.exists()
    found = duckdb.read_parquet(f"{out}/flows/*").df().set_index("capture")["payload_bytes"]
    assert found.to_dict() == {"a.pcap": 32_000, "b.pcap": 72_000, "c.pcap": 32_000}


def test_a_capture_that_cannot_be_written_fails_alone(tmp_path):
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    long = "ä" * 80 + ".pcap"  # percent-encoded, it is too long for the folder of its report
    for name in ("a.pcap", "b.pcap", long):
        write_pcap(folder / name, rounds=4)
    order = Order(str(out), None, (), reports=True)
    found = dict(run.run(tasks([str(folder)], rotated=False)[0], order, workers=1))
    assert {task.name: status["state"] for task, status in found.items()} == {
        "a.pcap": "done", "b.pcap": "done", long: "failed",
    }  # fmt: skip
    assert "too long" in Dataset(str(out)).statuses()[long]["error"]
    assert sorted(duckdb.read_parquet(f"{out}/flows/*").df()["capture"]) == ["a.pcap", "b.pcap"]
