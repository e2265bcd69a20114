"""What is kept of a transfer: compressed captures, and `meta.json`."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

__all__ = ["VIEWS", "compress", "pack", "shares"]

VIEWS = ("sender", "middle", "receiver")


def shares(truth: pd.DataFrame) -> dict[str, float]:
    """Share of the time that each label has."""
    duration = truth["t1"] - truth["t0"]
    each = (duration.groupby(truth["truth"]).sum() / duration.sum()).round(3)
    return {str(name): float(share) for name, share in each.items()}


def compress(path: Path, folder: Path) -> None:
    """Write a compressed copy into a folder."""
    subprocess.run(["zstd", "-qf", "-12", path, "-o", folder / f"{path.name}.zst"], check=True)


def pack(raw: Path, target: Path, meta: dict[str, Any]) -> None:
    """Keep the captures, and what is known of the transfer."""
    (target / "meta.json").write_text(json.dumps(meta, indent=1) + "\n")
    for view in VIEWS:
        compress(raw / f"{view}.pcap", target)
