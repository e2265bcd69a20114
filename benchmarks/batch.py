"""All captures of some transfers as one analysis, so that all verdicts are computed at once; and how rows meet labels."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields
from multiprocessing import get_context
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from labelled import LIMITS, VIEWS, read_labels

import bdpcap
from bdpcap.limits.evidence import Evidence, Vantage
from bdpcap.limits.rounds import Rounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from labelled import Flow, Transfer

    Change = Callable[[Transfer, str], bytes]

__all__ = ["Batch", "Piece", "join", "read", "read_all", "workers"]


class Piece(NamedTuple):
    """One capture, read: what the rules look at, and labels laid over its rows."""

    transfer: Transfer
    view: str
    columns: dict[str, np.ndarray]
    """Of the rounds."""
    flow: np.ndarray
    vantage: Vantage
    flows: dict[str, np.ndarray]
    bins: pd.DataFrame
    """Graded bins: t0, t1 (ns), truth, detail, flow (its number among the labelled)."""
    met: pd.DataFrame
    """Which row meets which bin, and for how long: bin, row, ns."""


@dataclass(frozen=True)
class Batch:
    """Many captures."""

    evidence: Evidence
    flows: dict[str, np.ndarray]
    captures: pd.DataFrame
    """One row a capture with graded bins: group (the set), lab, name, view, transfer (a number)."""
    bins: pd.DataFrame
    """One row a graded bin: capture, flow, truth (index in `LIMITS`), detail, weight (of the capture's graded time)."""
    met: pd.DataFrame
    """Which row of the evidence meets which bin, and for how long: bin, row, ns."""


def read(transfer: Transfer, view: str, change: Change | None = None) -> Piece:
    """Analyse one capture, or what `change` makes of it."""
    evidence, flows = _gathered(transfer.capture(view), change(transfer, view) if change else None)
    bins, met, seen = [], [], 0
    for number, flow in enumerate(transfer.flows):
        labels = read_labels(flow.labels)
        own = labels[labels["graded"]].drop(columns="graded").assign(flow=number)
        bins.append(own)
        met.append(
            _meetings(evidence, _rows(flow, evidence, flows), own).assign(
                bin=lambda table, seen=seen: table["bin"] + seen
            )
        )
        seen += len(own)
    rounds = evidence.rounds
    return Piece(
        transfer, view, rounds.columns, rounds.flow, evidence.vantage, flows, pd.concat(bins), pd.concat(met)
    )


def _gathered(path: Path, content: bytes | None) -> tuple[Evidence, dict[str, np.ndarray]]:
    """Return the evidence of a file, or of other content: in a file, as only files are read twice where that helps."""
    if content is None:
        return bdpcap.analyze(path)._contents.verdicts.gathered
    with NamedTemporaryFile(suffix=".pcap") as file:
        file.write(content)
        file.flush()
        return bdpcap.analyze(file.name)._contents.verdicts.gathered


def _rows(flow: Flow, evidence: Evidence, flows: dict[str, np.ndarray]) -> np.ndarray:
    """Return the rounds of a labelled flow, by their start."""
    names = zip(flows["sender"], flows["receiver"], strict=True)
    same = [sender.startswith(flow.sender) and receiver == flow.receiver for sender, receiver in names]
    rows = np.flatnonzero(np.asarray(same, dtype=bool)[evidence.rounds.flow])
    return rows[np.argsort(evidence.rounds.columns["start_ns"][rows], kind="stable")]


def _meetings(evidence: Evidence, rows: np.ndarray, bins: pd.DataFrame) -> pd.DataFrame:
    """Which of these rows overlaps which bin (by its place), for how many ns."""
    start, end = (evidence.rounds.columns[name][rows].astype(np.int64) for name in ("start_ns", "end_ns"))
    t0, t1 = bins["t0"].to_numpy(np.int64), bins["t1"].to_numpy(np.int64)
    first = np.searchsorted(end, t0, "right")
    count = np.maximum(np.searchsorted(start, t1, "left") - first, 0)
    which = np.repeat(np.arange(len(bins)), count)
    at = np.arange(len(which)) + np.repeat(first - np.concatenate([[0], np.cumsum(count)[:-1]]), count)
    ns = np.minimum(t1[which], end[at]) - np.maximum(t0[which], start[at])
    return pd.DataFrame({"bin": which, "row": rows[at], "ns": ns})


def workers() -> ProcessPoolExecutor:
    """As many processes as there are cores; not forked, which a process of several threads must not be."""
    return ProcessPoolExecutor(len(os.sched_getaffinity(0)), get_context("spawn"))


def read_all(
    transfers: Iterable[Transfer], views: Iterable[str] = tuple(VIEWS), change: Change | None = None
) -> list[Piece]:
    """Analyse the captures of many transfers, as many at once as there are cores."""
    jobs = [(transfer, view, change) for transfer in transfers for view in views]
    if len(jobs) < 8:
        return [read(*job) for job in jobs]
    with workers() as pool:
        return list(pool.map(read, *zip(*jobs, strict=True), chunksize=4))


def join(pieces: Sequence[Piece]) -> Batch:
    """Put captures behind each other; those without a graded bin are left out."""
    kept = [piece for piece in pieces if len(piece.bins)]
    first_row = _starts(len(piece.flow) for piece in kept)
    first_flow = _starts(len(piece.flows["stream"]) for piece in kept)
    first_bin = _starts(len(piece.bins) for piece in kept)
    columns = _stacked([piece.columns for piece in kept])
    flow = np.concatenate([piece.flow + start for piece, start in zip(kept, first_flow, strict=True)])
    seen = _stacked(
        [{each.name: getattr(piece.vantage, each.name) for each in fields(Vantage)} for piece in kept]
    )
    numbers: dict[Path, int] = {}
    captures = pd.DataFrame(
        [
            (
                piece.transfer.group,
                piece.transfer.lab,
                piece.transfer.name,
                piece.view,
                numbers.setdefault(piece.transfer.folder, len(numbers)),
            )
            for piece in kept
        ],
        columns=["group", "lab", "name", "view", "transfer"],
    )
    return Batch(
        Evidence(Rounds(columns, flow), Vantage(**seen)),
        _stacked([piece.flows for piece in kept]),
        captures,
        pd.concat([_weighed(piece.bins, number) for number, piece in enumerate(kept)], ignore_index=True),
        pd.concat(
            [
                piece.met.assign(bin=piece.met["bin"] + a_bin, row=piece.met["row"] + a_row)
                for piece, a_bin, a_row in zip(kept, first_bin, first_row, strict=True)
            ],
            ignore_index=True,
        ),
    )


def _weighed(bins: pd.DataFrame, capture: int) -> pd.DataFrame:
    length = (bins["t1"] - bins["t0"]).to_numpy(float)
    truth = bins["truth"].map(LIMITS.index).to_numpy(int)
    kept = bins[["flow", "detail"]].astype({"detail": object})
    return kept.assign(capture=capture, truth=truth, weight=length / length.sum())


def _starts(lengths: Iterable[int]) -> np.ndarray:
    """Where each of several things of these lengths begins."""
    return np.cumsum([0, *lengths])[:-1]


def _stacked(tables: Sequence[dict[str, Any]]) -> dict[str, np.ndarray]:
    return {name: np.concatenate([np.asarray(table[name]) for table in tables]) for name in tables[0]}
