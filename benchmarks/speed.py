"""Time `bdpcap flows` beside tcptrace and an empty `pcap_loop`, on one large capture, in one run.

Compare the ratios, not the seconds: the tools take turns, so that whatever else the machine does meets
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
SAMPLE = HERE.parent / "sample_captures" / "linux61_advwinscale2_w50000.pcap.zst"


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
    """Return the commands to compare, of those that are installed; the empty loop is compiled first."""
    loop = folder / "empty_loop"
    subprocess.run(["cc", "-O2", "-o", loop, HERE / "empty_loop.c", "-lpcap"], check=True)
    commands = {
        "empty pcap_loop": [str(loop), str(capture)],
        "tcptrace": ["tcptrace", "-n", "-l", "-r", "-W", str(capture)],
        "bdpcap flows": [*bdpcap, "flows", str(capture), "--format", "csv"],
    }
    missing = [name for name, command in commands.items() if not shutil.which(command[0])]
    for name in missing:
        print(f"{name}: {commands[name][0]} is not installed, left out", file=sys.stderr)
    return {name: command for name, command in commands.items() if name not in missing}


def print_table(runs: dict[str, list[Run]], packets: int) -> None:
    """Print the least of each program's runs, and its processor time as a multiple of the others'."""
    cost = {name: Run(*map(min, zip(*of, strict=True))) for name, of in runs.items()}
    print(f"{'':16}{'wall s':>8}{'user+sys s':>12}{'Mpackets/s':>12}{'peak MiB':>10}", end="")
    print("".join(f"{'/ ' + name:>18}" for name in cost))
    for name, of in cost.items():
        print(f"{name:16}{of.wall_s:8.2f}{of.cpu_s:12.2f}{packets / of.cpu_s / 1e6:12.2f}", end="")
        print(f"{of.peak_bytes / 2**20:10.1f}", end="")
        print("".join(f"{of.cpu_s / other.cpu_s:18.2f}" for other in cost.values()))


def main() -> None:
    """Command line: make the capture, let the programs take turns on it, print the table."""
    parser = argparse.ArgumentParser(description="time bdpcap beside tcptrace and an empty pcap_loop")
    parser.add_argument("sample", type=Path, nargs="?", default=SAMPLE, help="capture to replicate")
    parser.add_argument("--packets", type=int, default=4_000_000, help="at least so many (%(default)s)")
    parser.add_argument("--repeat", type=int, default=5, help="runs of each program (%(default)s)")
    parser.add_argument("--bdpcap", type=shlex.split, default=["bdpcap"], help="command to time as bdpcap")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        capture, output = folder / "capture.pcap", folder / "output"
        make = [sys.executable, HERE / "replicate.py", options.sample, capture]
        made = subprocess.run([*make, "--packets", str(options.packets)], check=True, capture_output=True)
        packets, copies = map(int, made.stdout.split())
        commands = programs(folder, capture, options.bdpcap)
        runs: dict[str, list[Run]] = {name: [] for name in commands}
        for turn in range(1 + options.repeat):  # the first fills the file cache and is not counted
            for name, command in commands.items():
                cost = run(command, output)
                if turn:
                    runs[name].append(cost)
        size = capture.stat().st_size / 2**20
    print(f"{packets} packets, {size:.0f} MiB, {copies} copies of {options.sample.name};", end=" ")
    print(f"the least of {options.repeat} runs; the last columns divide user+sys times")
    print_table(runs, packets)


if __name__ == "__main__":
    main()
