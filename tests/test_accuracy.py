"""Verdicts on labelled transfers, from every vantage; and the grading itself, on answers that need no capture."""

from __future__ import annotations

from functools import cache

import grading
import pandas as pd
import pytest
from labelled import LIMITS, VIEWS, find
from oracles import TESTS

SETS = find([TESTS / "data/labelled"])
TRANSFERS = [transfer for own in SETS.values() for transfer in own]

# Floors, not aims (those stand in docs/accuracy.md): only the first seconds of each transfer are kept here, in which slow
# start and the change from it weigh more than in whole transfers, and a hard kind, such as one with a rewritten scale,
# weighs more among two dozen transfers than among hundreds.
# What is reached stands a point or more above: agreement 0.96, 0.95 and 0.94, least recall 0.89 (rwnd), confident 0.93.
# A window of 1.3 BDP under a link that is busy just short of always costs 0.03 of each.
AGREEMENT = 0.92
RECALL = 0.85
CONFIDENT = 0.91


@cache
def answers(view):
    return {transfer: grading.verdicts(transfer, view) for transfer in TRANSFERS}


@cache
def graded(view):
    return pd.concat([grading.grade(transfer, rows) for transfer, rows in answers(view).items()])


def test_every_limit_is_among_the_labels_of_both_sets():
    assert set(SETS) == {"tune", "holdout"}
    for own in SETS.values():
        labels = pd.concat([transfer.truth() for transfer in own])
        assert set(LIMITS) <= set(labels.loc[labels["decisive"], "truth"])


@pytest.mark.parametrize("view", VIEWS)
def test_the_sending_kernel_agrees(view):
    assert grading.agreement(graded(view)) >= AGREEMENT, (
        grading.by_transfer(graded(view)).sort_values().head()
    )


@pytest.mark.parametrize("view", VIEWS)
def test_no_limit_is_overlooked(view):
    assert grading.recall(graded(view)).min() >= RECALL, grading.confusion(graded(view))


@pytest.mark.parametrize("view", VIEWS)
def test_confident_rows_are_right(view):
    rows = pd.concat([grading.confident(transfer, own, 0.9) for transfer, own in answers(view).items()])
    assert (rows["weight"] * rows["right"]).sum() / rows["weight"].sum() >= CONFIDENT


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("link_share", id="two flows fill a link, and each its part of it now and then only"),
        pytest.param("app_at_link", id="a queue closes the pauses of a timer's blocks"),
        pytest.param("app_paced_2", id="dense acknowledgments seem to start a timer's blocks"),
        pytest.param("rwnd_slow_reader", id="one late acknowledgment calls for a whole window"),
        pytest.param("path_return_bottleneck", id="acknowledgments queue on a slow way back"),
        pytest.param("path_thin_link", id="merged acknowledgments wait as if behind a queue"),
        pytest.param(
            "path_thin_rwnd_2", id="merged acknowledgments hide from afar how long a window is full"
        ),
        pytest.param("path_return_bottleneck_2", id="a shallow queue of acknowledgments on a slow way back"),
        pytest.param("cwnd_paced", id="bursts of a pacing sender bear each other out"),
    ],
)
def test_a_cause_is_told_from_what_looks_like_it(name, view):
    """Each was called something else for a seventh of the time and more, at one of the taps at least."""
    share = grading.by_transfer(graded(view))
    # The rounds in which one cause follows another are a tenth of what is kept of these transfers.
    assert min(value for folder, value in share.items() if folder.endswith(f"/{name}")) >= 0.85


@pytest.mark.parametrize("view", ["middle", "receiver"])
def test_behind_the_bottleneck_what_arrives_tells_how_busy_it_is(view):
    # BBR drains its queue: only what came through shows that the link had no pause. Its losses keep a twentieth open.
    share = grading.by_transfer(graded(view))
    assert min(value for folder, value in share.items() if folder.endswith("/link_bbr")) >= 0.95


@pytest.mark.parametrize("view", ["middle", "receiver"])
def test_from_afar_echoes_tell_the_rounds_that_a_writer_slept_through(view):
    # A small buffer and a congestion window take turns, round by round; all for one of them makes two thirds right.
    share = grading.by_transfer(graded(view))
    assert min(value for folder, value in share.items() if folder.endswith("/sndbuf_nagle")) >= 0.8


HEAD = "t0,t1,truth,detail,window_truth,link_busy,rwnd,cwnd,sndbuf,app\n"


@pytest.fixture
def transfer(tmp_path):
    """Return a maker of a transfer with four labels of 10 ns: rwnd, an undecided one, link over cwnd, app."""
    folder = tmp_path / "set" / "one"
    folder.mkdir(parents=True)
    rows = (
        "0,10,rwnd,buffer,rwnd,0.1,1,0,0,0",
        "10,20,cwnd,recovery,cwnd,0.5,0.4,0.6,0,0",
        "20,30,link,,cwnd,1,0.5,0.5,0,0",
        "30,50,app,idle,app,0,0,0,0,1",
    )
    (folder / "truth.csv").write_text(HEAD + "\n".join(rows) + "\n")
    return find([tmp_path])["set"][0]


def said(*rows):
    return pd.DataFrame(rows, columns=["start_ns", "end_ns", "limit", "detail", "confidence"])


def test_a_bin_is_answered_by_the_limit_that_covers_most_of_it(transfer):
    rows = said((0, 6, "rwnd", "buffer", 1.0), (6, 27, "cwnd", "recovery", 1.0), (27, 50, "app", "idle", 1.0))
    result = grading.grade(transfer, rows)
    assert result["truth"].tolist() == ["rwnd", "link", "app"]  # the undecided bin is not graded
    assert result["answer"].tolist() == ["rwnd", "cwnd", "app"]
    assert result["weight"].tolist() == [0.25, 0.25, 0.5]
    assert grading.agreement(result) == 0.75
    assert grading.recall(result)[["rwnd", "link", "app"]].tolist() == [1, 0, 1]


def test_what_is_not_covered_is_wrong(transfer):
    result = grading.grade(transfer, said((0, 10, "rwnd", "buffer", 1.0)))
    assert result["answer"].tolist() == ["rwnd", "none", "none"]
    assert grading.agreement(result) == 0.25


def test_only_confident_rows_in_decided_time_are_asked_for_more(transfer):
    rows = said(
        (0, 8, "rwnd", "buffer", 0.95),
        (8, 20, "rwnd", "buffer", 0.95),  # mostly undecided
        (20, 30, "cwnd", "avoidance", 0.89),
        (30, 50, "rwnd", "buffer", 0.9),
    )
    assert grading.confident(transfer, rows, 0.9)["right"].tolist() == [True, False]
