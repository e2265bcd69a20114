"""
How often bdpcap names the setting behind a receive window, and how often it is wrong: python benchmarks/windows.py

Three sets: real windows of Linux 6.18 (`windows/settings.tsv` of the labelled captures, and tests/data), a ladder of
settings through the forward model, and windows that nobody chose. Options say where the captures are.
"""

from __future__ import annotations

import argparse
import csv
import math
import random
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Final

from markdown import table

from bdpcap.explain.answer import Facts, Observed
from bdpcap.explain.buffers import FIELD_MAX, Knob, Setting, scale_for
from bdpcap.explain.eras import ERAS
from bdpcap.explain.findings import Certainty
from bdpcap.explain.findings.plateau import observed
from bdpcap.explain.findings.predicted import predicted
from bdpcap.explain.findings.setting import certainty
from bdpcap.explain.kernels import version
from bdpcap.explain.solver import Exactness, solve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bdpcap.explain.answer import Solution
    from bdpcap.explain.eras import Era

ROOT: Final = Path(__file__).resolve().parents[1]
KNOBS: Final = {
    "before": Knob.OPTION,
    "after": Knob.AFTER,
    "rmem1": Knob.DEFAULT,
    "rmem2": Knob.GROWN,
    "iperf3": Knob.OPTION,
}
KERNELS: Final = {
    "linux-2.6-3.3": "2.6.32",
    "linux-3.4-6.5": "6.1.100",
    "linux-6.6-6.9": "6.8.5",
    "linux-6.10-6.11": "6.10.1",
    "linux-6.12-on": "6.18.3",
}


@dataclass(frozen=True)
class Known:
    """A window whose setting is known."""

    name: str
    seen: Observed
    knob: Knob
    value: int
    era: str
    facts: Facts
    """Facts of the receiver that are true: its setting and its kernel."""


