"""Record transfers of another kernel, in a virtual machine: boot it, run them in turn, label and pack.

python lab/vm/record.py [NAMES] -o OUT
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from apps.keep import keep, summary
from apps.label import label_flow
from apps.run import SAMPLER
from apps.scenario import draw
from hosts import build, do
from pack import pack
from truth import Busy, pauses
from vm.image import fetch_kernel, pack_root
from vm.machine import boot, script
from vm.router import transmissions
from vm.transfers import TRANSFERS

if TYPE_CHECKING:
    import pandas as pd

PROGRAMS = {"tsend": ("tsend.c",), "trecv": ("trecv.c",)}
DISK = 1_000_000_000
PAUSE_NS = 12_000_000  # the machine is slow: its sampler stands still for longer than others'
BETWEEN = (0.9, 0.97)  # so busy, a link is neither certainly the limit nor certainly not


def uncertain(truth: pd.DataFrame) -> pd.DataFrame:
    """Leave out bins in which the link was nearly busy."""
    between = truth["link_busy"].between(*BETWEEN, inclusive="left")
    windows = truth["truth"].isin(["rwnd", "cwnd", "sndbuf"])
    return truth.assign(truth=truth["truth"].mask(between & windows, "near"))


def label(name: str, raw: Path, out: Path, about: dict[str, Any]) -> None:
    """Label and pack one transfer."""
    values = about["params"]
    link = transmissions(raw / "arrivals.pcap", raw / "middle.pcap", values["rate_mbps"] * 1e6)
    paced = TRANSFERS[name].paced or values["cc"] == "bbr" or "max_pace" in about["client"]

    busy = Busy(link)

    def judge(flow: pd.DataFrame) -> pd.DataFrame:
        still = pauses(flow, link, PAUSE_NS)
        return uncertain(label_flow(flow, busy, still, values["rate_mbps"] * 1e6, paced=paced))

    flows = keep(raw, out / name, values, judge)
    missed = [
        line for file in raw.glob("*.said") for line in file.read_text().splitlines() if "dropped" in line
    ]
    meta = about | {"capture_missed": [line for line in missed if not line.startswith("0 ")], "flows": flows}
    pack(raw, out / name, meta)
    print(summary(meta), flush=True)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="record transfers of another kernel, in a virtual machine")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(TRANSFERS)} (all)")
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6), help="any")
    parser.add_argument(
        "--turn", type=Path, metavar="FILE", help="run each while holding a lock on it (flock)"
    )
    parser.add_argument("--package", default="linux-image-amd64", help="the kernel's (%(default)s)")
    parser.add_argument(
        "--work", type=Path, help="a folder to keep downloads, the log and what came out of the machine in"
    )
    options = parser.parse_args()
    names = options.names or list(TRANSFERS)
    if unknown := sorted(set(names) - set(TRANSFERS)):
        parser.error(f"no such transfer: {', '.join(unknown)}")
    print(f"seed {options.seed}")
    with tempfile.TemporaryDirectory() as temporary:
        work = (options.work or Path(temporary)).resolve()
        programs, raw = Path(temporary) / "programs", work / "raw"
        shutil.rmtree(raw, ignore_errors=True)
        for folder in (work, programs, raw):
            folder.mkdir(parents=True, exist_ok=True)
        build(programs, PROGRAMS, "-static")
        build(programs, SAMPLER, "-static")
        about, lines = {}, ""
        for name in names:
            scenario, seed = TRANSFERS[name], f"{options.seed}/{name}"
            values, transfer = draw(scenario, seed)
            lines += script(name, scenario, values, transfer.route)
            about[name] = {
                "name": name,
                "seed": seed,
                "params": values | {"v6": 0},
                "client": scenario.client.command,
            }
        kernel = fetch_kernel(work, options.package)
        image, disk = work / "image.gz", Path(temporary) / "disk"
        pack_root(kernel, programs, lines, image)
        with disk.open("wb") as file:
            file.truncate(DISK)
        boot(kernel, image, disk, options.turn, work / "machine.log")
        do("tar", "-C", raw, "-xf", disk)
        version = (raw / "kernel").read_text().partition("-")[0].strip()
        for name in names:
            try:
                label(name, raw / name, options.out, about[name] | {"kernel": version})
            except (OSError, RuntimeError) as error:
                print(f"{name}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
