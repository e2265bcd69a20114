"""How near `capacity_bps` comes to the rate of the link, on a quiet capturing host and on a busy one.

python benchmarks/capacity.py SET... [--only NUMBER] [-o FILE]

Each set is a folder of transfers as in `labelled.py`; labels are not needed. A transfer counts if its link has one rate,
and if one flow has the link to itself. The truth is the payload's part of the link's rate: payload over the bytes that a
full segment takes there. On the busy host, all packets of a stall of 2 to 10 ms arrive at its end, with 50 to 200 ms
between stalls, drawn from the transfer's name.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pandas as pd
from batch import workers
from labelled import VIEWS
from markdown import table
from retimed import stalled

import bdpcap
from bdpcap.explain.capacity import Basis, basis

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NEAR: Final = 0.1
FAR: Final = 1.5
ALONE: Final = 0.9
"""Share of the capture's payload that the flow must have."""
ETHERNET, PREAMBLE = 14, 24  # the emulated links count preamble, check sequence and gap; tbf does not
IPV4, IPV6, TCP, TIMESTAMPS = 20, 40, 20, 12
VARIES: Final = {"police_bps", "rate_low_bps"}


def link_bps(meta: dict[str, Any]) -> float | None:
    """Return the link's rate; None if it has several, or none."""
    params = meta["params"]
    if len(meta.get("flows", [])) > 1 or int(params.get("flows", 1)) > 1:
        return None
    if "link" in params:
        return None if params["udp_bps"] or VARIES & set(params["link"]) else params["link"]["rate_bps"]
    rate_bps = float(params.get("rate_mbps", 0)) * 1e6
    return rate_bps if rate_bps and not float(params.get("cross_mbps", 0)) else None


def payload_share(meta: dict[str, Any], flow: bdpcap.Flow) -> float:
    """Return the payload's share of the bytes that a full segment takes on the link."""
    payload = int(flow.summary["mss_bytes"])
    headers = ETHERNET + (0 if "dx" in meta["params"] else PREAMBLE) + TCP
    headers += IPV6 if flow.sender.startswith("[") else IPV4
    headers += TIMESTAMPS if flow._counts["has_timestamps"] else 0
    return payload / (payload + headers)


def grade(folder: Path, view: str, busy: bool) -> dict[str, Any] | None:
    """Return the capacity of a transfer's flow over the truth, with its range; None if the transfer does not count."""
    meta = json.loads((folder / "meta.json").read_text())
    rate_bps = link_bps(meta)
    if rate_bps is None:
        return None
    path = next(folder.glob(f"{view}.pcap*"))
    capture = bdpcap.analyze(io.BytesIO(stalled(path, f"{folder.name} {view}")) if busy else path)
    flow = max(capture, key=lambda one: int(one.summary["payload_bytes"]))
    others = int(capture.datagrams["payload_bytes"].sum())
    alone = int(flow.summary["payload_bytes"]) >= ALONE * (int(flow.summary["payload_bytes"]) + others)
    if not alone:
        return None
    true_bps = rate_bps * payload_share(meta, flow)
    rests = basis(flow.summary)
    named = {
        "set": folder.parent.name,
        "name": folder.name,
        "view": view,
        "host": "busy" if busy else "quiet",
    }
    rates = {
        name: float(value) / true_bps if pd.notna(value := flow.summary[f"capacity{name}_bps"]) else None
        for name in ("", "_low", "_high")
    }
    ranged = rests is Basis.BOUND and rates["_high"] is not None
    word = (
        "none"
        if rests is None
        else "about"
        if rests is not Basis.BOUND
        else "between"
        if ranged
        else "at least"
    )
    return {**named, "word": word, "rate": rates[""], "low": rates["_low"], "high": rates["_high"]}


def found(roots: Sequence[Path], only: int | None) -> list[Path]:
    """Return the folders of transfers, the first `only` of each root."""
    return [
        meta.parent
        for root in roots
        for meta in sorted({*root.glob("*/meta.json"), *root.glob("*/*/meta.json")})[:only]
    ]


def shares(graded: pd.DataFrame, by: str) -> Iterator[str]:
    """Table of a grouping: captures, and shares near the truth, far above it, and with the truth in the range."""
    rows = []
    for (host, name), own in graded.groupby(["host", by]):
        near = (own["rate"] - 1).abs() <= NEAR
        inside = (own["low"].fillna(0) <= 1 + NEAR) & ~(own["high"] < 1 - NEAR)
        said = (near, own["rate"] > FAR, inside)
        rows.append([f"{host}, {name}", str(len(own)), *(f"{100 * share.mean():.1f}" for share in said)])
    yield from table([by, "captures", "within 10 %, %", "above 1.5 x, %", "truth in the range, %"], rows)
    yield ""


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="compare capacities with the rates of emulated links")
    parser.add_argument("roots", nargs="+", type=Path, help="sets of transfers, or folders of sets")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="the first transfers of each")
    parser.add_argument("-o", "--output", type=Path, help="CSV of every capture")
    options = parser.parse_args()
    jobs = [
        (folder, view, busy)
        for folder in found([root.resolve() for root in options.roots], options.only)
        for view in VIEWS
        if any(folder.glob(f"{view}.pcap*"))
        for busy in (False, True)
    ]
    with workers() as pool:
        graded = pd.DataFrame(filter(None, pool.map(grade, *zip(*jobs, strict=True), chunksize=4)))
    graded[["rate", "low", "high"]] = graded[["rate", "low", "high"]].astype(float)
    for by in ("word", "set", "view"):
        sys.stdout.write("\n".join([*shares(graded, by), ""]))
    about = graded[graded["word"] == "about"]
    sys.stdout.write("\n".join(["About a rate:", "", *shares(about, "set"), ""]))
    if options.output:
        graded.to_csv(options.output, index=False)


if __name__ == "__main__":
    main()
