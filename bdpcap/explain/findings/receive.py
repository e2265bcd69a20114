"""The receive window: what it allows, which buffer it comes from, why it grows, why it stops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bdpcap import units
from bdpcap.explain.buffers import FIELD_MAX, UNSCALED, Knob
from bdpcap.explain.capacity import sent_a_window
from bdpcap.explain.findings.finding import Code, Finding, frames
from bdpcap.explain.findings.handshake import SCALE_FIRST, SCALING_ON
from bdpcap.explain.solver import Answer, Exactness, Observed, Solution, solve

if TYPE_CHECKING:
    from bdpcap.analysis import Flow
    from bdpcap.explain.solver import Facts

__all__ = ["explains", "limits", "observed", "setting", "slow_part"]

_SLOW = ("slow reader", "zero window")


def limits(flow: Flow) -> list[Finding]:
    """Say what the window allows, or that the reader is slow."""
    window, rtt = flow.summary["window_max_bytes"], flow.summary["rtt_min_ns"]
    if pd.isna(window) or pd.isna(rtt) or rtt <= 0:
        return []
    held = (flow.rtts["limit"] == "rwnd").to_numpy()
    part = slow_part(flow)
    told = [_slow(flow, held)] if part > 0.2 else []
    if part > 0.8:
        return told
    ceiling = float(window) * 8e9 / float(rtt)
    reached = flow.summary["throughput_bps"]
    share = (
        "" if pd.isna(reached) else f" {units.rate(reached)} were reached, {units.share(reached / ceiling)}."
    )
    need = flow.summary["bdp_bytes"]
    unscaled = flow.summary["window_scale_source"] == UNSCALED and pd.notna(need) and need > FIELD_MAX
    shown = pd.notna(need) and sent_a_window(flow.summary)
    return [
        *told,
        Finding(
            code=Code.WINDOW_BELOW_BDP,
            sentence=f"The window, at most {units.exact_bytes(window)}, allows no more than "
            f"{units.exact_bytes(window)} / {units.duration(rtt)} = {units.rate(ceiling)}.{share}",
            cause="The receiver's window is smaller than the path could hold, so the sender waits for it every "
            "round trip.",
            remedy=(f"{SCALE_FIRST} Then let" if unscaled else "Let")
            + " the receiver's window grow until it exceeds rate times round-trip time"
            + (f", here about {units.exact_bytes(need)}. What that takes is said below." if shown else "."),
            commands=(SCALING_ON,) if unscaled else (),
            evidence=f"rwnd in {held.sum()} of {len(held)} rounds",
            frames=frames(flow, held),
            values={"window_bytes": int(window), "rtt_ns": int(rtt), "ceiling_bps": ceiling},
            exactness=Exactness.EXACT,
            source="RFC 9293 section 3.8.6; RFC 7323 section 1.1",
        ),
    ]


def slow_part(flow: Flow) -> float:
    """Return the share of the window-limited time in which a slow reader closed the window."""
    lasting = (flow.rtts["end_ns"] - flow.rtts["start_ns"]).to_numpy(dtype=np.float64)
    held = (flow.rtts["limit"] == "rwnd").to_numpy()
    slow = held & flow.rtts["detail"].isin(_SLOW).to_numpy()
    return float(lasting[slow].sum() / max(1.0, lasting[held].sum()))


def explains(flow: Flow, facts: Facts | None = None) -> list[Finding]:
    """Say which buffer a steady window comes from, and why it grew to it."""
    told = []
    seen = observed(flow)
    held = (flow.rtts["limit"] == "rwnd") & (flow.rtts["detail"] == "buffer")
    if seen is not None and (held.mean() >= 0.1 or (facts is not None and facts.of_receiver)):
        solution = solve(seen, facts)
        where = frames(
            flow, (flow.rtts["window_max_bytes"] == seen.window).fillna(False).to_numpy(dtype=bool)
        )
        told += setting(solution, where)
    ramp = _ramp(flow)
    return told if ramp is None else [*told, ramp]


def observed(flow: Flow) -> Observed | None:
    """Return the plateau of a flow's window, or None where it has none."""
    windows = flow.rtts["window_max_bytes"].dropna().to_numpy(dtype=np.int64)
    if not windows.size:
        return None
    values, counts = np.unique(windows, return_counts=True)
    most = counts.argmax()
    if counts[most] < max(3, windows.size / 2) or values[most] < 0.95 * values[-1]:
        return None
    scale = flow.summary["window_scale"]
    unscaled = flow.summary["window_scale_source"] == UNSCALED
    first = flow.rtts["window_min_bytes"].iloc[0]
    # The client's first data meet the window of the SYN-ACK; a server's, that of a later segment.
    client = flow.counts["direction"] == 0 and flow.counts["handshake"] == 3
    return Observed(
        window=int(values[most]),
        mss=max(1, int(flow.summary["mss_bytes"])),
        scale=0 if unscaled else None if pd.isna(scale) else int(scale),
        syn=int(first) if client and pd.notna(first) and first <= FIELD_MAX else None,
    )