def real(folder: Path) -> Iterator[Known]:
    """Yield the windows of captures whose settings `settings.tsv` lists; those without a plateau have no `seen`."""
    import bdpcap  # noqa: PLC0415 - the other sets need no core
    from bdpcap.report import ranking  # noqa: PLC0415

    with (folder / "settings.tsv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            capture = bdpcap.analyze(folder / f"{row['name']}.pcap.zst")
            flow = ranking.listed(capture, ranking.ranked(capture).head(1))[0]
            seen, value = observed(flow), int(row["value_bytes"])
            if seen is None:
                print(f"{row['name']}: no plateau")
                seen = Observed(int(flow.summary["window_max_bytes"]), int(flow.summary["mss_bytes"]))
            yield Known(
                row["name"], seen, KNOBS[row["kind"]], value, "linux-6.12-on", _facts(row["kind"], value)
            )


def measured() -> Iterator[Known]:
    """Yield the windows of Linux 6.18 in tests/data: SO_RCVBUF before the handshake."""
    lines = (ROOT / "tests/data/linux618_windows.csv").read_text(encoding="utf-8").splitlines()
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        if (
            row["mtu"] != "1500"
            or row["link"] not in ("veth", "TAP")
            or int(row["window"]) < 2 * int(row["mss"])
        ):
            continue
        value = int(row["so_rcvbuf"])
        seen = Observed(int(row["window"]), int(row["mss"]), int(row["window_scale"]), int(row["syn_window"]))
        yield Known(
            f"{row['link']} {value}", seen, Knob.OPTION, value, "linux-6.12-on", _facts("before", value)
        )


def _facts(kind: str, value: int) -> Facts:
    kernel = version("6.18")
    match kind:
        case "rmem1":
            return Facts(kernel=kernel, rmem=(4096, value, max(value, 6_291_456)))
        case "rmem2":
            return Facts(kernel=kernel, rmem=(4096, min(131_072, value), value))
    return Facts(rcvbuf=value, kernel=kernel)


def ladder(count: int, seed: int = 1) -> Iterator[Known]:
    """Yield windows of settings drawn as hosts have them: knob, value, era, MSS and measured share."""
    draw = random.Random(seed)  # noqa: S311 - settings, no secrets
    linux = [era for era in ERAS if era.linux]
    while count:
        era = draw.choice(linux) if draw.random() < 0.9 else draw.choice(ERAS[5:7])
        knobs = [Knob.OPTION] * 5 + [Knob.AFTER] + [Knob.DEFAULT] + [Knob.GROWN] * 2
        knob = draw.choice(knobs) if era.linux else Knob.OPTION
        known = _one(draw, era, knob)
        if known is not None:
            count -= 1
            yield known


def _one(draw: random.Random, era: Era, knob: Knob) -> Known | None:
    mss = draw.choice((1448, 1448, 1448, 1460, 1428, 1228))
    late = era.shift is None
    rmem1 = 131_072 if late or draw.random() < 0.5 else 87_380
    if knob is Knob.GROWN:
        default = 4_194_304 if era.shift == 2 else 6_291_456
        value = (
            default
            if draw.random() < 0.6
            else draw.choice((1, 2, 3, 4, 8, 12, 16)) * draw.choice((10**6, 2**20))
        )
    elif knob is Knob.DEFAULT:
        value = rmem1
    else:
        value = _chosen(draw)
    share = Fraction(draw.randint(600, 670), 1000) if era.is_measured else None
    autotuned = 10 if era.is_measured and draw.random() < 0.5 else 7
    if knob is Knob.GROWN:
        autotuned = max(autotuned, scale_for(value))
    unscaled = draw.random() < 0.03
    setting = Setting(era, knob, value)
    made = setting.advertises(
        mss,
        None if knob is Knob.OPTION and era.linux else autotuned,
        unscaled=unscaled,
        share=share,
        default=rmem1,
    )
    if not era.linux:
        scale = draw.choice((6, 6, scale_for(made.window)))
        made = setting.advertises(mss, scale, unscaled=unscaled)
    else:
        scale = made.scale if made.scale is not None else autotuned
    scale = 0 if unscaled else scale
    if made.window < 2 * mss or made.window == FIELD_MAX << scale:
        return None
    first = Setting(era, Knob.DEFAULT, rmem1).advertises(mss, scale).syn if made.syn is None else made.syn
    seen = Observed(made.window, mss, scale, first, unscaled=unscaled)
    kernel = version(KERNELS[era.key]) if era.linux else None
    told = Facts(rcvbuf=value, kernel=kernel) if knob in (Knob.OPTION, Knob.AFTER) else Facts(kernel=kernel)
    return Known(f"{era.key} {knob} {value} {mss}", seen, knob, value, era.key, told)


def _chosen(draw: random.Random) -> int:
    """Return a number as people choose them, from 8 kB to 8 MB."""
    size = math.exp(draw.uniform(math.log(8e3), math.log(8e6)))
    kind = draw.random()
    if kind < 0.35:
        return 1 << round(math.log2(size))
    digits = 1 if kind < 0.6 else 2
    if kind < 0.85:
        step = 10 ** (len(str(int(size))) - digits)
        return max(1, round(size / step)) * step
    step = 10 ** max(0, len(str(int(size // 1024))) - 2) * 1024
    return max(1, round(size / step)) * step


def accidents(count: int, seed: int = 2) -> Iterator[Observed]:
    """Yield windows that nobody chose: of any size from 4 kB to 20 MB, with and without a scale, or in whole segments."""
    draw = random.Random(seed)  # noqa: S311 - settings, no secrets
    for number in range(count):
        window = int(math.exp(draw.uniform(math.log(4e3), math.log(2e7))))
        shift = max(0, window.bit_length() - 16)
        if number % 5 == 0 and window <= FIELD_MAX:
            yield Observed(max(2, window // 1448) * 1448, 1448, 0)
            continue
        yield Observed(
            window >> shift << shift, 1448, shift if number % 2 else None, 65_535 if number % 2 else None
        )


def is_right(solution: Solution, known: Known, count: int = 1) -> bool:
    """Return whether one of the first `count` reported answers has the knob, and the value in its span."""
    if solution.field_full:
        return True
    return any(
        one.setting.knob is known.knob and one.low <= known.value <= one.high
        for one in solution.answers[:count]
        if one.telling
    )


def is_contradicted(known: Known) -> bool:
    """Return whether true facts are said not to agree."""
    solution = solve(known.seen, known.facts)
    if known.facts.rcvbuf is None:
        return all(one.against for one in solution.answers)
    return predicted(known.facts, known.seen.mss, solution).exactness is Exactness.NONE


def graded(name: str, windows: list[Known], *, wrong: bool = False) -> list[str]:
    """Return a row of the table."""
    alone = [solve(one.seen) for one in windows]
    with_kernel = [solve(one.seen, Facts(kernel=one.facts.kernel)) for one in windows]
    likely = [
        (solution, one)
        for solution, one in zip(alone, windows, strict=True)
        if certainty(solution) is Certainty.LIKELY
    ]
    lacking = [one for solution, one in likely if not is_right(solution, one, 99)]
    sure = [
        one
        for solution, one in zip(alone, windows, strict=True)
        if not solution.field_full
        and (certainty(solution) is Certainty.CERTAIN or solution.exactness is Exactness.EXACT)
        and not is_right(solution, one, 99)
    ]
    contradicted = [one for one in windows if is_contradicted(one)]
    firsts = [
        sum(is_right(solution, one) for solution, one in zip(solutions, windows, strict=True))
        for solutions in (alone, with_kernel)
    ]
    if wrong:
        for solution, one in zip(alone, windows, strict=True):
            if not is_right(solution, one):
                first = solution.answers[0] if solution.answers else None
                print(
                    "not first:",
                    one.name,
                    one.seen,
                    first and (first.setting.era.key, first.setting.knob, first.low, first.high),
                )
        for label, some in (("lacking", lacking), ("sure", sure), ("contradicted", contradicted)):
            for one in some:
                print(f"{label}:", one.name, one.seen)
    count = len(windows)
    return [
        name,
        f"{count:,}",
        *(f"{first / count:.1%}" for first in firsts),
        f"{len(likely) / count:.1%}",
        f"{len(lacking) / max(1, len(likely)):.1%}",
        f"{len(sure)}",
        f"{len(contradicted)}",
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--captures", type=Path, help="folder with settings.tsv")
    parser.add_argument("--settings", type=int, default=2000, help="settings of the ladder")
    parser.add_argument("--accidents", type=int, default=6000, help="windows that nobody chose")
    parser.add_argument("--wrong", action="store_true", help="list what is wrong")
    given = parser.parse_args()
    sets = [
        ("Linux 6.18, SO_RCVBUF before, 1,500 bytes", list(measured())),
        ("ladder", list(ladder(given.settings))),
    ]
    if given.captures is not None:
        sets.insert(0, ("captures", list(real(given.captures))))
    rows = [graded(name, windows, wrong=given.wrong and name != "ladder2") for name, windows in sets]
    head = [
        "windows",
        "count",
        "first is right",
        "with the kernel",
        "likely",
        "likely without the true one",
        "certain or exact, wrong",
        "true facts contradicted",
    ]
    print("\n".join(table(head, rows)))
    by_accident = [solve(seen) for seen in accidents(given.accidents)]
    sure = sum(
        not one.field_full and (one.exactness is Exactness.EXACT or certainty(one) is Certainty.CERTAIN)
        for one in by_accident
    )
    print(f"\nOf {given.accidents:,} windows that nobody chose, {sure} are explained as exact or certain.")


if __name__ == "__main__":
    main()
