"""Time bdpcap beside tcptrace and an empty `pcap_loop`, on large captures of three kinds.

Compare the ratios, not the seconds: the programs take turns, so that whatever else the machine does meets
all of them alike, and the least of each one's runs counts, since the rest only adds to it. Only the
standard library is used here, to keep this process small: a child's peak memory is never reported below
that of the process that started it.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
USUAL = {"elephants": 704, "mice": 400_000, "full": 1_500_000}
"""Flows, connections and segments of the captures, as large_captures.py has them."""


class Run(NamedTuple):
    """What one run of a program cost."""

    wall_s: float
    cpu_s: float
    peak_bytes: int


def run(command: list[str], stdout: Path) -> Run:
    """Run `command` to its end with its output in `stdout`; any failure ends the benchmark."""
    with stdout.open("wb") as out:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{shlex.join(command)}: exit {process.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024
    return Run(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit)


def programs(folder: Path, capture: Path, bdpcap: list[str]) -> dict[str, list[str]]:
    """Return the commands to compare, of those that are installed."""
    packed = {"gzip": Path(f"{capture}.gz"), "zstd": Path(f"{capture}.zst")}
    flows = [*bdpcap, "flows", "--format", "csv"]
    commands = {
        "pcap_loop": [str(folder / "empty_loop"), str(capture)],
        "tcptrace": ["tcptrace", "-n", "-l", "-r", "-W", str(capture)],
        "flows": [*flows, str(capture)],
        **{f"{name} -dc": [name, "-dc", str(path)] for name, path in packed.items()},
        **{f"flows {name}": [*flows, str(path)] for name, path in packed.items()},
        "report": [*bdpcap, "report", str(capture), "-o", str(folder / "report.html")],
        **{
            f"events {form}": [
                *bdpcap,
                "events",
                str(capture),
                "--format",
                form,
                "-o",
                str(folder / "events"),
            ]
            for form in ("csv", "parquet")
        },
        "start": [*bdpcap, "--version"],
    }
    missing = [name for name, command in commands.items() if not shutil.which(command[0])]
    for name in missing:
        print(f"{name}: {commands[name][0]} is not installed, left out", file=sys.stderr)
    return {name: command for name, command in commands.items() if name not in missing}


def prepare(folder: Path, kind: str, count: int) -> Path:
    """Write a capture of a kind, and the same compressed."""
    capture = folder / f"{kind}.pcap"
    make = [sys.executable, HERE / "large_captures.py", kind, capture, "--count", str(count)]
    subprocess.run(make, check=True)
    for compress in (["gzip", "-6", "-kf"], ["zstd", "-3", "-qf"]):
        subprocess.run([*compress, capture], check=True)
    return capture


def print_table(runs: dict[str, list[Run]]) -> None:
    """Print the least of each program's runs, and its wall time as a multiple of the first two's."""
    cost = {name: Run(*map(min, zip(*of, strict=True))) for name, of in runs.items()}
    beside = [name for name in ("pcap_loop", "tcptrace") if name in cost]
    print(f"{'':16}{'wall s':>8}{'user+sys s':>12}{'peak MiB':>10}", end="")
    print("".join(f"{'/ ' + name:>14}" for name in beside))
    for name, of in cost.items():
        print(f"{name:16}{of.wall_s:8.2f}{of.cpu_s:12.2f}{of.peak_bytes / 2**20:10.0f}", end="")
        print("".join(f"{of.wall_s / cost[other].wall_s:14.2f}" for other in beside))


def main() -> None:
    """Command line: make the captures, let the programs take turns on each, print a table."""
    parser = argparse.ArgumentParser(description="time bdpcap beside tcptrace and an empty pcap_loop")
    parser.add_argument("kinds", nargs="*", choices=[*USUAL, []], help="captures; all if none is named")
    parser.add_argument("--part", type=int, default=1, help="make the captures so many times smaller")
    parser.add_argument("--only", nargs="+", metavar="PROGRAM", help="as the table names them")
    parser.add_argument("--repeat", type=int, default=5, help="runs of each program (%(default)s)")
    parser.add_argument("--bdpcap", type=shlex.split, default=["bdpcap"], help="command to time as bdpcap")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        loop = ["cc", "-O2", "-o", folder / "empty_loop", HERE / "empty_loop.c", "-lpcap"]
        subprocess.run(loop, check=True)
        for kind in options.kinds or USUAL:
            capture = prepare(folder, kind, USUAL[kind] // options.part)
            commands = programs(folder, capture, options.bdpcap)
            chosen = {name: commands[name] for name in options.only or commands if name in commands}
            runs: dict[str, list[Run]] = {name: [] for name in chosen}
            for turn in range(1 + options.repeat):  # the first fills the file cache and is not counted
                for name, command in chosen.items():
                    cost = run(command, folder / "output")
                    if turn:
                        runs[name].append(cost)
            size = capture.stat().st_size / 2**20
            print(f"\n{kind}: {size:.0f} MiB, 1/{options.part}; the least of {options.repeat} runs")
            print_table(runs)
            for path in (capture, Path(f"{capture}.gz"), Path(f"{capture}.zst")):
                path.unlink()


if __name__ == "__main__":
    main()
