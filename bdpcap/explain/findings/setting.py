"""Findings on the setting behind a steady window: the buffer, the segment kept back, the doubling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from bdpcap.explain.answer import ENDLESS
from bdpcap.explain.buffers import FIELD_MAX, FULL, UNSCALED, Knob
from bdpcap.explain.findings.finding import Certainty, Code, Finding
from bdpcap.explain.findings.predicted import clues, predicted, unknown
from bdpcap.explain.solver import Answer, Exactness, Observed, Solution, solve
from bdpcap.limits.evidence.window import STANDING
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Flow
    from bdpcap.explain.solver import Facts

__all__ = ["certainty", "likely_option", "observed", "setting", "solved", "was_limit"]

_NEARLY: Final = 0.95
"""Window over the largest from which it is the largest, but for moments."""
_PART_AT_MOST: Final = 0.5
_PART_BELOW: Final = 0.8
"""Share of the rounds in which a plateau stands, at the largest window and below it."""
_READ: Final = "sysctl net.ipv4.tcp_adv_win_scale   # receiver"


def observed(flow: Flow) -> Observed | None:
    """
    Return the plateau of a flow's window.

    SO_RCVBUF set after the handshake lowers a window, which then stands. A slow reader lowers it to many sizes.
    None if the window was not steady, holds less than two segments, or if the receiver's SYN was not captured.
    """
    receiver_syn = 1 << (1 - int(flow.counts["direction"]))
    windows = flow.rtts["window_max_bytes"].dropna().to_numpy(dtype=np.int64)
    if not windows.size or not int(flow.counts["handshake"]) & receiver_syn:
        return None
    values, counts = np.unique(windows, return_counts=True)
    most = counts.argmax()
    mss = max(1, int(flow.summary["mss_bytes"]))
    part = _PART_AT_MOST if values[most] >= _NEARLY * values[-1] else _PART_BELOW
    # A measured share wavers with the packets, by less than a half per cent.
    near = np.abs(windows - values[most]) <= STANDING * values[most]
    if near.sum() < max(3, part * windows.size) or values[most] < 2 * mss:
        return None
    scale, source = flow.summary["window_scale"], str(flow.summary["window_scale_source"])
    first = flow.counts["syn_window_bytes"]
    # In a client's SYN the window is rounded to segments without timestamps, which are not agreed yet.
    answered = flow.counts["direction"] == 0 and first is not None
    unscaled, system = source == UNSCALED, flow.summary.get("receiver_system")
    return Observed(
        window=int(values[most]),
        mss=mss,
        scale=0 if unscaled else None if pd.isna(scale) else int(scale),
        syn=int(first) if answered else None,
        doubt=_doubt(flow, source),
        unscaled=unscaled,
        system="" if pd.isna(system) else str(system),
        bare=unscaled and not int(flow.counts["has_timestamps"]),
        limited=was_limit(flow),
    )


def was_limit(flow: Flow) -> bool:
    """Return whether the receive buffer was the limit in a tenth of the rounds."""
    held = (flow.rtts["limit"] == "rwnd") & (flow.rtts["detail"] == "buffer")
    return bool(held.mean() >= 0.1)


def _doubt(flow: Flow, source: str) -> str:
    if source not in ("negotiated", UNSCALED):
        return "the window scale is inferred" if source == "inferred" else "the sender's SYN was not captured"
    if int(flow.counts["unseen_bytes"]) > 0:
        return "the capture is incomplete (filtered, or packets dropped)"
    return ""


def solved(flow: Flow, facts: Facts | None = None) -> Solution | None:
    """Return the settings that explain the plateau of a flow's window, whatever the limit was; None without a plateau."""
    seen = observed(flow)
    return None if seen is None else solve(seen, facts)


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
_SURE: Final = 0.998
_LIKELY: Final = 0.97
_FEW: Final = 5


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
        others += f"; or one of {len(best) - 1 - _OTHERS} less likely settings"
    exact = " Every byte agrees." if first.exactness is Exactness.EXACT else ""
    cause = [_CAUSES.get(first.setting.knob, _CAUSES[Knob.OPTION])]
    if first.fitted:
        cause.append(_measured(first, seen))
    if first.setting.stop < FULL:
        cause.append(_STOPPED)
    if others:
        cause.append(
            f"Also possible: {others}. No capture alone tells these apart: the receiver's kernel (--kernel) or "
            "setting (--rcvbuf, --rmem) decides."
        )
    if first.well_known:
        cause.append(f"{first.setting.value:,} is {first.well_known}.")
    cause += unknown(solution.facts.kernel)
    raising = _RAISING.get(first.setting.knob, _RAISING[Knob.OPTION])
    commands = (_READ,) if first.needs else _COMMANDS.get(first.setting.knob, ())
    if first.setting.era.whole_segments:
        raising = "Raise tcp_recv_hiwat; where it exceeds tcp_max_buf, raise tcp_max_buf first."
        commands = ("ndd -set /dev/tcp tcp_recv_hiwat N   # receiver",)
    return Finding(
        code=Code.WINDOW_SETTING,
        sentence=f"The window stops at {units.exact_bytes(seen.window)}: {_fitting(first)}{first.arithmetic}"
        f" ({_named(first)}).{exact}",
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


_CAUSES: Final = {
    Knob.OPTION: "The receive buffer has a fixed size, and the kernel offers a share of it as window.",
    Knob.AFTER: "The program set SO_RCVBUF on the connection, after the handshake. That stops autotuning.",
    Knob.DEFAULT: "The receive buffer keeps its default size: autotuning does not grow it.",
    Knob.GROWN: "Autotuning grew the receive buffer to its maximum.",
    Knob.CLAMP: "A route (ip route ... window N) or the program (TCP_WINDOW_CLAMP) allows no larger window.",
    Knob.STACK: "The window is a whole number of segments, as small stacks such as lwIP have it.",
}
"""Cause of a window by the knob that determines it."""
_STOPPED: Final = (
    "Packets take more memory than they carry. "
    "The kernel then opens the window only until it exceeds a part of the share."
)
_RAISING: Final = {
    Knob.OPTION: "To raise the window, set a larger buffer before the handshake, or set none and let autotuning grow it.",
    Knob.AFTER: "Let the receiving program set no SO_RCVBUF, or set it before listen() or connect().",
    Knob.DEFAULT: "See whether net.ipv4.tcp_moderate_rcvbuf is 0 on the receiver. If not, its program sets "
    "SO_RCVBUF after the handshake.",
    Knob.GROWN: "To raise the window, raise the third value of net.ipv4.tcp_rmem on the receiver.",
    Knob.CLAMP: "Look for a window in the receiver's routes, and for TCP_WINDOW_CLAMP in its program.",
    Knob.STACK: "To raise the window, build the stack with a larger TCP_WND.",
}
"""Advice by the knob that determines the window."""
_COMMANDS: Final = {
    Knob.DEFAULT: ("sysctl net.ipv4.tcp_moderate_rcvbuf net.ipv4.tcp_rmem   # receiver",),
    Knob.GROWN: ("sysctl net.ipv4.tcp_rmem   # receiver: the third value",),
    Knob.CLAMP: ("ip route show   # receiver: window",),
}


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
    if seen.scale is not None and not seen.unscaled:
        return (
            f"{words} Window scale {seen.scale} bounds the buffer; full packets leave a share of 0.60 to 0.67, merged or "
            "larger ones up to 0.98."
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
        remedy="Ask the receiver: ss -tmi shows rb (its buffer), sysctl net.ipv4.tcp_rmem the defaults.",
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
        sentence=f"{units.exact_bytes(seen.window)} are all that the window field can say: {most}.",
        cause=(
            "The scale was settled in the handshake, by the buffer of that moment; the buffer could offer more now."
            if scale
            else "Without a window scale 16 bits are all there is."
        ),
        remedy=(
            "Start the server without -w, or set the larger buffer before the handshake: then a larger scale is offered."
            if scale
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
    name = answer.needs or era.name
    return name if not era.linux or knob is Knob.OPTION else f"{name}, {knob}"


def _span(answer: Answer) -> str:
    span = f"{answer.low:,} to {answer.high:,}" if answer.low < answer.high else f"{answer.low:,}"
    return f"{span} by a measured share" if answer.fitted else span
