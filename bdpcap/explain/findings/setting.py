"""Findings on the setting behind a steady window: the buffer, the segment kept back, the doubling."""

from __future__ import annotations

from typing import Final

from bdpcap.explain.answer import ENDLESS
from bdpcap.explain.buffers import FIELD_MAX, FULL, Knob
from bdpcap.explain.findings.by_knob import CAUSES, COMMANDS, RAISING, STOPPED
from bdpcap.explain.findings.finding import Certainty, Code, Finding
from bdpcap.explain.findings.predicted import clues, predicted, unknown
from bdpcap.explain.solver import Answer, Exactness, Observed, Solution
from bdpcap.words import units

__all__ = ["certainty", "likely_option", "setting"]

_READ: Final = "sysctl net.ipv4.tcp_adv_win_scale   # receiver"


def setting(solution: Solution, where: tuple[int, int] | None = None) -> list[Finding]:
    """Return the findings on a solution: the setting, the segment kept back, the doubling, the full field."""
    seen, best = solution.observed, solution.best
    told = [] if solution.facts.rcvbuf is None else [predicted(solution.facts, seen.mss, solution, where)]
    told += [_field_full(seen, where)] if solution.field_full else []
    if solution.field_full:
        return [*told, *([_also(best[0], seen, where)] if best else [])]
    if not best:
        return [*told, _unexplained(solution, where)]
    first = best[0]
    told.append(_explained(solution, where))
    kept = first.advertised.offered - first.advertised.raw
    whole = first.setting.knob in (Knob.OPTION, Knob.DEFAULT) and first.setting.stop == FULL
    if kept == seen.mss and whole and first.setting.era.linux and not first.fitted:
        told.append(
            Finding(
                code=Code.SEGMENT_KEPT_BACK,
                sentence=f"Why {first.advertised.raw:,} and not {first.advertised.offered:,}: the difference, {kept:,} "
                "bytes, is one segment, which Linux keeps back.",
                cause="When the connection is established the kernel lowers its largest window by one MSS. No segment "
                "need be waiting unread in the buffer, as is often supposed: the window is the same when all was read.",
                evidence=first.arithmetic,
                frames=where,
                values={"kept_back_bytes": kept, "offered_bytes": first.advertised.offered},
                exactness=first.exactness,
                certainty=certainty(solution),
                source="tcp_init_buffer_space(): window_clamp = max(2 * advmss, maxwin - advmss)",
            )
        )
    if first.setting.era.linux and first.setting.knob is Knob.OPTION and not first.fitted:
        value = first.setting.value
        told.append(
            Finding(
                code=Code.BUFFER_DOUBLED,
                sentence=f"SO_RCVBUF of {value:,} bytes makes a buffer of {first.advertised.buffer:,} bytes.",
                cause="The kernel doubles the value, since it counts memory against it: each packet's buffer with its "
                f"bookkeeping, not payload alone. Of it {first.setting.era.factor} may become window.",
                evidence=first.arithmetic,
                values={"so_rcvbuf_bytes": value, "sk_rcvbuf_bytes": first.advertised.buffer},
                exactness=first.exactness,
                certainty=certainty(solution),
                source="sock_setsockopt(): sk_rcvbuf = max(2 * val, SOCK_MIN_RCVBUF); socket(7)",
            )
        )
    return told


_OTHERS: Final = 3
"""Largest number of other settings that a sentence names."""
_PROBABLE: Final = 0.9
"""Probability of an SO_RCVBUF from which on it is taken for the one that was set; a choice."""
_SURE: Final = 0.998
"""Probability of a single setting from which on it is certain; a choice."""
_LIKELY: Final = 0.97
"""Probability that the credible settings have together, from which on they are likely; a choice."""
_FEW: Final = 5
"""Most credible settings of which one is likely; a choice."""


def certainty(solution: Solution) -> Certainty:
    """Return the certainty of the setting. Exact arithmetic leaves doubt if another setting explains as much."""
    best = solution.best
    if not best or solution.observed.doubt:
        return Certainty.POSSIBLE
    first = best[0]
    sure = first.given or solution.covered >= _SURE
    if len(best) == 1 and first.exactness is Exactness.EXACT and not first.needs and sure:
        return Certainty.CERTAIN
    if first.given and first.exactness in (Exactness.EXACT, Exactness.ROUNDED):
        return Certainty.LIKELY
    rare = first.setting.stop < FULL and not first.given
    return (
        Certainty.LIKELY
        if solution.covered >= _LIKELY and len(best) <= _FEW and not rare
        else Certainty.POSSIBLE
    )


