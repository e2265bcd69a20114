"""Finding on the window that a known SO_RCVBUF leads to, and on whether the observed window agrees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdpcap.explain.buffers import FULL_PACKETS, RMEM_MAX, Advertised, Knob, Setting
from bdpcap.explain.findings.finding import Certainty, Code, Finding
from bdpcap.explain.kernels import Kernel, eras_of
from bdpcap.explain.solver import Exactness

if TYPE_CHECKING:
    from bdpcap.explain.solver import Facts, Observed, Solution

__all__ = ["clues", "predicted", "unknown"]


def predicted(
    facts: Facts, mss: int, solution: Solution | None = None, where: tuple[int, int] | None = None
) -> Finding:
    """
    Return a finding on the window that a known SO_RCVBUF leads to, and on whether the observed window agrees.

    Parameters
    ----------
    facts
        Facts with a known `Facts.rcvbuf`.
    mss
        Payload bytes of a full segment: the MSS less TCP options.
    solution
        Solution for the observed window; None where the window had no plateau.
    where
        First and last frame of the plateau.
    """
    value = facts.buffers[0]
    eras = [era for era, usual in eras_of(facts.kernel, facts.adv_win_scale) if usual]
    scale = None if solution is None else solution.observed.scale
    made = [
        [(one := Setting(era, Knob.OPTION, buffer), one.advertises(mss, scale)) for era in eras]
        for buffer in facts.buffers
    ]
    cut = ""
    if len(made) > 1:
        by_limit = "; ".join(_prediction(one, window) for one, window in made[1] if one.era.linux)
        cut = f" Where net.core.rmem_max has its default, {RMEM_MAX:,}, Linux cuts it: {by_limit}."
    said = "; ".join(_prediction(one, window) for one, window in made[0])
    verdict, exactness, certainty = _verdict(solution, value)
    refuse = " FreeBSD and macOS refuse a buffer above kern.ipc.maxsockbuf (ENOBUFS) instead of cutting it."
    others = refuse if any(era.key == "freebsd" for era in eras) else ""
    return Finding(
        code=Code.WINDOW_PREDICTED,
        sentence=f"SO_RCVBUF of {value:,} leads to a window of {said}.{cut}{verdict}",
        cause=" ".join(
            [
                f"The window follows from the buffer by the kernel's arithmetic.{others}",
                *unknown(facts.kernel),
            ]
        ),
        remedy=""
        if exactness is not Exactness.NONE or solution is None
        else "Look at the receiver: ss -tmi shows rb.",
        evidence=f"MSS {mss:,}" if solution is None else clues(solution.observed),
        frames=where,
        values={
            "window_bytes": None if solution is None else solution.observed.window,
            "predicted_bytes": {one.era.key: window.window for one, window in made[0]},
            "cut_bytes": {one.era.key: window.window for one, window in made[-1] if one.era.linux}
            if cut
            else None,
        },
        exactness=exactness,
        certainty=certainty,
        source=eras[0].source,
    )


def _prediction(one: Setting, made: Advertised) -> str:
    if one.era.is_measured:
        least, most = (int(made.buffer * share) for share in FULL_PACKETS)
        return f"{least:,} to {most:,} with full packets ({one.era.name})"
    return f"{made.window:,} ({one.era.name})"


def _verdict(solution: Solution | None, value: int) -> tuple[str, Exactness, Certainty]:
    """Return whether the observed window agrees with a known buffer: sentence, exactness and certainty."""
    if solution is None:
        return "", Exactness.CONSISTENT, Certainty.LIKELY
    seen = solution.observed
    agree = next((one for one in solution.answers if one.given and not one.against), None)
    if agree is None:
        return (
            f" The {seen.window:,} seen do not agree: another setting, or another kernel, is in force.",
            Exactness.NONE,
            Certainty.LIKELY,
        )
    sure = Certainty.CERTAIN if agree.exactness is Exactness.EXACT else Certainty.LIKELY
    if agree.setting.value != value:
        verdict = f" The {seen.window:,} seen are that limit: {agree.arithmetic}."
    elif agree.fitted:
        share = seen.window / (2 * value)
        verdict = f" The {seen.window:,} seen are {share:.3f} of the doubled buffer: possible."
        sure = Certainty.POSSIBLE
    elif agree.needs:
        verdict = f" The {seen.window:,} seen take {agree.needs}: {agree.arithmetic}."
    else:
        verdict = f" The {seen.window:,} seen agree: {agree.arithmetic}."
    return verdict, agree.exactness, sure


def clues(seen: Observed) -> str:
    """Return the evidence of the capture other than the window, as text."""
    shown = [f"MSS {seen.mss:,}"]
    if seen.scale is not None:
        shown.append(f"window scale {seen.scale}")
    if seen.syn is not None:
        shown.append(f"window of the SYN-ACK {seen.syn:,}")
    if seen.doubt:
        shown.append(seen.doubt)
    return ", ".join(shown)


def unknown(kernel: Kernel | None) -> list[str]:
    """Return a sentence on why a kernel's version leaves its arithmetic open; an empty list if it does not."""
    doubt = "" if kernel is None else Kernel(*kernel).doubt
    return [doubt] if doubt else []
