"""Finding on the window that a known SO_RCVBUF leads to, and on whether the observed window agrees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdpcap.explain.buffers import FULL, RMEM_MAX, Advertised, Knob, Setting
from bdpcap.explain.eras import FULL_PACKETS, MSS_UNMEASURED
from bdpcap.explain.findings.finding import Certainty, Code, Finding
from bdpcap.explain.kernels import Kernel, eras_of
from bdpcap.explain.solver import Exactness

if TYPE_CHECKING:
    from fractions import Fraction

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
    value = facts.rcvbuf or 0
    seen = None if solution is None else solution.observed
    eras = [era for era, usual in eras_of(facts.kernel, facts.adv_win_scale) if usual]
    made = [
        [(one := Setting(era, Knob.OPTION, buffer), _advertised(one, mss, seen)) for era in eras]
        for buffer in facts.buffers
    ]
    cut = ""
    if len(made) > 1:
        by_limit = "; ".join(_prediction(one, mss, seen) for one, _ in made[1] if one.era.linux)
        cut = f" Where net.core.rmem_max has its default, {RMEM_MAX:,}, Linux cuts it: {by_limit}."
    elif facts.buffers[0] < value:
        cut = f" Linux cuts it to net.core.rmem_max, {facts.buffers[0]:,}."
    said = "; ".join(_prediction(one, mss, seen) for one, _ in made[0])
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
        evidence=f"MSS {mss:,}" if seen is None else clues(seen),
        frames=where,
        values={
            "window_bytes": None if seen is None else seen.window,
            "predicted_bytes": {one.era.key: window.window for one, window in made[0]},
            "cut_bytes": {one.era.key: window.window for one, window in made[-1] if one.era.linux}
            if len(made) > 1
            else None,
        },
        exactness=exactness,
        certainty=certainty,
        source=eras[0].source,
    )


def _advertised(one: Setting, mss: int, seen: Observed | None, share: Fraction | None = None) -> Advertised:
    """Return the window of a setting, over a connection like the observed one."""
    if seen is None:
        return one.advertises(mss, share=share)
    return one.advertises(mss, seen.scale, unscaled=seen.unscaled, share=share)


def _prediction(one: Setting, mss: int, seen: Observed | None) -> str:
    if one.era.is_measured and mss > MSS_UNMEASURED:
        least, most = (_advertised(one, mss, seen, share).window for share in FULL_PACKETS)
        window = f"{least:,} to {most:,}" if least < most else f"{least:,}"
        return f"{window} with full packets ({one.era.name})"
    return f"{_advertised(one, mss, seen).window:,} ({one.era.name})"


def _verdict(solution: Solution | None, value: int) -> tuple[str, Exactness, Certainty]:
    """Return whether the observed window agrees with a known buffer: sentence, exactness and certainty."""
    if solution is None:
        return "", Exactness.CONSISTENT, Certainty.LIKELY
    seen = solution.observed
    agree = next((one for one in solution.answers if not one.against), None)
    if agree is None or not solution.agrees:
        return (
            f" The {seen.window:,} seen do not agree: another setting, or another kernel, is in force.",
            Exactness.NONE,
            Certainty.LIKELY,
        )
    sure = Certainty.CERTAIN if agree.exactness is Exactness.EXACT else Certainty.LIKELY
    if solution.field_full:
        verdict = f" The {seen.window:,} seen are all that the window field holds, so they agree."
    elif agree.setting.knob is Knob.AFTER:
        verdict = f" The {seen.window:,} seen agree if it was set after the handshake: {agree.arithmetic}."
        sure = Certainty.POSSIBLE
    elif agree.setting.stop < FULL:
        verdict = f" The {seen.window:,} seen agree: {agree.arithmetic}."
    elif agree.setting.value != value:
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
