"""Parts of a diagnosis: a limit with its causes, the nature of a flow, and the remedy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bdpcap.diagnosis.outlook import NOTHING, Outlook
from bdpcap.explain.findings import Code

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd

    from bdpcap.capture import Flow
    from bdpcap.explain.findings import Finding
    from bdpcap.explain.solver import Facts

__all__ = ["GENERAL", "Cause", "Limit", "Nature", "Remedy", "Shown", "exchange", "longest", "spanning"]


GENERAL: Final = frozenset({Code.SENDER_IDLE, Code.APPLICATION_WINDOW})
"""Findings with advice in general words, or for one cause alone."""


class Shown(NamedTuple):
    """Frames that show a verdict, and their times in ns since the epoch."""

    first_frame: int
    last_frame: int
    first_ns: int
    last_ns: int


def exchange(flow: Flow, lasting_ns: pd.Series[int]) -> Shown | None:
    """Return the frames of the exchange that lasts longest by these times; None without a time."""
    if lasting_ns.isna().all():
        return None
    one = flow.exchanges[flow.exchanges.index == lasting_ns.idxmax()].iloc[0]
    return Shown(
        int(one["first_frame"]),
        int(one["last_frame"]),
        int(one["request_start_ns"]),
        int(one["response_end_ns"]),
    )


def spanning(flow: Flow, own: pd.DataFrame) -> Shown | None:
    """Return the frames from the first of these rounds to the last; None without rounds."""
    if own.empty:
        return None
    rows = np.flatnonzero(flow.rtts.index.isin(own.index))
    # Data that were acknowledged, and not in flight, were sent in the round before: their acknowledgments arrived late.
    if not own["in_flight_max_bytes"].fillna(0).any():
        rows = np.union1d(rows, max(0, rows[0] - 1))
    own, frames = flow.rtts.iloc[rows], flow._hidden.iloc[rows]
    return Shown(
        int(frames["first_frame"].min()),
        int(frames["last_frame"].max()),
        int(own["start_ns"].min()),
        int(own["end_ns"].max()),
    )


@dataclass(frozen=True, slots=True)
class Remedy:
    """
    Advice on a flow.

    Attributes
    ----------
    where
        The end or other place to act; empty if nothing is to be mended.
    words
        The advice in sentences.
    commands
        Commands that carry it out; may be empty.
    outlook
        The rate before and after, and the next limit; in words where the capture does not show the rate. Empty if
        nothing is to be mended, or nothing can be said.

    Examples
    --------
    >>> flow.remedy.words.partition(" (")[0]
    'Let the receiving program set no SO_RCVBUF'
    >>> flow.remedy.commands[0].partition("  ")[0]
    'sysctl net.ipv4.tcp_moderate_rcvbuf net.ipv4.tcp_rmem'
    """

    where: str
    words: str
    commands: tuple[str, ...] = ()
    outlook: Outlook = NOTHING

    def __str__(self) -> str:
        return f"On {self.where}: {self.words}" if self.where else self.words

    @property
    def expected(self) -> str:
        """
        The outlook in words.

        Examples
        --------
        >>> flow.remedy.expected
        '12.4 → about 24.3 Mbit/s, then the link'
        >>> flow.remedy.outlook.rate.follows
        'link'
        """
        return str(self.outlook)


def _nowhere(_: Flow) -> Shown | None:
    return None


def _no_words(_: Flow) -> str:
    return ""


def _never(_: Flow) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause of a limit, in words."""

    headline: str
    """First words of the verdict; the share of time follows."""
    reason: Callable[[Flow, pd.DataFrame], str]
    """Returns the reason, from a flow and its rounds under the limit; empty if the numbers are missing."""
    where: Callable[[Flow], str]
    """Returns the place to look at: one end by address, both ends, or the path."""
    action: str
    """Advice for that place, used if no finding is the root cause."""
    then: Callable[[Flow], Outlook]
    """Returns the outlook of the action."""
    shown: Callable[[Flow], Shown | None] = _nowhere
    """Returns the frames that show it best; None if the longest run of rounds does."""
    commands: tuple[str, ...] = ()
    """Commands on a Linux sender that carry out the action."""
    noun: str = ""
    """The detail as a noun in a sentence; empty if its name is one."""
    first: tuple[Callable[[Flow, Cause], Remedy | None], ...] = ()
    """Advice that comes before the usual one, each None where it does not apply."""
    overrules: frozenset[Code] = GENERAL
    """Findings with advice on another cause, or in general words only: the action comes before theirs."""
    also: Callable[[Flow], str] = _no_words
    """Returns a sentence to add to the advice of a finding; empty if there is none."""
    asked: str = ""
    """Question for the operator of a sender that is not the reader's; empty if there is none."""
    owed: bool = False
    """Whether the sender owed an answer, or had news later."""
    passes: bool = False
    """Whether time lifts it."""