def likely_option(solution: Solution) -> int | None:
    """Return the SO_RCVBUF that explains a window with a probability of 90 % or more, in bytes; None if none does."""
    best = solution.best
    if not best or solution.field_full or solution.observed.doubt or best[0].setting.knob is not Knob.OPTION:
        return None
    same = sum(one.likelihood for one in best if one.setting.value == best[0].setting.value)
    probability = solution.covered * same / sum(one.likelihood for one in best)
    return best[0].setting.value if probability >= _PROBABLE else None


def _explained(solution: Solution, where: tuple[int, int] | None) -> Finding:
    seen, best = solution.observed, solution.best
    first = best[0]
    others = "; or ".join(f"{_named(answer)}: {answer.arithmetic}" for answer in best[1 : 1 + _OTHERS])
    if len(best) > 1 + _OTHERS:
        others += f"; or {units.number(len(best) - 1 - _OTHERS, 'less likely setting')}"
    # The arithmetic of a buffer that is the window begins with the same number.
    rest = first.arithmetic.removeprefix(f"{seen.window:,}, ")
    fitting = _fitting(first)
    # A range of fitting values begins with the name of its knob.
    named = first.stack if fitting else _named(first)
    arithmetic = f": {fitting}{rest}" if rest == first.arithmetic else f", {rest}"
    cause = [CAUSES.get(first.setting.knob, CAUSES[Knob.OPTION])]
    if first.fitted:
        cause.append(_measured(first, seen))
    if first.setting.stop < FULL:
        cause.append(STOPPED)
    if others:
        cause.append(
            f"Also possible: {others}. No capture alone tells these apart: the receiver's kernel (--kernel) or "
            "setting (--rcvbuf, --rmem) decides."
        )
    if first.well_known:
        cause.append(f"{first.setting.value:,} is {first.well_known}.")
    cause += unknown(solution.facts.kernel)
    raising = RAISING.get(first.setting.knob, RAISING[Knob.OPTION])
    commands = (_READ,) if first.needs else COMMANDS.get(first.setting.knob, ())
    if first.setting.era.whole_segments:
        raising = "Raise tcp_recv_hiwat; where it exceeds tcp_max_buf, raise tcp_max_buf first."
        commands = ("ndd -set /dev/tcp tcp_recv_hiwat N   # receiver",)
    return Finding(
        code=Code.WINDOW_SETTING,
        sentence=f"The window {_stood(seen)}{arithmetic} ({named}).{first.agreement}{_rose(seen)}",
        cause=" ".join(cause),
        remedy=(
            f"See whether the receiver has {first.needs}, which is not its kernel's default. "
            if first.needs
            else ""
        )
        + raising,
        commands=commands,
        evidence=clues(seen),
        frames=where,
        values={"window_bytes": seen.window, "answers": [_summary(answer) for answer in solution.answers]},
        exactness=solution.exactness,
        certainty=certainty(solution),
        source=first.setting.era.source,
    )


def _stood(seen: Observed) -> str:
    """Return the window in words; one that rose did not stop there."""
    return f"{'stops' if seen.rose_to is None else 'stood'} at {units.exact_bytes(seen.window)}"


def _rose(seen: Observed) -> str:
    """Return a sentence on the end of a window that rose; empty for any other."""
    if seen.rose_to is None:
        return ""
    return f" After {units.duration(seen.stood_ns)} it rose to {units.exact_bytes(seen.rose_to)}."


def _fitting(answer: Answer) -> str:
    """Return the range of values that fit, as the start of a sentence; empty if one value does."""
    if answer.given or not answer.fitted:
        return ""
    knob = str(answer.setting.knob)
    if answer.high >= ENDLESS:
        return f"{knob} of {answer.low:,} or more fits: "
    return f"{knob} from {answer.low:,} to {answer.high:,} fits, most likely {answer.setting.value:,}: "


def _measured(answer: Answer, seen: Observed) -> str:
    """Return sentences on the buffers that fit a measured share, and the reason."""
    words = "The kernel measures which share of a packet's memory is payload, so the device decides it."
    if answer.given or answer.setting.knob is not Knob.OPTION:
        return words
    if seen.syn is not None and seen.syn < FIELD_MAX:
        return f"{words} The SYN-ACK's window, {seen.syn:,}, is half of the doubled buffer, down to whole segments."
    if seen.agreed_scale is not None:
        return (
            f"{words} Window scale {seen.agreed_scale} bounds the buffer; full packets leave a share of 0.60 to 0.67, "
            "merged or larger ones up to 0.98."
        )
    return words


