"""Why a window that limits a flow has its size: the arithmetic of the setting behind it, where that is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bdpcap.diagnosis.findings import found
from bdpcap.diagnosis.natures import nature
from bdpcap.explain.buffers import Knob
from bdpcap.explain.findings import Certainty, Code
from bdpcap.explain.findings.plateau import solved, was_limit
from bdpcap.explain.notable import NOTABLE_SHARE
from bdpcap.explain.once import once

if TYPE_CHECKING:
    from bdpcap.capture import Flow
    from bdpcap.explain.answer import Answer

__all__ = ["Why", "why"]

_OTHERS: Final = 2
"""Most other answers that are named; a third one is of no use to a reader."""


@dataclass(frozen=True, slots=True)
class Why:
    """
    The reason for a number.

    Attributes
    ----------
    number
        The number, as the question names it: ``73,552``.
    sentences
        The arithmetic, and other settings that give the same number.
    certainty
        Certainty of the setting.

    Examples
    --------
    >>> flow.why.number, flow.why.certainty.value
    ('73,552', 'likely')
    >>> str(flow.why)[:46]
    'Why 73,552? 2 x 50,000 x 3/4 - 1,448 = 73,552:'
    """

    number: str
    sentences: tuple[str, ...]
    certainty: Certainty

    def __str__(self) -> str:
        return f"Why {self.number}? {' '.join(self.sentences)}"


@once
def why(flow: Flow) -> Why | None:
    """Return the setting behind the window that limits a flow; None if no window is the news, or the setting a guess."""
    # A window that a slow reader closes shows no setting.
    if flow.summary["rwnd_share"] < NOTABLE_SHARE or not was_limit(flow) or nature(flow) is not None:
        return None
    known = {one.code: one for one in found(flow) if one.certainty is not Certainty.POSSIBLE}
    field, setting = known.get(Code.WINDOW_FIELD_FULL), known.get(Code.WINDOW_SETTING)
    if field is not None:
        number = f"{field.values['window_bytes']:,}"
        return Why(number, (f"{field.sentence} {field.cause}",), field.certainty)
    solution = solved(flow)
    if setting is None or solution is None or not solution.best:
        return None
    first, *rest = solution.best
    # Nobody asks for 424,190 bytes: an odd number belongs to a share that is measured.
    others = [one for one in rest if one.chosen or one.fitted][:_OTHERS]
    same = [one for one in others if _is_same(one, first)] if _is_option(first) else []
    others = [one for one in others if one not in same]
    sentences = [f"{_spelt(first, same)}{first.agreement}" if _is_option(first) else setting.sentence]
    if others:
        also = "; or ".join(_other(one, first) for one in others)
        sentences.append(f"Or {also}. The receiver's {_decides([first, *same], others)}.")
    return Why(f"{solution.observed.window:,}", tuple(sentences), setting.certainty)


def _decides(first: list[Answer], others: list[Answer]) -> str:
    """Return what on the receiver shows which of several answers is the right one, and the verb."""
    if {one.stack for one in others} <= {one.stack for one in first}:
        return "settings decide"
    # With another tcp_adv_win_scale, a kernel that has it offers the share of another one.
    has_sysctl = any(one.setting.era.shift is not None for one in (*first, *others))
    return "kernel and its tcp_adv_win_scale decide" if has_sysctl else "kernel decides"


def _is_option(answer: Answer) -> bool:
    """Return whether the setting is an SO_RCVBUF of Linux whose share of window is fixed."""
    return answer.setting.era.linux and answer.setting.knob is Knob.OPTION and not answer.fitted


def _is_same(answer: Answer, first: Answer) -> bool:
    """Return whether an answer is the setting of the first one on other systems, and as much of it is offered."""
    setting, other = answer.setting, first.setting
    same = setting.knob is other.knob and setting.value == other.value
    return _is_option(answer) and same and answer.advertised == first.advertised


def _spelt(answer: Answer, same: list[Answer]) -> str:
    """Return the arithmetic of an SO_RCVBUF of Linux in words, with all systems on which it is the same."""
    made = answer.advertised
    kept = made.offered - made.raw
    systems = "; ".join([answer.stack, *(one.stack.removeprefix("Linux ") for one in same)])
    less = f", less {kept:,}: the one segment that Linux keeps back" if kept > 0 else ""
    return (
        f"{answer.arithmetic}: SO_RCVBUF {answer.setting.value:,}, doubled by Linux, {answer.setting.era.factor} of it "
        f"offered ({made.offered:,}){less} ({systems})."
    )


def _other(answer: Answer, first: Answer) -> str:
    """Return another setting with its value; of other systems than the first answer, or of its setting, the arithmetic.

    On the same system, another setting gives the number in the same way.
    """
    knob, value = answer.setting.knob, f"{answer.setting.value:,}"
    named = knob in (first.setting.knob, Knob.CLAMP)
    name = "" if named else f"{str(knob).partition(',')[0]} = {value}"
    if name and answer.stack == first.stack:
        return name
    return f"{': '.join(filter(None, (name, answer.arithmetic)))} ({answer.stack})"
