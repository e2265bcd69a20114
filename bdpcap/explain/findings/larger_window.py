"""Advice on the buffers to raise, by host, so that the window fills the path."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from bdpcap.explain import remedies
from bdpcap.explain.bdp import MSS_BYTES
from bdpcap.explain.buffers import Knob
from bdpcap.explain.findings.plateau import solved, starts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bdpcap.capture import Flow
    from bdpcap.explain.ceilings import Ceiling
    from bdpcap.explain.eras import Era
    from bdpcap.explain.solver import Facts

__all__ = ["advice", "twice"]


def advice(ceiling: Ceiling, eras: Sequence[Era], flow: Flow | None, facts: Facts | None) -> remedies.Remedy:
    """Return advice on the buffers to raise by host, with alternatives, and the commands for it."""
    sender = remedies.ends(flow)[0]
    held = flow is not None and str(flow.summary["limit"]) == "sndbuf"
    told = (
        [remedies.Remedy("The receive buffer is large enough.")]
        if ceiling.suffices
        else _receiver(ceiling, eras, flow, facts)
    )
    if held:
        told.append(remedies.Remedy("The send buffer was the limit."))
    else:
        most = None if facts is None or facts.wmem is None else facts.wmem[2]
        told.append(remedies.send_buffer(ceiling.bdp_bytes, sender, most=most))
        told.append(
            remedies.Remedy(
                "Both ends must hold it, the smaller buffer limits: SO_SNDBUF, if set, must be "
                f"{ceiling.sndbuf:,} or more."
            )
        )
    if not ceiling.suffices and not held:
        told += [
            remedies.Remedy(_instead(ceiling)),
            remedies.Remedy(remedies.memory(2 * max(ceiling.rcvbuf.values()))),
        ]
    return remedies.joined(*told)


def twice(ceiling: Ceiling, eras: Sequence[Era], flow: Flow | None, facts: Facts | None) -> remedies.Remedy:
    """Return advice on a window of twice the size, which shows what limits next where the link's rate is not known."""
    need = max(ceiling.bdp_bytes, 2 * (ceiling.window or 0))
    return _receiver(replace(ceiling, bdp_bytes=need), eras, flow, facts)[0]


def _receiver(
    ceiling: Ceiling, eras: Sequence[Era], flow: Flow | None, facts: Facts | None
) -> list[remedies.Remedy]:
    """Return advice on how the receiver's window grows; on a fixed buffer only if one may have been set."""
    need, mss, host = ceiling.bdp_bytes, MSS_BYTES, remedies.ends(flow)[1]
    most = None if facts is None or facts.rmem is None else facts.rmem[2]
    if flow is not None:
        mss, knobs = max(1, int(flow.summary["mss_bytes"])), _knobs(flow, ceiling.window, facts)
        begins = starts(flow, facts)
        if Knob.OPTION not in knobs or begins:
            was_limit = str(flow.summary["limit"]) == "rwnd"
            stopped = bool(knobs & {Knob.AFTER, Knob.DEFAULT})
            grown = remedies.receive_buffer(
                need,
                mss,
                eras,
                host,
                autotuned=True,
                was_limit=was_limit,
                stopped=stopped,
                starts=begins,
                most=most,
            )
            return [grown]
    return [
        remedies.receive_buffer(need, mss, eras, host, most=most),
        remedies.fixed_buffer(max(ceiling.rcvbuf.values()), host),
    ]


def _knobs(flow: Flow, window: int | None, facts: Facts | None) -> set[Knob]:
    """Return the knobs that may determine the window: those of the credible answers, else by the window scale."""
    solution, scale = solved(flow, facts), flow.summary["window_scale"]
    if solution is not None and solution.best and not solution.field_full:
        return {one.setting.knob for one in solution.best}
    mss = max(1, int(flow.summary["mss_bytes"]))
    if pd.notna(scale) and window and remedies.is_autotuned(window, mss, int(scale)):
        return {Knob.GROWN}
    return {Knob.OPTION}


def _instead(ceiling: Ceiling) -> str:
    """Return a sentence on alternatives to larger buffers."""
    nearer = "a proxy or cache near the receiver shortens the RTT"
    if not ceiling.ceiling_bps:
        return f"Without larger buffers: {nearer}, and parallel streams add their windows."
    streams = math.ceil(ceiling.goodput_bps / ceiling.ceiling_bps)
    return f"Without larger buffers: {nearer}, or {streams:,} parallel streams, each with this window, fill the link."
