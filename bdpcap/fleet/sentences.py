"""The sentences of a summary, the same in text and page: totals, verdict, advice, omissions, and changes at a date."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from bdpcap.diagnosis import LIMIT_NAMES
from bdpcap.fleet.questions import DISTRIBUTED
from bdpcap.report.ranking import LEAST_SHARE, LOSING
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.fleet.questions import Answers

__all__ = ["advice", "cell", "changes", "head", "medians", "omitted", "reason", "totals"]

MEDIAN: Final = 50
"""Place of the median among the percentiles 0 to 100."""


def totals(answers: Answers) -> str:
    """Return the number of captures and flows, their bytes, and the time of the first and the last frame."""
    of = answers.totals
    failed = f" ({units.count(of['failed'])} could not be read)" if of["failed"] else ""
    parts = [f"{units.number(of['captures'], 'capture')}{failed}"]
    if of["flows"]:
        carried = units.data_size(of["payload_bytes"])
        parts.append(f"{units.number(of['flows'], 'flow')} that carried {carried}")
    if pd.notna(of["first_ns"]):
        first, last = (units.instant(of[name], "seconds") for name in ("first_ns", "last_ns"))
        parts.append(f"from {first} to {last}")
    return f"{', '.join(parts)}."


def head(answers: Answers) -> str:
    """Return the verdict on all flows in a few words: the share of time lost, and to which limits."""
    of = answers.totals
    if not of["flows"]:
        return _without_flows(of)
    if not of["active_ns"]:
        return f"No bulk transfer: {units.number(of['flows'], 'flow')} carried {units.data_size(of['payload_bytes'])}"
    shares = dict(zip(answers.limits["limit"], answers.limits["share"], strict=True))
    part = of["lost_ns"] / of["active_ns"]
    named = [limit for limit in shares if limit in LOSING] if part >= LEAST_SHARE else list(shares)
    each = ", ".join(
        f"{LIMIT_NAMES[limit]} {units.spoken_share(shares[limit])}"
        for limit in named
        if shares[limit] >= LEAST_SHARE
    )
    active = f"the active time of {units.duration(of['active_ns'])}"
    lost = f"{units.spoken_share(part)} of {active} was lost" if part else f"Nothing of {active} was lost"
    return f"{lost}: {each}"


def _without_flows(of: dict[str, Any]) -> str:
    """Return the verdict on captures without a flow that carried payload: how many hold something else."""
    done = of["captures"] - of["failed"]
    if not done:
        return "No capture could be read"
    held = {
        "connections without payload": of["with_tcp"],
        "only UDP": of["only_udp"],
        "neither TCP nor UDP": of["neither"],
        # An older status does not say whether there was UDP.
        "no TCP": done - of["with_tcp"] - of["only_udp"] - of["neither"],
    }
    each = ", ".join(f"{what} in {units.number(count, 'capture')}" for what, count in held.items() if count)
    return f"No TCP flow carried payload: {each}"


def reason(answers: Answers) -> str:
    """Return a sentence on the path that lost most time; empty if none was lost."""
    if answers.paths.empty:
        return ""
    most = answers.paths.iloc[0]
    lost = f"{units.duration(most['lost_ns'])} of {units.duration(answers.totals['lost_ns'])}"
    return f"The largest part, {lost}, was lost to {LIMIT_NAMES[most['limit']]} on {most['path']}."


def advice(answers: Answers) -> str:
    """Return sentences on the cause that cost most, with the remedy of the flow that lost most; empty without any."""
    if answers.causes.empty:
        return ""
    most = answers.causes.iloc[0]
    flows = f"{units.number(most['flows'], 'flow')} of {units.number(most['captures'], 'capture')}"
    return (
        f"The cause {most['code']} cost {units.duration(most['lost_ns'])} in {flows}. "
        f"It cost most in stream {most['stream']} of {most['capture']}. {most['sentence']} {most['remedy']}"
    )


def omitted(answers: Answers) -> str:
    """Return a sentence on the control flows, which shares and figures leave out; empty if there are none."""
    of = answers.totals
    if not of["control_flows"]:
        return ""
    lost = f", and lost {units.duration(of['control_lost_ns'])}" if of["control_lost_ns"] >= 1 else ""
    return (
        f"Shares and figures leave out {units.number(of['control_flows'], 'control flow')} "
        f"of less than ten full segments: they carried {units.data_size(of['control_bytes'])}{lost}."
    )


def medians(answers: Answers) -> list[tuple[str, str, str, str]]:
    """Return the name of each quantity, its medians before and after the date, and their ratio in words."""
    before, after = (answers.quantiles[period] for period in ("before", "after"))
    rows = []
    for name, called in DISTRIBUTED.items():
        if name in before.index and name in after.index:
            one, other = (period["percentiles"][name][MEDIAN] for period in (before, after))
            rows.append((called, cell(name, one), cell(name, other), _ratio(one, other)))
    return rows


def _ratio(before: float, after: float) -> str:
    return f"x {after / before:.3g}" if before > 0 else units.MISSING


def changes(answers: Answers) -> str:
    """Return a sentence on the flows before and after the date; it names a period that has none."""
    if answers.since is None:
        return ""
    counted = {
        period: int(found["flows"].max()) if len(found) else 0 for period, found in answers.quantiles.items()
    }
    empty = [period for period, flows in counted.items() if not flows]
    if empty:
        return f"No bulk flow begins {' or '.join(empty)} this date: there is nothing to compare."
    lost = {
        period: own.loc[own["limit"].isin(LOSING), "share"].sum()
        for period, own in answers.since.limits.groupby("period")
    }
    rates = [answers.quantiles[period]["percentiles"]["active_throughput_bps"][MEDIAN] for period in counted]
    return (
        f"{units.number(counted['before'], 'flow')} before, {units.count(counted['after'])} after: "
        f"median throughput {units.rate(rates[0])}, then {units.rate(rates[1])}; "
        f"{units.spoken_share(lost['before'])} of the time lost, then {units.spoken_share(lost['after'])}."
    )


def cell(name: str, value: Any) -> str:
    """Return a value with its unit, which the ending of the quantity's name determines; a share by default."""
    for end, show in (("_bps", units.rate), ("_ns", units.duration), ("_bytes", units.data_size)):
        if name.endswith(end):
            return show(value)
    return units.MISSING if pd.isna(value) else units.percent(value)