def _also(answer: Answer, seen: Observed, where: tuple[int, int] | None) -> Finding:
    return Finding(
        code=Code.WINDOW_SETTING,
        sentence=f"{units.exact_bytes(seen.window)} are also {answer.arithmetic} ({_named(answer)}).",
        cause="Two reasons give this number; the limit of the window field is the simpler one. "
        + (f"{answer.setting.value:,} is {answer.well_known}." if answer.well_known else ""),
        remedy=""
        if seen.scale is not None
        else "Look at the window scale in the handshake: with one in force, the field was not the limit.",
        evidence=clues(seen),
        frames=where,
        values={"window_bytes": seen.window, "answers": [_summary(answer)]},
        certainty=Certainty.POSSIBLE,
        source=answer.setting.era.source,
    )


def _unexplained(solution: Solution, where: tuple[int, int] | None) -> Finding:
    seen = solution.observed
    possible = "; ".join(
        f"{_named(answer)}: {_span(answer)}"
        for answer in solution.answers[: 1 + _OTHERS]
        if not answer.against
    )
    return Finding(
        code=Code.WINDOW_SETTING,
        sentence=f"No usual buffer setting gives a window of {units.exact_bytes(seen.window)}, so the buffer's size "
        "stays unknown.",
        cause=(
            ""
            if seen.limited
            else "The window was not the limit, and autotuning grows it only as far as needed. "
        )
        + "Any number is explained by some odd setting, which proves nothing."
        + (f" Possible: {possible}." if possible else ""),
        remedy="Ask the receiver: ss -tmi shows rb (its buffer), sysctl net.ipv4.tcp_rmem the defaults."
        if seen.system in ("", "linux")
        else "Ask for the size of the buffer at the receiver.",
        commands=(
            "ss -tmi   # receiver: rb",
            "sysctl net.ipv4.tcp_rmem net.core.rmem_max net.ipv4.tcp_adv_win_scale   # receiver",
        ),
        evidence=clues(seen),
        frames=where,
        values={"window_bytes": seen.window, "answers": [_summary(answer) for answer in solution.answers]},
        exactness=Exactness.NONE,
        certainty=Certainty.POSSIBLE,
        source="tcp_win_from_space(), tcp_init_buffer_space(), __tcp_select_window()",
    )


def _field_full(seen: Observed, where: tuple[int, int] | None) -> Finding:
    scale = seen.scale or 0
    most = f"{FIELD_MAX:,} x 2^{scale}"
    if seen.window < FIELD_MAX:
        most = f"{seen.window // seen.mss} whole segments of the {FIELD_MAX:,}"
    return Finding(
        code=Code.WINDOW_FIELD_FULL,
        sentence=f"{units.exact_bytes(seen.window)} are the most that this connection can advertise: {most}.",
        cause=(
            "The handshake fixed this scale: a larger buffer acts on new connections only."
            if not seen.unscaled
            else "Without a window scale, the field's 16 bits are the whole window."
        ),
        remedy=(
            "Let the receiving program set no SO_RCVBUF, or set the larger one before the handshake, for a larger scale."
            if not seen.unscaled
            else "Turn window scaling on at both ends, and look for a middlebox that strips it."
        ),
        evidence=clues(seen),
        frames=where,
        values={"window_bytes": seen.window, "window_scale": seen.scale},
        exactness=Exactness.CONSISTENT if seen.scale is None or seen.doubt else Exactness.EXACT,
        certainty=Certainty.LIKELY if seen.scale is None or seen.doubt else Certainty.CERTAIN,
        source="RFC 7323 section 2.2; tcp_select_initial_window()",
    )


def _summary(answer: Answer) -> dict[str, object]:
    """Return an answer as a dict, for programs."""
    return {
        "stack": answer.setting.era.key,
        "setting": str(answer.setting.knob),
        "value": answer.setting.value,
        "low": answer.low,
        "high": answer.high,
        "arithmetic": answer.arithmetic,
        "exactness": str(answer.exactness),
        "against": answer.against,
        "needs": answer.needs,
        "stop": float(answer.setting.stop),
        "chance": answer.chance,
        "credible": answer.credible,
    }


def _named(answer: Answer) -> str:
    era, knob = answer.setting.era, answer.setting.knob
    if knob is Knob.CLAMP:
        return "Linux, a window clamp"
    return answer.stack if not era.linux or knob is Knob.OPTION else f"{answer.stack}, {knob}"


def _span(answer: Answer) -> str:
    top = " or more" if answer.high >= ENDLESS else f" to {answer.high:,}"
    span = f"{answer.low:,}{top if answer.low < answer.high else ''}"
    return f"{span} by a measured share" if answer.fitted else span
