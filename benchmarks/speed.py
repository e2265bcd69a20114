"""Time bdpcap beside its peers on large captures, check that they count the same, and print tables in Markdown.

Compare the ratios, not the seconds: the programs take turns, so that whatever else the machine does meets
all of them alike, and the least of each one's runs counts, since the rest only adds to it. Only the
standard library is used here, to keep this process small: a child's peak memory is never reported below
that of the process that started it.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

HERE: Final = Path(__file__).resolve().parent
USUAL: Final = {"elephants": 704, "mice": 400_000, "full": 1_500_000}
"""Flows, connections and segments of the captures, as large_captures.py has them."""
TINY: Final = HERE.parent / "sample_captures" / "app_small_writes.sender.pcap.zst"
SLICE: Final = 200_000
"""Frames that tshark reads: it is too slow for the whole."""
PACKED: Final = {"gzip": (".gz", "-6"), "zstd": (".zst", "-3")}


class Run(NamedTuple):
    """What one run of a program cost."""

    wall_s: float
    cpu_s: float
    peak_bytes: int


class Program(NamedTuple):
    """A command, and what of its output must agree with the others."""

    command: list[str]
    counts: Callable[[Path], dict[str, int]] = lambda _: {}
    frames: int | None = None
    """How many it reads; all where None."""


def run(command: list[str], stdout: Path) -> Run:
    """Run `command` to its end with its output in `stdout`; any failure ends the benchmark."""
    with stdout.open("wb") as out:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{shlex.join(command)}: exit {process.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024
    return Run(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit)


def of_loop(output: Path) -> dict[str, int]:
    """Count as the empty loop does."""
    return {"packets": int(output.read_text())}


def of_tcptrace(output: Path) -> dict[str, int]:
    """Count as tcptrace does."""
    counts = {"packets": 0, "payload bytes": 0}
    with output.open(errors="replace") as lines:
        for line in lines:
            if seen := re.match(r"(\d+) packets seen", line):
                counts["packets"] = int(seen[1])
            elif line.startswith("     unique bytes sent:"):
                counts["payload bytes"] += sum(map(int, re.findall(r"\d+", line)))
    return counts


def of_info(output: Path) -> dict[str, int]:
    """Count as `bdpcap info` does."""
    return {"packets": json.loads(output.read_text())["capture"]["frames"]}


def of_flows(output: Path) -> dict[str, int]:
    """Count as `bdpcap flows` does."""
    with output.open() as file:
        return {"payload bytes": sum(int(row["payload_bytes"]) for row in csv.DictReader(file))}


def programs(folder: Path, kind: str, capture: Path, bdpcap: list[str]) -> dict[str, Program]:
    """Return what is compared on a capture."""
    flows = [*bdpcap, "flows", "--format", "csv"]
    tshark = ["tshark", "-n", "-q", "-z", "conv,tcp", "-c", str(SLICE), "-r", str(capture)]
    every = {
        "pcap_loop": Program([str(folder / "empty_loop"), str(capture)], of_loop),
        "tcptrace": Program(["tcptrace", "-n", "-l", "-r", "-W", str(capture)], of_tcptrace),
        "tshark": Program(tshark, frames=SLICE),
        "bdpcap info": Program([*bdpcap, "info", "--format", "json", str(capture)], of_info),
        "bdpcap flows": Program([*flows, str(capture)], of_flows),
    }
    if kind != "elephants":
        return every
    for name, (suffix, _) in PACKED.items():
        every[f"{name} -dc"] = Program([name, "-dc", f"{capture}{suffix}"])
        every[f"bdpcap flows, {name}"] = Program([*flows, f"{capture}{suffix}"], of_flows)
    every["bdpcap rtts"] = Program([*bdpcap, "rtts", "--format", "csv", str(capture)])
    for form in ("csv", "parquet"):
        every[f"bdpcap events, {form}"] = Program([*bdpcap, "events", "--format", form, str(capture)])
    every["bdpcap report"] = Program([*bdpcap, "report", str(capture), "-o", str(folder / "report.html")])
    return every


def starts(bdpcap: list[str]) -> dict[str, Program]:
    """Return what a start costs: commands on next to nothing."""
    return {
        "import typer": Program([sys.executable, "-c", "import typer"]),
        "bdpcap --help": Program([*bdpcap, "--help"]),
        "bdpcap bdp": Program([*bdpcap, "bdp", "--rate", "100M", "--rtt", "20ms"]),
        "bdpcap info": Program([*bdpcap, "info", str(TINY)]),
        "bdpcap flows": Program([*bdpcap, "flows", str(TINY)]),
        "bdpcap report --text": Program([*bdpcap, "report", "--text", "-", str(TINY)]),
    }


def prepare(folder: Path, kind: str, count: int) -> Path:
    """Write a capture of a kind, and the same compressed where that is timed."""
    capture = folder / f"{kind}.pcap"
    make = [sys.executable, HERE / "large_captures.py", kind, capture, "--count", str(count)]
    subprocess.run(make, check=True)
    for name, (suffix, level) in PACKED.items() if kind == "elephants" else ():
        with Path(f"{capture}{suffix}").open("wb") as file:
            subprocess.run([name, level, "-qc", capture], check=True, stdout=file)
    return capture


def take_turns(chosen: dict[str, Program], output: Path, repeat: int) -> dict[str, Run]:
    """Run the programs in turn, check that they count the same, and return the least that each took."""
    runs: dict[str, list[Run]] = {name: [] for name in chosen}
    counted: dict[str, dict[str, int]] = {}
    for turn in range(1 + repeat):  # the first fills the file cache and is not counted
        for name, program in chosen.items():
            cost = run(program.command, output)
            if turn:
                runs[name].append(cost)
                continue
            for what, count in program.counts(output).items():
                counted.setdefault(what, {})[name] = count
    for what, counts in counted.items():
        if len(set(counts.values())) > 1:
            raise SystemExit(f"they do not agree on {what}: {counts}")
        print(f"{' and '.join(counts)}: {next(iter(counts.values())):,} {what}\n")
    return {name: Run(*map(min, zip(*of, strict=True))) for name, of in runs.items()}


def print_table(
    cost: dict[str, Run], beside: Sequence[str], chosen: dict[str, Program], frames: int = 0
) -> None:
    """Print what each took, and its wall time over that of those `beside`, for as many packets."""
    beside = [name for name in beside if name in cost]
    head = ["wall s", "user+sys s", "peak MiB", *(["M packets/s"] if frames else [])]
    print("| | " + " | ".join([*head, *(f"/ {name}" for name in beside)]) + " |")
    print("|---|" + "---:|" * (len(head) + len(beside)))
    for name, of in cost.items():
        part = min(chosen[name].frames or frames, frames) / frames if frames else 1
        cells = [f"{of.wall_s:.2f}", f"{of.cpu_s:.2f}", f"{of.peak_bytes / 2**20:.0f}"]
        cells += [f"{part * frames / of.wall_s / 1e6:.2f}"] if frames else []
        cells += [f"{of.wall_s / part / cost[other].wall_s:.2f}" for other in beside]
        print(f"| {name} | " + " | ".join(cells) + " |")
    print()


def versions(bdpcap: list[str]) -> str:
    """Say what is compared, by what it says of itself."""
    libpcap = ["tcpdump", "--version"]
    found = []
    for command in ([*bdpcap, "--version"], ["tcptrace"], ["tshark", "--version"], libpcap):
        if shutil.which(command[0]):
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            said = re.search(
                r"(bdpcap|tcptrace -- version|TShark[^0-9]*|libpcap version) *([\d.]+\d)",
                done.stdout + done.stderr,
            )
            found += [f"{said[1].split()[0]} {said[2]}"] if said else []
    return ", ".join([*found, f"Python {sys.version.split()[0]}"])


def main() -> None:
    """Command line: make the captures, let the programs take turns on each, print a table."""
    parser = argparse.ArgumentParser(description="time bdpcap beside tcptrace, tshark and an empty pcap_loop")
    kinds = [*USUAL, "start"]
    parser.add_argument("kinds", nargs="*", choices=[*kinds, []], help="captures; all if none is named")
    parser.add_argument(
        "--scale", type=float, nargs="+", default=[1.0], help="so many times as large; one table for each"
    )
    parser.add_argument("--only", nargs="+", metavar="PROGRAM", help="as the table names them")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each program (%(default)s)")
    parser.add_argument("--bdpcap", type=shlex.split, default=["bdpcap"], help="command to time as bdpcap")
    options = parser.parse_args()
    print(f"{versions(options.bdpcap)}; the least of {options.repeat} runs\n")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        loop = ["cc", "-O2", "-o", folder / "empty_loop", HERE / "empty_loop.c", "-lpcap"]
        subprocess.run(loop, check=True)

        def installed(every: dict[str, Program]) -> dict[str, Program]:
            wanted = {name: every[name] for name in options.only or every if name in every}
            return {name: one for name, one in wanted.items() if shutil.which(one.command[0])}

        for kind in options.kinds or kinds:
            for scale in options.scale if kind in USUAL else ():
                capture = prepare(folder, kind, round(USUAL[kind] * scale))
                print(f"### {kind}, {scale:g} times: {capture.stat().st_size / 1e6:.0f} MB\n")
                chosen = installed(programs(folder, kind, capture, options.bdpcap))
                run([str(folder / "empty_loop"), str(capture)], folder / "count")
                frames = of_loop(folder / "count")["packets"]
                cost = take_turns(chosen, folder / "output", options.repeat)
                print_table(cost, ("pcap_loop", "tcptrace"), chosen, frames)
                for path in folder.glob(f"{kind}.pcap*"):
                    path.unlink()
            if kind == "start":
                print("### Start\n")
                chosen = installed(starts(options.bdpcap))
                print_table(take_turns(chosen, folder / "output", options.repeat), ("import typer",), chosen)


if __name__ == "__main__":
    main()