def setting(solution: Solution, where: tuple[int, int] | None = None) -> list[Finding]:
    """Tell a solution: the setting, the segment kept back, the doubling, the full field."""
    seen = solution.observed
    told = [_predicted(solution, where)] if solution.predicted else []
    told += [_field_full(seen, where)] if solution.field_full else []
    best = [
        answer for answer in solution.answers if answer.exactness is solution.exactness and answer.telling
    ]
    if not best or solution.exactness is Exactness.NONE:
        return told if solution.field_full else [*told, _unexplained(solution, where)]
    first = best[0]
    if solution.field_full:
        return [*told, _also(first, seen, where)]
    told.append(_explained(solution, best, where))
    kept = first.advertised.offered - first.advertised.raw
    if kept > 0:
        told.append(
            Finding(
                code=Code.SEGMENT_KEPT_BACK,
                sentence=f"Why {seen.window:,} and not {first.advertised.offered:,}: the difference, {kept:,} bytes, is "
                "one segment, which Linux keeps back.",
                cause="When the connection is established the kernel lowers its largest window by one MSS. No segment "
                "need be waiting unread in the buffer, as is often supposed: the window is the same when all was read.",
                evidence=first.arithmetic,
                frames=where,
                values={"kept_back_bytes": kept, "offered_bytes": first.advertised.offered},
                exactness=first.exactness,
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
                source="sock_setsockopt(): sk_rcvbuf = max(2 * val, SOCK_MIN_RCVBUF); socket(7)",
            )
        )
    return told


def _explained(solution: Solution, best: list[Answer], where: tuple[int, int] | None) -> Finding:
    seen, first = solution.observed, best[0]
    others = "; or ".join(f"{_named(answer)}: {answer.arithmetic}" for answer in best[1:])
    fit = " Every byte agrees." if first.exactness is Exactness.EXACT else ""
    apart = (
        "No capture alone tells these apart: the receiver's kernel (--kernel) or setting (--rcvbuf) decides."
        if others
        else ""
    )
    if first.fitted and seen.syn is not None and seen.syn < FIELD_MAX:
        apart = f"The first window, {seen.syn:,}, is half of the doubled buffer, down to whole segments."
    return Finding(
        code=Code.WINDOW_SETTING,
        sentence=f"The window stops at {units.exact_bytes(seen.window)}: {first.arithmetic}"
        f" ({_named(first)}).{fit}",
        cause="The receive buffer has a fixed size, and the kernel offers a share of it as window."
        + (f" As good: {others}." if others else "")
        + (f" {apart}" if apart else "")
        + (f" {first.setting.value:,} is {first.well_known}." if first.well_known else ""),
        remedy=(
            f"See whether the receiver has {first.needs}, which is not its kernel's default. "
            if first.needs
            else ""
        )
        + "To raise it, set a larger buffer before the handshake, or do not set one and let autotuning grow it.",
        commands=("sysctl net.ipv4.tcp_adv_win_scale   # receiver",) if first.needs else (),
        evidence=_clues(seen),
        frames=where,
        values={"window_bytes": seen.window, "answers": [summary(answer) for answer in solution.answers]},
        exactness=solution.exactness,
        source=first.setting.era.source,
    )


