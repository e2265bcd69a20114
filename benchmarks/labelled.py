"""Transfers whose limits are known: where they lie, and what their labels say.

A transfer is a folder: `sender.pcap`, `middle.pcap` and `receiver.pcap` (or `.zst`), `meta.json`, and labels, a row a
round-trip time (see lab/README.md): `truth.csv` of the one flow to port 5001, or a file for each flow that the metadata
name. Only decisive bins are graded: `link`, or one state that holds at least 70 % of the kernel's samples.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["LIMITS", "VIEWS", "Flow", "Transfer", "find", "kernels", "read_labels", "seeds"]

LIMITS = ("rwnd", "cwnd", "sndbuf", "link", "app")
STATES = ("rwnd", "cwnd", "sndbuf", "app")  # of a sample; the link is not one of them
VIEWS = {"sender": "sender", "middle": "between", "receiver": "receiver"}
DECISIVE = 0.7
ONE_FLOW = {False: ("192.168.1.3:", "192.168.1.34:5001"), True: ("[fd00::3]:", "[fd00::34]:5001")}


class Flow(NamedTuple):
    """A labelled flow of a transfer."""

    sender: str
    """How its name begins in the tables: some ports are any."""
    receiver: str
    labels: Path

    @property
    def sender_address(self) -> str:
        """Address of the sender."""
        return self.sender.rpartition(":")[0].strip("[]")

    @property
    def receiver_address(self) -> str:
        """Address of the receiver."""
        return self.receiver.rpartition(":")[0].strip("[]")


@dataclass(frozen=True)
class Transfer:
    """A labelled transfer."""

    folder: Path
    group: str
    """The set that it belongs to."""

    @property
    def name(self) -> str:
        """Name of the folder."""
        return self.folder.name

    @cached_property
    def meta(self) -> dict[str, Any]:
        """How it was made."""
        content: dict[str, Any] = json.loads((self.folder / "meta.json").read_text())
        return content

    @property
    def kernel(self) -> str:
        """Version of the sending kernel, as far as it tells kernels apart: 6.18."""
        version = re.match(r"\d+\.\d+", self.meta["kernel"])
        return version.group() if version else "unknown"

    @property
    def seed(self) -> str | None:
        """From which it was drawn, or its own; None where none was noted."""
        seed = self.meta.get("seed") or self.meta["params"].get("seed")
        return None if seed is None else str(seed).split("/")[0]

    @property
    def lab(self) -> str:
        """Which lab made it, by what each notes: home is this project's.

        The labs of two sets of applications note the same; `--lab` of accuracy.py separates them.
        """
        if "kind" in self.meta:
            return "home"
        if "stack_sender" in self.meta:
            return "stacks"
        if "flows" not in self.meta:
            return "second"
        return "apps" if "result" in self.meta else f"linux {self.kernel}"

    @property
    def flows(self) -> list[Flow]:
        """The labelled flows."""
        several = self.meta.get("flows")
        if several:
            return [Flow(one["sender"], one["receiver"], self.folder / one["truth"]) for one in several]
        v6 = str(self.meta["params"].get("v6", 0)) not in ("0", "")
        return [Flow(*ONE_FLOW[v6], self.folder / "truth.csv")]

    def capture(self, view: str) -> Path:
        """Path of a capture."""
        return next(self.folder.glob(f"{view}.pcap*"))


def read_labels(path: Path) -> pd.DataFrame:
    """Return all bins: t0, t1 (ns since the epoch), truth, detail (null where not known), graded."""
    bins = pd.read_csv(path)
    if "detail" not in bins:
        bins["detail"] = None
    certain = bins[list(STATES)].max(axis=1) >= DECISIVE
    decisive = (bins["truth"] == "link") | (bins["truth"].isin(STATES) & certain)
    bins["graded"] = decisive & ~contested(bins)
    return bins[["t0", "t1", "truth", "detail", "graded"]]


def contested(bins: pd.DataFrame) -> np.ndarray:
    """Say on which bins label and verdict may honestly differ.

    Labs that know the flow's own part of the link's work (`own`) name them: a repair is pending and nothing is unsent;
    an application's window fills the link; slow start into a link that others fill; the link was busy
    just short of always; a window is shut while others fill the link.
    """
    if "own" not in bins:
        return np.zeros(len(bins), dtype=bool)
    truth, busy = bins["truth"], bins["link_busy"]
    none = pd.Series(0.0, index=bins.index)
    repair, slow_start = bins.get("rec", none).fillna(0.0), bins.get("ss", none).fillna(0.0)
    others = (truth == "link") & (bins["own"] < 0.3)
    reasons = (
        truth.isin(["app", "sndbuf"]) & (repair >= 0.5),
        (truth == "app") & (busy >= 0.97),
        others & (slow_start >= 0.5),
        truth.isin(["cwnd", "rwnd"]) & (busy >= 0.93) & (busy < 0.97),
        others & bins["window_truth"].isin(["rwnd", "sndbuf"]),
    )
    return np.logical_or.reduce([reason.to_numpy(bool) for reason in reasons])


def find(roots: Iterable[Path]) -> dict[str, list[Transfer]]:
    """Find the transfers under some folders, by set; those not yet made to the end are left out.

    A root is a set, named as its folder, or holds sets, named ROOT/SET.
    """
    sets: dict[str, list[Transfer]] = {}
    for root in roots:
        here = root.resolve()
        for found in sorted({*here.glob("*/meta.json"), *here.glob("*/*/meta.json")}):
            folder = found.parent
            group = here.name if folder.parent == here else f"{here.name}/{folder.parent.name}"
            transfer = Transfer(folder, group)
            if all(any(folder.glob(f"{view}.pcap*")) for view in VIEWS) and transfer.flows[0].labels.exists():
                sets.setdefault(group, []).append(transfer)
    return sets


def kernels(transfers: Iterable[Transfer]) -> str:
    """Name the kernels that sent."""
    return ", ".join(sorted({transfer.kernel for transfer in transfers}))


def seeds(transfers: Iterable[Transfer]) -> str:
    """Name the seeds that transfers were drawn from; many only by how many and which."""
    all_ = sorted(
        {transfer.seed for transfer in transfers if transfer.seed}, key=lambda seed: (len(seed), seed)
    )
    return ", ".join(all_) if len(all_) <= 3 else f"{len(all_)} from {all_[0]} to {all_[-1]}"
