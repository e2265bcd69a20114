"""Record real applications: run them over the lab's link, sample their connections, label and pack.

python lab/apps/record.py [NAMES] -o OUT
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))

from apps.keep import keep, summary
from apps.label import label_flow
from apps.place import configure, prepare
from apps.programs import SCENARIOS
from apps.run import SAMPLER, run
from apps.scenario import draw
from hosts import build, kernel
from pack import pack
from quiet import alone, quiet
from truth import Busy, pauses

HERE = Path(__file__).parent
WORST_DISTURBED = 0.1


class Folders(NamedTuple):
    """Where the lab's programs are, where the applications work, and where recordings go."""

    programs: Path
    place: Path
    out: Path


def produce(name: str, seed: str, folders: Folders, turn: Path | None) -> dict[str, Any]:
    """Record, label and pack one scenario; returns its `meta.json`."""
    programs, place, out = folders
    target = out / name
    scenario = SCENARIOS[name]
    values, transfer = draw(scenario, seed)
    here = {"place": place, "python": sys.executable, "writers": HERE / "writers.py"}
    configure(place, values)
    with tempfile.TemporaryDirectory() as temporary:
        raw = Path(temporary)
        with alone(turn):
            missed = run(scenario, transfer, values | here, raw, programs)
        link = pd.read_csv(raw / "link.csv")
        busy, rate = Busy(link), values["rate_mbps"] * 1e6
        paced = scenario.paced or values["cc"] == "bbr"

        def judge(flow: pd.DataFrame) -> pd.DataFrame:
            return label_flow(flow, busy, pauses(flow, link), rate, paced=paced)

        flows = keep(raw, target, values, judge)
        meta = {
            "name": name,
            "seed": seed,
            "params": values | {"v6": 0, "delay_ms": values["rtt_ms"] / 2, "route": transfer.route},
            "client": scenario.client.command,
            "kernel": kernel(),
            "capture_missed": missed,
            "flows": flows,
        }
        pack(raw, target, meta)
    return meta


def disturbed(meta: dict[str, Any]) -> bool:
    """Say whether the machine stood still for too much of a recording."""
    return any(flow["share"].get("disturbed", 0) > WORST_DISTURBED for flow in meta["flows"])


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="record real applications (as root)")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SCENARIOS)} (all)")
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6), help="any")
    parser.add_argument("--turn", type=Path, metavar="FILE", help="run while holding a lock on it (flock)")
    parser.add_argument("--patience", type=float, default=60, help="seconds to wait for a quiet machine")
    parser.add_argument("--attempts", type=int, default=3, help="at each, if the machine disturbs it")
    options = parser.parse_args()
    if unknown := sorted(set(options.names) - set(SCENARIOS)):
        parser.error(f"no such scenario: {', '.join(unknown)}")
    print(f"seed {options.seed}")
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as place:
        folders = Folders(Path(folder), Path(place), options.out)
        build(folders.programs)
        build(folders.programs, SAMPLER)
        prepare(folders.place)
        for name in options.names or SCENARIOS:
            for _ in range(options.attempts):
                quiet(options.patience)
                try:
                    meta = produce(name, f"{options.seed}/{name}", folders, options.turn)
                except (OSError, RuntimeError, subprocess.SubprocessError) as error:
                    print(f"{name}: {error}", file=sys.stderr)
                    continue
                print(summary(meta), flush=True)
                if not disturbed(meta):
                    break


if __name__ == "__main__":
    main()