def _also(answer: Answer, seen: Observed, where: tuple[int, int] | None) -> Finding:
    return Finding(
        code=Code.WINDOW_SETTING,
        sentence=f"{units.exact_bytes(seen.window)} are also {answer.arithmetic} ({_named(answer)}).",
        cause="Two reasons give this number; the limit of the window field is the simpler one. "
        + (f"{answer.setting.value:,} is {answer.well_known}." if answer.well_known else ""),
        remedy=""
        if seen.scale is not None
        else "Look at the window scale in the handshake: with one in force, the field was not the limit.",
        evidence=_clues(seen),
        frames=where,
        values={"window_bytes": seen.window, "answers": [summary(answer)]},
        source=answer.setting.era.source,
    )


def _unexplained(solution: Solution, where: tuple[int, int] | None) -> Finding:
    seen = solution.observed
    possible = "; ".join(
        f"{_named(answer)}: {_span(answer)}" for answer in solution.answers if not answer.against
    )
    return Finding(
        code=Code.WINDOW_SETTING,
        sentence="No fixed share of a setting that anyone would choose gives a window of "
        f"{units.exact_bytes(seen.window)} exactly.",
        cause="Any number is explained by some odd setting, which proves nothing."
        + (f" Possible: {possible}." if possible else ""),
        remedy="Ask the receiver: ss -tmi shows rb (its buffer), sysctl net.ipv4.tcp_rmem the defaults.",
        commands=(
            "ss -tmi   # receiver: rb",
            "sysctl net.ipv4.tcp_rmem net.core.rmem_max net.ipv4.tcp_adv_win_scale   # receiver",
        ),
        evidence=_clues(seen),
        frames=where,
        values={"window_bytes": seen.window, "answers": [summary(answer) for answer in solution.answers]},
        exactness=Exactness.NONE,
        source="tcp_win_from_space(), tcp_init_buffer_space(), __tcp_select_window()",
    )


def _predicted(solution: Solution, where: tuple[int, int] | None) -> Finding:
    seen = solution.observed
    value = solution.predicted[0][0].value
    said = "; ".join(f"{advertised.window:,} ({one.era.name})" for one, advertised in solution.predicted)
    agree = [answer for answer in solution.answers if answer.given and not answer.against]
    exactness = agree[0].exactness if agree else Exactness.NONE
    if not agree:
        verdict = f"The {seen.window:,} seen do not agree: another setting, or another kernel, is in force."
    elif agree[0].fitted:
        verdict = (
            f"The {seen.window:,} seen are {seen.window / (2 * value):.3f} of the doubled buffer: possible."
        )
    elif agree[0].needs:
        verdict = f"The {seen.window:,} seen take {agree[0].needs}: {agree[0].arithmetic}."
    else:
        verdict = f"The {seen.window:,} seen agree: {agree[0].arithmetic}."
    return Finding(
        code=Code.WINDOW_PREDICTED,
        sentence=f"SO_RCVBUF of {value:,} leads to a window of {said}. {verdict}",
        cause="The window follows from the buffer by the kernel's arithmetic.",
        evidence=_clues(seen),
        frames=where,
        values={
            "window_bytes": seen.window,
            "predicted_bytes": {one.era.key: advertised.window for one, advertised in solution.predicted},
        },
        exactness=exactness,
        source=solution.predicted[0][0].era.source,
    )


