"""What each quantity of a round costs and is worth: instructions a packet, and agreement of verdicts without it.

python benchmarks/evidence.py SET... -o docs/evidence.md

Callgrind counts the instructions of the core. The program's debug information has the lines of the source that each one
comes from, through inlined functions. A quantity costs what the functions that count it execute, and what these call of
Rust's library. Its worth is measured by leaving it unknown, or 0, in every round of labelled transfers; the better of
both counts.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import instructions
import large_captures
import numpy as np
from batch import join, read_all
from grading import MEAN, by_lab
from labelled import find
from markdown import points, table

from bdpcap.limits.decide import decide
from bdpcap.limits.evidence import Evidence
from bdpcap.limits.rounds import Rounds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from batch import Batch

HEAD: Final = """# What the evidence costs

The core counts the quantities of a round while packets pass, and rules look at them afterwards. Callgrind counts the
instructions a packet that each takes, in a capture of bulk flows and in one of short connections. Its worth is the change
of the agreement with labelled transfers where no rule knows it: the mean of the labs, in points. What has no columns is
needed for all others, or shown to people.

A quantity of little worth may still decide where no labelled transfer leads: nearly all of them have timestamps.

`make evidence LABELLED=PATH` writes this page, here from these sets:
"""
ALL: Final = "all that the core does"
UNKNOWN: Final = np.iinfo(np.int64).min
"""An absent number, as the core marks it."""


class Quantity(NamedTuple):
    """Columns of rounds that are counted together."""

    name: str
    functions: tuple[str, ...]
    """The functions of `core/src/track/` that count it, and nothing else, as `module::function`."""
    columns: tuple[str, ...] = ()


QUANTITIES: Final = (
    Quantity("copies of packets", ("copies::remember", "copies::holds_copy")),
    Quantity(
        "holes and retransmissions",
        ("tap::segment", "tap::below_snd_nxt", "tap::unseen_between"),
        ("retransmitted_bytes", "retransmitted_segments", "reordered", "unseen_bytes"),
    ),
    Quantity(
        "round-trip times",
        (
            "records::push",
            "records::acknowledge",
            "records::sack",
            "measurements::add_rtt",
            "measurements::summarize_rtts",
        ),
        ("rtt_ns", "rtt_min_ns", "rtt_max_ns", "rtt_samples", "queueing_delay_p20_ns"),
    ),
    Quantity("time with a queue", ("measurements::summarize_queue",), ("queueing_ns",)),
    Quantity("delivery rate", ("rounds::add_delivery",), ("delivery_rate",)),
    Quantity(
        "spacing of acknowledgments",
        ("measurements::add_ack_spacing", "measurements::summarize_spacing"),
        ("ack_spacing_rate", "ack_steady_rate", "ack_pauses_ns"),
    ),
    Quantity(
        "one-way delays",
        (
            "one_way_delay::excess_ns",
            "one_way_delay::measure",
            "sending::add_forward_delay",
            "flow::add_reverse_delay",
        ),
        ("forward_delay_p20_ns", "reverse_delay_p20_ns"),
    ),
    Quantity(
        "bursts and their triggers",
        (
            "bursts::sent",
            "bursts::begin_burst",
            "bursts::end_rest",
            "bursts::acknowledged",
            "bursts::triggered",
        ),
        (
            "answered_acks",
            "empty_starts",
            "own_time_bytes",
            "bursts",
            "short_ends",
            "burst_freed_bytes",
            "burst_wait_ns",
            "bursts_after_payload",
            "burst_period_min_ns",
            "burst_period_max_ns",
            "timeouts",
        ),
    ),
    Quantity(
        "time of a blocked writer",
        ("rounds::check_blocked", "rounds::count_blocked"),
        ("writer_blocked_ns", "writer_blocked_max_ns"),
    ),
    Quantity(
        "times of window and flight",
        ("rounds::advance",),
        (
            "in_flight_mean_bytes",
            "empty_ns",
            "window_blocked_ns",
            "window_full_ns",
            "zero_window_ns",
            "after_short_ns",
        ),
    ),
    Quantity("silence", ("rounds::count_silence",), ("silence_ns",)),
    Quantity(
        "bounds of the window scale",
        ("scale::advertised", "scale::sent", "scale::find_contradicted"),
    ),
    Quantity("sustained rate", ("sustained_rate::add", "sustained_rate::end_span")),
    Quantity("turns of requests and responses", ("turns::sent", "turns::awaits_ack", "turns::is_turn_of")),
    Quantity(
        "packing of finished rounds",
        ("packed_rounds::push", "packed::add", "packed::write", "packed::append_to"),
    ),
)
"""What is counted for each packet or acknowledgment. Columns that one sum or comparison counts are left out."""

ENTRY: Final = re.compile(r"(0x[0-9a-f]+|\+\d+|-\d+|\*) \S+ (\d+)")
"""Callgrind's entry for an instruction: its address or the distance from the last one, the line, the count."""
PLACE: Final = re.compile(rf"({re.escape(str(instructions.MANIFEST.parent))}/src/\S+\.rs):(\d+)")
"""A line of the core's source."""
FUNCTION: Final = re.compile(r"\s*(?:pub(?:\(\w+\))? )?(?:const )?fn (\w+)")
"""The first line of a function in Rust."""


@cache
def begun(path: str) -> list[str]:
    """Return for each line of a file the function that holds it, as `module::function`."""
    module, held = Path(path).stem, [""]
    for line in Path(path).read_text().splitlines():
        found = FUNCTION.match(line)
        held.append(f"{module}::{found[1]}" if found else held[-1])
    return held