def longest(rounds: pd.DataFrame, column: str) -> str | None:
    """Return the value of a column that holds for the longest time, None if all values are missing."""
    lasting = (rounds["end_ns"] - rounds["start_ns"]).groupby(rounds[column]).sum()
    return None if lasting.empty else str(lasting.idxmax())


def _no_findings(_flow: Flow, _facts: Facts | None) -> list[Finding]:
    return []


def _longest_detail(_: Flow, rounds: pd.DataFrame) -> str | None:
    return longest(rounds, "detail")


@dataclass(frozen=True, slots=True)
class Limit:
    """
    One state of a sender: a limit, or idle.

    Attributes
    ----------
    code
        Value in the tables, such as ``rwnd``.
    name
        Name for people.
    colour
        Colour in figures, one of `bdpcap.words.palette`.
    meaning
        The limit in one sentence.
    usual
        Cause of rounds without a detail; None for a state that is no limit.
    causes
        Cause by detail: one for every detail that the rules of the limit declare.
    by_rule
        Cause by the rule that decided for the longest time; it comes before the detail's.
    detail
        Chooses the detail that the verdict names, from a flow and its rounds under the limit.
    findings
        Returns the findings on the limit, from a flow that it held and facts from outside the capture.
    first
        Advice that comes before that of the causes, each None where it does not apply.
    overrules
        Findings that have no advice for any cause of the limit.
    is_lifted
        Returns whether the advice of a finding lifts the limit of a flow.
    """

    code: str
    name: str
    colour: str
    meaning: str
    usual: Cause | None = None
    causes: Mapping[str, Cause] = field(default_factory=dict)
    by_rule: Mapping[str, Cause] = field(default_factory=dict)
    detail: Callable[[Flow, pd.DataFrame], str | None] = _longest_detail
    findings: Callable[[Flow, Facts | None], list[Finding]] = _no_findings
    first: tuple[Callable[[Flow, Cause], Remedy | None], ...] = ()
    overrules: frozenset[Code] = frozenset()
    is_lifted: Callable[[Flow], bool] = _never

    def cause(self, flow: Flow, rounds: pd.DataFrame) -> Cause:
        """Return the cause of a flow's rounds under this limit."""
        named = self.causes.get(str(self.detail(flow, rounds)), self.usual)
        found = self.by_rule.get(str(longest(rounds, "rule")), named) if self.by_rule else named
        if found is None:
            raise ValueError(f"{self.code} is no limit")
        return found


@dataclass(frozen=True, slots=True)
class Nature:
    """What a flow is that no single limit explains, and who is to act on it."""

    title: str
    """First words of the verdict."""
    holds: Callable[[Flow], bool]
    """Returns whether a flow is of this nature; the flow has active time."""
    sentence: Callable[[Flow], str]
    """Returns the verdict; an outage reads the flow's events."""
    advice: Callable[[Flow], tuple[str, str]]
    """Returns the place to act, empty if nothing is to be mended, and the advice."""
    shown: Callable[[Flow], Shown | None] = _nowhere
    """Returns the frames that show it best; None if those of the main limit do."""