def _field_full(seen: Observed, where: tuple[int, int] | None) -> Finding:
    scale = seen.scale or 0
    return Finding(
        code=Code.WINDOW_FIELD_FULL,
        sentence=f"{units.exact_bytes(seen.window)} are all that the window field can say: {FIELD_MAX:,} x 2^{scale}.",
        cause=(
            "The scale was settled in the handshake, by the buffer of that moment; the buffer could offer more now."
            if scale
            else "Without a window scale 16 bits are all there is."
        ),
        remedy=(
            "Set the larger buffer before the handshake, so that a larger scale is offered."
            if scale
            else "Turn window scaling on at both ends, and look for a middlebox that strips it."
        ),
        commands=() if scale else (SCALING_ON,),
        evidence=_clues(seen),
        frames=where,
        values={"window_bytes": seen.window, "window_scale": seen.scale},
        exactness=Exactness.EXACT if seen.scale is not None else Exactness.CONSISTENT,
        source="RFC 7323 section 2.2; tcp_select_initial_window()",
    )


def summary(answer: Answer) -> dict[str, object]:
    """Return an answer for programs."""
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
    }


def _named(answer: Answer) -> str:
    name = answer.needs or answer.setting.era.name
    if not answer.setting.era.linux or answer.setting.knob is Knob.OPTION:
        return name
    return f"{name}, {answer.setting.knob}"


def _span(answer: Answer) -> str:
    span = f"{answer.low:,} to {answer.high:,}" if answer.low < answer.high else f"{answer.low:,}"
    return f"{span} by a measured share" if answer.fitted else span


def _clues(seen: Observed) -> str:
    clues = [f"MSS {seen.mss:,}"]
    if seen.scale is not None:
        clues.append(f"window scale {seen.scale}")
    if seen.syn is not None:
        clues.append(f"first window {seen.syn:,}")
    return ", ".join(clues)


def _slow(flow: Flow, held: np.ndarray) -> Finding:
    slow = held & flow.rtts["detail"].isin(_SLOW).to_numpy()
    windows = flow.rtts["window_min_bytes"].dropna()
    smallest, largest = int(windows.min()), int(flow.summary["window_max_bytes"])
    return Finding(
        code=Code.SLOW_READER,
        sentence=f"The window closes from {units.exact_bytes(largest)} to {units.exact_bytes(smallest)}: the receiving "
        f"application takes {units.rate(flow.summary['throughput_bps'])}.",
        cause="The receiving application reads more slowly than data arrives, so its window closes.",
        remedy="Look at the receiving application; a larger buffer only delays the moment the window closes.",
        commands=("ss -tmi   # receiver: Recv-Q is what it has not read",),
        evidence=f"slow reader or zero window in {slow.sum()} of {held.sum()} rounds that the window limited",
        frames=frames(flow, slow),
        values={"window_min_bytes": smallest, "window_max_bytes": largest},
        source="RFC 9293 section 3.8.6; __tcp_select_window()",
    )


def _ramp(flow: Flow) -> Finding | None:
    windows = flow.rtts["window_max_bytes"].dropna().to_numpy(dtype=np.int64)
    slow = flow.rtts["detail"].isin(_SLOW)
    start = flow.rtts["window_min_bytes"].dropna()
    if windows.size < 3 or slow.any() or start.empty:
        return None
    largest, first = int(windows.max()), int(start.iloc[0])
    top = int(np.argmax(windows >= 0.98 * largest))
    if top < 2 or largest < 1.1 * first:
        return None
    growing = np.arange(len(flow.rtts)) <= top
    return Finding(
        code=Code.WINDOW_RAMP,
        sentence=f"The window grew from {units.exact_bytes(first)} to {units.exact_bytes(largest)} in {top + 1} rounds.",
        cause="Linux opens the window by two segments for each one that arrives, and no further than the memory that "
        "packets really take (rcv_ssthresh): a window that starts small and grows is normal. It stops where the "
        "share of the buffer, or autotuning's maximum, ends.",
        evidence=f"rounds 0 to {top}",
        frames=frames(flow, growing),
        values={"first_bytes": first, "largest_bytes": largest, "rounds": top + 1},
        source="tcp_grow_window(): rcv_ssthresh += 2 * advmss",
    )
