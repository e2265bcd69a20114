"""Make labelled transfers: draw them from a seed, run them, label them, pack them.

Half of the draws of every kind are for tuning rules, the other half (`holdout`) only for looking at what rules are worth.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from damage import damage
from draw import Draw
from hosts import build, build_netstack
from kinds import KINDS
from pack import VIEWS, pack, shares
from quiet import quiet
from transfer import Transfer, run
from truth import label

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 20261121
SETS = ("tune", "holdout")
WORST_DISTURBED = 0.08  # beyond that share of its time, a transfer is run again
ATTEMPTS = 3


def plan(seed: int, draws: int, kinds: list[str]) -> Iterator[tuple[str, str, str, Transfer]]:
    """Yield set, kind, name and transfer of every draw."""
    for kind in kinds:
        for group in SETS:
            for number in range(1, draws + 1):
                name = kind if number == 1 else f"{kind}_{number}"
                yield group, kind, name, KINDS[kind](Draw(f"{seed}/{group}/{name}"))


def hints(transfer: Transfer) -> dict[str, bool]:
    """What the labels need to know that no sample shows."""
    sender, receiver = transfer.sender, transfer.receiver
    return {
        "paced": sender["cc"] == "bbr" or "max_pace" in sender,
        "own_pace": sender.get("pattern") == "paced",
        "slow_reader": any(name in receiver for name in ("rate", "pause_ms", "phases")),
        "small_writes": sender.get("pattern") == "paced" and sender.get("piece", sender["chunk"]) < 1448,
    }


def make(transfer: Transfer, target: Path, programs: Path, about: dict[str, Any]) -> dict[str, Any]:
    """Run, damage, label and pack one transfer; returns its `meta.json`."""
    with tempfile.TemporaryDirectory() as temporary:
        raw = Path(temporary)
        meta = about | {"params": asdict(transfer)} | run(transfer, raw, programs)
        truth = label(raw, hints(transfer))
        if transfer.tap:
            hurt = {
                view: damage(raw / f"{view}.pcap", f"{about['seed']}/{view}", **transfer.tap)
                for view in VIEWS
            }
            meta["capture_lost"] = {view: lost for view, (lost, _) in hurt.items()}
            truth = truth[truth["t0"] >= hurt["sender"][1]]
        meta["shares"] = shares(truth)
        target.mkdir(parents=True, exist_ok=True)
        truth.round(4).to_csv(target / "truth.csv", index=False)
        pack(raw, target, meta)
    return meta


def summary(meta: dict[str, Any]) -> str:
    """One line of a transfer."""
    shares = sorted(meta["shares"].items(), key=lambda item: -item[1])
    said = ", ".join(f"{name} {share:.0%}" for name, share in shares if share >= 0.005)
    return f"{meta['set']:8}{meta['name']:26}{meta['receiver']['mbps']:8.2f} Mbit/s  {said}"


def describe(folder: Path) -> None:
    """Write the table of a set."""
    rows = []
    for path in sorted(folder.glob("*/meta.json")):
        meta = json.loads(path.read_text())
        parameters = meta["params"]
        link = parameters["link"]
        rows.append(
            {
                "transfer": meta["name"],
                "rtt_ms": (link["delay_us"] + link["back_delay_us"]) / 1000,
                "rate_mbps": round(link["rate_bps"] / 1e6, 1),
                "goodput_mbps": meta["receiver"]["mbps"],
                "truth": json.dumps(meta["shares"]),
                "settings": json.dumps(
                    {name: parameters[name] for name in ("sender", "receiver", "link", "tap")}
                ),
            }
        )
    (folder / "README.txt").write_text(pd.DataFrame(rows).to_string(index=False) + "\n")


def produce(transfer: Transfer, out: Path, programs: Path, about: dict[str, Any]) -> None:
    """Make one transfer, again if the machine was disturbed or something failed."""
    for _ in range(ATTEMPTS):
        quiet()
        try:
            meta = make(transfer, out / about["set"] / about["name"], programs, about)
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            print(f"{about['set']} {about['name']}: {error}", file=sys.stderr)
            continue
        print(summary(meta), flush=True)
        if meta["shares"].get("disturbed", 0) <= WORST_DISTURBED:
            return
        print("  the machine was disturbed", file=sys.stderr)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description="make labelled transfers (as root: namespaces, tcpdump, chrt)"
    )
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of these kinds: {', '.join(KINDS)} (all)")
    parser.add_argument("-o", "--out", type=Path, default=Path(__file__).parent / "out")
    parser.add_argument("--seed", type=int, default=SEED, help="%(default)s")
    parser.add_argument("--draws", type=int, default=1, help="of each kind in each set (%(default)s)")
    parser.add_argument("--set", choices=SETS, action="append", help="only this one (both)")
    options = parser.parse_args()
    sets = options.set or SETS
    if unknown := sorted(set(options.kinds) - set(KINDS)):
        parser.error(f"no such kind: {', '.join(unknown)}; there are {', '.join(KINDS)}")
    with tempfile.TemporaryDirectory() as folder:
        programs = Path(folder)
        build(programs)
        planned = [*plan(options.seed, options.draws, options.kinds or list(KINDS))]
        if any(transfer.netstack for *_, transfer in planned) and shutil.which("go"):
            build_netstack(programs)
        for group, kind, name, transfer in planned:
            if group in sets and not (options.out / group / name / "meta.json").exists():
                about = {"name": name, "kind": kind, "set": group, "seed": f"{options.seed}/{group}/{name}"}
                produce(transfer, options.out, programs, about)
    for group in sets:
        describe(options.out / group)


if __name__ == "__main__":
    main()
