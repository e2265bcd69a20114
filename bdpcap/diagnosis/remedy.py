"""What to do about a flow: the place, the advice, its commands, and what to expect from it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bdpcap.diagnosis import gains, operators, places
from bdpcap.diagnosis.decide import cause, remedied
from bdpcap.diagnosis.kinds import ALL
from bdpcap.diagnosis.model import Remedy
from bdpcap.diagnosis.natures import nature
from bdpcap.diagnosis.outlook import NOTHING
from bdpcap.explain import gate, remedies, sendbuf
from bdpcap.explain.findings import Code
from bdpcap.explain.notable import NOTICED_NS, slow_opening_ns
from bdpcap.explain.once import once
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Flow
    from bdpcap.diagnosis.model import Cause

__all__ = ["remedy"]

_SENTENCE_END: Final = re.compile(r"(?<=[.?!]) +(?=[A-Z])")


@once
def remedy(flow: Flow) -> Remedy:
    """Return the first thing to do: the nature's advice, the remedy of the root cause, or the advice for the limit.

    Where nothing is to be mended in the data, it names an opening that a person notices.
    """
    first = _first(flow)
    opening_ns = slow_opening_ns(flow.capture, flow.stream)
    if first.where or not opening_ns:
        return first
    return replace(
        first, words=f"{first.words} Only its opening was slow: it took {units.duration(opening_ns)}."
    )


def _first(flow: Flow) -> Remedy:
    kind = nature(flow)
    if kind is not None:
        return Remedy(*kind.advice(flow))
    if (unseen := _single(flow) or _untimed(flow)) is not None:
        return unseen
    why, own = cause(flow)
    for special in (*ALL[str(flow.summary["limit"])].first, *why.first):
        if (advice := special(flow, why)) is not None:
            return advice
    return operators.first(flow, why, own) or _usual(flow, why)


def _usual(flow: Flow, why: Cause) -> Remedy:
    """Return the remedy of the finding on the cause, or the cause's action where no finding has advice on it."""
    limit, finding = ALL[str(flow.summary["limit"])], remedied(flow)
    if finding is None or finding.code in limit.overrules | why.overrules:
        where = why.where(flow)
        return Remedy(where, why.action, (), why.then(flow) if where else NOTHING)
    words = _SENTENCE_END.split(finding.remedy, maxsplit=1)[0]
    outlook = gains.of_buffer(flow) if limit.is_lifted(flow) else NOTHING
    if outlook and finding.code is Code.WHAT_IT_TAKES:
        need = finding.values["bdp_bytes"]
        words += f" Filling the path takes a window of {units.exact_bytes(need)}{_other_buffer(flow, need)}."
    if also := why.also(flow):
        words += f" {also}"
    return Remedy(why.where(flow), words, _for_place(finding.commands, why), outlook or why.then(flow))


def _single(flow: Flow) -> Remedy | None:
    """Return a sentence on a single packet, which waits for nothing that a capture shows; None for any other flow."""
    if flow.summary["packets"] > 1:
        return None
    return Remedy(
        "",
        "Nothing to mend is known: a single packet shows no wait. Capture both directions, from the start.",
    )


def _untimed(flow: Flow) -> Remedy | None:
    """Return the advice on a flow without time between its packets, or without any in which it sent; else None."""
    if flow.summary["active_ns"] > 0:
        return None
    if flow.summary["end_ns"] > flow.summary["start_ns"] and flow.capture.info.tick_ns < NOTICED_NS:
        return Remedy(
            "", "Nothing to mend is known: its data took less time than the clock of the capture shows."
        )
    if gate.is_untimed(flow.capture.info):
        words = "Capture there with tcpdump or dumpcap: what wrote this file gave most packets no valid time."
        return Remedy(places.either(flow), words)
    return Remedy(
        places.either(flow),
        "Capture there with a separate time stamp for each packet, in microseconds. Without times, no rate, no round "
        "trip and no limit is known.",
    )


def _other_buffer(flow: Flow, need_bytes: int) -> str:
    """Return words on the send buffer of Linux, which limits next; empty if its default maximum suffices."""
    memory = 2 * sendbuf.least_setting(need_bytes)
    if memory <= remedies.WMEM_DEFAULT or not remedies.of(flow, "sender").linux("sysctl"):
        return ""
    return f", and {memory:,} as the sender's tcp_wmem[2]"


def _for_place(commands: tuple[str, ...], why: Cause) -> tuple[str, ...]:
    """Return the commands for the place of the advice: none of the other end's, if the place is one end."""
    other = (
        "# receiver" if why.where is places.sender else "# sender" if why.where is places.receiver else None
    )
    return tuple(command for command in commands if other is None or other not in command)