def executed(profile: Path) -> Counter[int]:
    """Return the instructions executed at each address, with those of functions of Rust's library called from there."""
    counts: Counter[int] = Counter()
    names: dict[str, str] = {}
    at, own_callee, after_call = 0, False, False
    for line in profile.read_text().splitlines():
        if line.startswith(("fn=", "cfn=")):
            key, _, name = line.partition("=")[2].partition(" ")
            name = names.setdefault(key, name)
            own_callee = "bdpcap_core::" in name
        elif line.startswith("calls="):
            after_call = True
        elif entry := ENTRY.fullmatch(line):
            place = entry[1].replace("*", "+0")
            at = int(place, 16) if place.startswith("0x") else at + int(place)
            if not (after_call and own_callee):
                counts[at] += int(entry[2])
            after_call = False
    return counts


def functions(program: Path, addresses: Sequence[int]) -> dict[int, set[str]]:
    """Return for each address the function that holds it, and those that were inlined there."""
    asked = "".join(f"{at:#x}\n" for at in addresses)
    command = ["addr2line", "--exe", program, "--inlines", "--addresses"]
    done = subprocess.run(command, input=asked, check=True, capture_output=True, text=True)
    found: dict[int, set[str]] = {}
    inlined: set[str] = set()
    for line in done.stdout.splitlines():
        if line.startswith("0x"):
            inlined = found.setdefault(int(line, 16), set())
        elif place := PLACE.match(line):
            inlined.add(begun(place[1])[int(place[2])])
    return found


def build() -> Path:
    """Compile the program that counts a capture, with the lines of its source."""
    target = instructions.MANIFEST.parent / "target" / "evidence"
    cargo = ["cargo", "build", "--release", "--locked", "--quiet", "--example", "count"]
    lines = {"CARGO_PROFILE_RELEASE_DEBUG": "line-tables-only", "CARGO_TARGET_DIR": str(target)}
    subprocess.run(
        [*cargo, "--manifest-path", instructions.MANIFEST], check=True, env={**os.environ, **lines}
    )
    return target / "release" / "examples" / "count"


def costs(program: Path, kind: str, folder: Path) -> dict[str, float]:
    """Return the instructions a packet of each quantity, and of all, in a capture of this kind."""
    capture, profile = folder / f"{kind}.pcap", folder / f"{kind}.profile"
    large_captures.write(kind, capture, instructions.COUNTS[kind])
    command = ["valgrind", "--tool=callgrind", "--dump-instr=yes", f"--callgrind-out-file={profile}"]
    done = subprocess.run([*command, program, capture], check=True, capture_output=True, text=True)
    packets = int(done.stdout.split()[0])
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if collected is None:
        raise SystemExit(f"callgrind did not say what it counted: {done.stderr}")
    counts = executed(profile)
    of = functions(program, list(counts))
    result = {ALL: int(collected[1]) / packets}
    for quantity in QUANTITIES:
        own = (count for at, count in counts.items() if not of[at].isdisjoint(quantity.functions))
        result[quantity.name] = sum(own) / packets
    return result


def agreement(batch: Batch, changed: dict[str, np.ndarray]) -> float:
    """Return the mean agreement of the labs, in per cent, with some columns of the rounds changed."""
    rounds = batch.evidence.rounds
    evidence = Evidence(Rounds({**rounds.columns, **changed}, rounds.flow), batch.evidence.vantage)
    return float(by_lab(batch, decide(evidence).limit)[MEAN])


def worth(batch: Batch, columns: Sequence[str]) -> float:
    """Return by how many points the mean agreement changes where columns are unknown, or 0 if rules do better so."""
    of = batch.evidence.rounds.columns
    without = (
        agreement(batch, {name: np.full_like(of[name], value) for name in columns}) for value in (UNKNOWN, 0)
    )
    return max(without) - agreement(batch, {})


def page(batch: Batch, cost: dict[str, dict[str, float]]) -> Iterator[str]:
    """Yield the lines of docs/evidence.md."""
    yield HEAD
    names = batch.captures.groupby("group")["name"].nunique()
    yield ", ".join(f"{group} ({number} transfers)" for group, number in names.items()) + "."
    yield ""

    def row(name: str, columns: Sequence[str]) -> list[str]:
        change = points(worth(batch, columns)) if columns else ""
        shown = ", ".join(f"`{column}`" for column in columns)
        return [name, shown, *(f"{of[name]:,.0f}" for of in cost.values()), change]

    first = next(iter(cost.values()))
    dearest = sorted(QUANTITIES, key=lambda quantity: -first[quantity.name])
    rows = [row(quantity.name, quantity.columns) for quantity in dearest]
    yield from table(["quantity", "columns", *cost, "worth"], [row(ALL, ()), *rows], words=2)


def main() -> None:
    """Command line: SET... [-o FILE]."""
    parser = argparse.ArgumentParser(description="measure what each quantity of a round costs and is worth")
    parser.add_argument("roots", nargs="+", type=Path, help="sets of labelled transfers, or folders of sets")
    parser.add_argument("-o", "--output", type=Path, help="Markdown file (standard output)")
    options = parser.parse_args()
    sets = find(options.roots)
    if not sets:
        parser.error("no meta.json there: make transfers with `make lab`")
    batch = join(read_all(transfer for own in sets.values() for transfer in own))
    labs = {group: own[0].lab for group, own in sets.items()}
    batch.captures["lab"] = batch.captures["group"].map(labs)
    program = build()
    with tempfile.TemporaryDirectory() as folder:
        cost = {kind: costs(program, kind, Path(folder)) for kind in instructions.COUNTS}
    text = "\n".join(page(batch, cost))
    if options.output:
        options.output.write_text(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
