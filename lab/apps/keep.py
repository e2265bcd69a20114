"""What is kept of a recording: each connection's truth and samples."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from account import json_lines
from apps.label import connections, describe
from pack import compress, shares

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pandas as pd
    from apps.run import Values

__all__ = ["keep", "summary"]


def keep(
    raw: Path, target: Path, values: Values, judge: Callable[[pd.DataFrame], pd.DataFrame]
) -> list[dict[str, Any]]:
    """Write truth (by `judge`) and samples of each connection; returns what `meta.json` says of them."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    flows = []
    for local, remote, flow in connections(raw):
        truth = judge(flow)
        if truth.empty:
            continue
        name = f"{local}_{remote}"
        truth.round(4).to_csv(target / f"truth_{name}.csv", index=False)
        samples = raw / f"info_{name}.csv"
        flow.to_csv(samples, index=False)
        compress(samples, target)
        ends = {"sender": f"{values['sender']}:{local}", "receiver": f"{values['receiver']}:{remote}"}
        account = raw / f"tcp_info_{name}.jsonl"
        account.write_text("".join(f"{line}\n" for line in json_lines(flow, *ends.values())))
        compress(account, target)
        flows.append(ends | {"truth": f"truth_{name}.csv", "share": shares(truth)} | describe(flow))
    if not flows:
        target.rmdir()
        raise RuntimeError("no connection sent anything")
    return flows


def summary(meta: dict[str, Any]) -> str:
    """Tell what became of each connection."""
    lines = [f"{meta['name']:24}{meta['params']['rate_mbps']:8.1f} Mbit/s {meta['params']['rtt_ms']:6.1f} ms"]
    for flow in meta["flows"]:
        said = ", ".join(f"{label} {share:.0%}" for label, share in flow["share"].items() if share >= 0.005)
        lines.append(f"    {flow['bytes'] / 1e6:8.2f} MB {flow['secs']:5.1f} s  {said}")
    return "\n".join(lines)
