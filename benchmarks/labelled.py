"""Transfers whose limits are known: where they lie, and what their labels say.

A transfer is a folder: `sender.pcap`, `middle.pcap` and `receiver.pcap` (or `.zst`), `meta.json`, and `truth.csv` with a
row a round-trip time (see lab/README.md). Only decisive bins count: `link`, or one state that holds at least 70 % of the
kernel's samples.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["LIMITS", "VIEWS", "Transfer", "find"]

LIMITS = ("rwnd", "cwnd", "sndbuf", "link", "app")
STATES = ("rwnd", "cwnd", "sndbuf", "app")  # of a sample; the link is not one of them
VIEWS = {"sender": "sender", "middle": "between", "receiver": "receiver"}
DECISIVE = 0.7
PORT = 5001


@dataclass(frozen=True)
class Transfer:
    """A labelled transfer."""

    folder: Path

    @property
    def name(self) -> str:
        """Name of the folder."""
        return self.folder.name

    @property
    def meta(self) -> dict[str, Any]:
        """How it was made."""
        content: dict[str, Any] = json.loads((self.folder / "meta.json").read_text())
        return content

    @property
    def hosts(self) -> tuple[str, str]:
        """How the tables name the sender (its port is any) and the receiver."""
        if self.meta["params"].get("v6"):
            return "[fd00::3]:", f"[fd00::34]:{PORT}"
        return "192.168.1.3:", f"192.168.1.34:{PORT}"

    def capture(self, view: str) -> Path:
        """Path of a capture."""
        return next(self.folder.glob(f"{view}.pcap*"))

    def truth(self) -> pd.DataFrame:
        """Return all bins: t0, t1, truth, detail (null where not known), decisive."""
        bins = pd.read_csv(self.folder / "truth.csv")
        if "detail" not in bins:
            bins["detail"] = None
        certain = bins[list(STATES)].max(axis=1) >= DECISIVE
        bins["decisive"] = (bins["truth"] == "link") | (bins["truth"].isin(STATES) & certain)
        return bins[["t0", "t1", "truth", "detail", "decisive"]]


def find(roots: Iterable[Path]) -> dict[str, list[Transfer]]:
    """Find the transfers under some folders, by set: `ROOT/SET/TRANSFER`, or `ROOT/TRANSFER` with the root as the set."""
    sets: dict[str, list[Transfer]] = {}
    for root in roots:
        for label in sorted({*root.glob("*/truth.csv"), *root.glob("*/*/truth.csv")}):
            transfer = Transfer(label.parent)
            sets.setdefault(transfer.folder.parent.name, []).append(transfer)
    return sets
