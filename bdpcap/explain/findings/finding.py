"""A finding, its code and its certainty."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bdpcap.explain.solver import Exactness

if TYPE_CHECKING:
    from bdpcap.capture import Flow
    from bdpcap.limits.rounds import Bools

__all__ = ["Certainty", "Code", "Finding", "Findings", "Weight", "frames"]


class Weight(StrEnum):
    """Weights of findings, in falling order."""

    ROOT_CAUSE = "root cause"
    CONTRIBUTING = "contributing"
    NOTE = "note"


class Code(StrEnum):
    """
    Stable identifier of a finding, for programs, with the heaviest weight that the finding may have.

    One that only explains a flow, or adds to its limit, contributes at most. One about the capture is a note: its remedy
    is a better capture. docs/explanations.md lists when each finding fires.

    Attributes
    ----------
    heaviest
        Heaviest weight of the finding.
    in_detail
        Code of the finding that has the remedy in detail, if the flow has that finding; else empty.

    Examples
    --------
    >>> from bdpcap.explain.findings import Code
    >>> Code.PROXY.value, Code.PROXY.heaviest.value
    ('proxy', 'note')
    """

    heaviest: Weight
    in_detail: str

    def __new__(cls, value: str, heaviest: Weight = Weight.ROOT_CAUSE, in_detail: str = "") -> Self:
        """Return the code with its declaration."""
        code = str.__new__(cls, value)
        code._value_ = value
        code.heaviest = heaviest
        code.in_detail = in_detail
        return code

    WINDOW_BELOW_BDP = "window-below-bdp", Weight.ROOT_CAUSE, "what-it-takes"
    WINDOW_SETTING = "window-setting"
    WINDOW_FIELD_FULL = "window-field-full"
    SEGMENT_KEPT_BACK = "segment-kept-back"
    BUFFER_DOUBLED = "buffer-doubled"
    WINDOW_PREDICTED = "window-predicted"
    WINDOW_RAMP = "window-ramp", Weight.CONTRIBUTING
    SLOW_READER = "slow-reader"
    SEND_BUFFER = "send-buffer"
    SEND_BUFFER_SHARE = "send-buffer-share", Weight.CONTRIBUTING
    SEND_BUFFER_PREDICTED = "send-buffer-predicted"
    LINK_FULL = "link-full"
    CONGESTION_WINDOW = "congestion-window"
    SENDER_IDLE = "sender-idle"
    REQUEST_RESPONSE = "request-response"
    APPLICATION_WINDOW = "application-window"
    WHAT_IT_TAKES = "what-it-takes", Weight.CONTRIBUTING
    QUEUE_STANDING = "queue-standing", Weight.CONTRIBUTING
    PATH_CHANGED = "path-changed"
    UDP_BESIDE = "udp-beside", Weight.CONTRIBUTING
    TIMEOUTS = "timeouts"
    SPURIOUS_RETRANSMISSIONS = "spurious-retransmissions"
    WINDOW_UNSCALED = "window-unscaled", Weight.CONTRIBUTING
    WINDOW_SCALE_UNKNOWN = "window-scale-unknown", Weight.NOTE
    WINDOW_SCALE_REWRITTEN = "window-scale-rewritten"
    SYN_CHANGED = "syn-changed"
    SEGMENT_SIZE = "segment-size", Weight.CONTRIBUTING
    PATH_MTU = "path-mtu", Weight.CONTRIBUTING
    OFFLOAD = "offload", Weight.NOTE
    DELAY_BEFORE_TAP = "delay-before-tap", Weight.NOTE
    PROXY = "proxy", Weight.NOTE
    CAPTURE_INCOMPLETE = "capture-incomplete"
    LEFT_OUT = "left-out", Weight.CONTRIBUTING


class Certainty(StrEnum):
    """Certainty of a finding's diagnosis, for people."""

    CERTAIN = "certain"
    """The diagnosis holds by definition, or nothing else explains the observation."""
    LIKELY = "likely"
    """The diagnosis explains the observation; another one may, too."""
    POSSIBLE = "possible"
    """Nothing contradicts the diagnosis."""


@dataclass(frozen=True, slots=True, repr=False)
class Finding:
    """
    One noteworthy fact about a flow, with its cause and remedy.

    Attributes
    ----------
    code
        Stable identifier, for programs.
    sentence
        The finding with its numbers, as a sentence.
    cause
        Cause of the finding, as sentences.
    remedy
        Advice on changes; empty where nothing is wrong.
    commands
        Commands that carry out the remedy.
    evidence
        Place in the capture that shows the finding, as text.
    frames
        First and last frame of that place; None where there is no single place.
    values
        Numbers of the sentence by name, for programs; the names end in the unit.
    exactness
        How well the numbers agree with the cause.
    certainty
        Certainty of the diagnosis, independent of its arithmetic.
    source
        RFC section, kernel function or measurement.

    Examples
    --------
    >>> finding = flow.findings[0]
    >>> str(finding.code), str(finding.certainty)
    ('window-below-bdp', 'certain')
    """

    code: Code
    sentence: str
    cause: str
    remedy: str = ""
    commands: tuple[str, ...] = ()
    evidence: str = ""
    frames: tuple[int, int] | None = None
    values: dict[str, Any] = field(default_factory=dict)
    exactness: Exactness = Exactness.CONSISTENT
    certainty: Certainty = Certainty.LIKELY
    source: str = ""

    def is_sound(self) -> bool:
        """Return whether every number among the values is finite and not negative; no other finding is shown.

        Examples
        --------
        >>> all(finding.is_sound() for finding in flow.findings)
        True
        """
        numbers = (value for value in self.values.values() if isinstance(value, (int, float)))
        return all(0 <= number < math.inf for number in numbers)

    def __repr__(self) -> str:
        return f"<Finding {self.code}, {self.certainty}: {self.sentence}>"

    def _repr_html_(self) -> str:
        told = "".join(
            f"<dt>{name}</dt><dd>{html.escape(said)}</dd>"
            for name, said in (("Cause", self.cause), ("Remedy", self.remedy), ("Evidence", self.evidence))
            if said
        )
        lines = html.escape("\n".join(self.commands))
        commands = f"<pre>{lines}</pre>" if lines else ""
        return (
            f"<details><summary>{html.escape(self.sentence)} <small>{self.certainty}</small></summary>"
            f"<dl>{told}</dl>{commands}</details>"
        )


class Findings(list[Finding]):
    """Findings of one flow, most important first.

    Examples
    --------
    >>> flow.findings.of("window-below-bdp").values["window_bytes"]
    73552
    """

    def of(self, code: str | None) -> Finding | None:
        """Return the first finding with the code, None if there is none.

        Examples
        --------
        >>> flow.findings.of("window-setting").certainty.value
        'likely'
        >>> flow.findings.of("slow-reader") is None
        True
        """
        return next((finding for finding in self if finding.code == code), None)

    def _repr_html_(self) -> str:
        return "".join(finding._repr_html_() for finding in self) or "<p>No finding.</p>"


def frames(flow: Flow, rounds: Bools) -> tuple[int, int] | None:
    """Return the first and the last frame of the longest run of true `rounds`; None if no round is true."""
    at = np.flatnonzero(rounds)
    if not at.size:
        return None
    run = max(np.split(at, np.flatnonzero(np.diff(at) > 1) + 1), key=len)
    known = flow._hidden
    return int(known["first_frame"].iloc[run[0]]), int(known["last_frame"].iloc[run[-1]])
