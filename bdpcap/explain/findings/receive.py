"""Findings on the receive window: its ceiling, growth and closing. `setting` finds the buffer that it comes from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from bdpcap.explain import gate, remedies
from bdpcap.explain.buffers import FIELD_MAX, UNSCALED
from bdpcap.explain.capacity import Basis, basis, known_bdp, sent_a_window, spoken_bdp
from bdpcap.explain.findings.finding import Code, Finding, frames
from bdpcap.explain.findings.plateau import solved, starts, was_limit
from bdpcap.explain.findings.predicted import predicted
from bdpcap.explain.findings.setting import setting
from bdpcap.explain.once import once
from bdpcap.explain.reached import reached_bps, spoken_rate
from bdpcap.explain.solver import Exactness, Facts, surviving_eras
from bdpcap.limits.evidence.window import SMALL
from bdpcap.limits.rules.rwnd import READER
from bdpcap.words import units

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["explains", "holds_bdp", "in_force", "limits", "shut", "slow_part", "stopped_ns"]

_NOTABLE_SLOW: Final = 0.2
"""Share of the window-limited time from which on a slow reader is reported; a choice."""
_MOSTLY_SLOW: Final = 0.8
"""Share of that time above which the window's size is no reason at all; a choice."""
_GREW: Final = 1.1
"""Largest over first window from which on a window grew: a choice."""
_TOP: Final = 0.98
"""Window over the largest from which on growth has ended; a choice."""
_NO_OPTION: Final = ("windows", "embedded", "virtual-nat")
"""Systems whose window most often has another setting behind it than a program's SO_RCVBUF."""
_FEWEST_ROUNDS: Final = 3
"""Rounds of a growth; fewer show a step."""


def shut(rtts: pd.DataFrame) -> pd.Series[bool]:
    """Return in which rounds the window was closed, or too small for a segment."""
    closed: pd.Series[bool] = rtts["detail"] == "zero window"
    return closed


def stopped_ns(flow: Flow) -> int:
    """Return for how long the window was shut at one go, if for most of the active time: the reader stopped; else 0.

    Of a window smaller than a segment, small ones may pass: then the reader is slow.
    """
    rtts = flow.rtts
    still = shut(rtts) & (rtts["acked_bytes"] == 0)
    lasting_ns = (rtts["end_ns"] - rtts["start_ns"])[still].groupby((~still).cumsum()[still]).sum()
    longest_ns = 0 if lasting_ns.empty else int(lasting_ns.max())
    return longest_ns if 2 * longest_ns > flow.summary["active_ns"] else 0


def limits(flow: Flow) -> list[Finding]:
    """Return findings on the rate that the window allows, and on a slow reader."""
    window, rtt = in_force(flow), flow.summary["rtt_min_ns"]
    if window is None or pd.isna(rtt) or rtt <= 0:
        return []
    held = (flow.rtts["limit"] == "rwnd").to_numpy()
    part = slow_part(flow)
    told = [_slow(flow, held)] if part > _NOTABLE_SLOW else []
    # A window that was always 0 allows no rate, and the sender sent in spite of it.
    ceiling = gate.allowed_bps(window, rtt)
    if part > _MOSTLY_SLOW or ceiling is None or holds_bdp(flow):
        return told
    reached = reached_bps(flow)
    part_of = None if reached is None else gate.part(reached / ceiling)
    share = "" if part_of is None else f" {spoken_rate(flow)} were reached, {units.share(part_of)}."
    need = flow.summary["bdp_bytes"]
    unscaled = flow.summary["window_scale_source"] == UNSCALED and pd.notna(need) and need > FIELD_MAX
    # A lower bound of the BDP is no goal.
    bounded = basis(flow.summary) is Basis.BOUND
    known = not bounded and (known_bdp(flow.summary) or 0) > window and sent_a_window(flow.summary)
    usual = window < flow.summary["window_max_bytes"]
    # With SO_RCVBUF set before the handshake, the window scale is that of the buffer.
    after = usual and _is_autotuned(flow, window)
    grow = "the receiver's window grow until it exceeds rate times round-trip time"
    first = remedies.scaling_of(flow) if unscaled else _unset(flow, window)
    remedy = f"{first.words} Then let {grow}" if first.words else f"Let {grow}"
    if after:
        remedy = (
            f"See whether the receiving program sets SO_RCVBUF after the handshake. Without it, let {grow}"
        )
    below = [
        Finding(
            code=Code.WINDOW_BELOW_BDP,
            sentence=f"The window, {'usually' if usual else 'at most'} {units.exact_bytes(window)}, allows no more than "
            f"{units.exact_bytes(window)} / {units.duration(rtt)} = {units.rate(ceiling)}.{share}",
            cause="The receiver's window is smaller than the path could hold, so the sender waits for it every "
            "round trip.",
            remedy=remedy + (f", here {spoken_bdp(flow.summary)}." if known else "."),
            commands=first.commands,
            evidence=f"rwnd in {held.sum()} of {len(held)} rounds",
            frames=frames(flow, held),
            values={"window_bytes": int(window), "rtt_ns": int(rtt), "ceiling_bps": ceiling},
            exactness=Exactness.EXACT,
            source="RFC 9293 section 3.8.6; RFC 7323 section 1.1",
        ),
    ]
    return told + below if part > 1 / 2 else below + told


def _unset(flow: Flow, window: float) -> remedies.Remedy:
    """Return advice on an SO_RCVBUF that may hold the window; no words if the window scale shows that none is set."""
    receiver = remedies.of(flow, "receiver")
    if receiver.system in _NO_OPTION:
        # Twice the window shows what limits next.
        need, mss = 2 * int(window), int(flow.summary["mss_bytes"])
        return remedies.receive_buffer(need, mss, surviving_eras(solved(flow)), receiver, starts=starts(flow))
    return remedies.Remedy("" if _is_autotuned(flow, window) else remedies.unset(receiver, "SO_RCVBUF"))


def _is_autotuned(flow: Flow, window: float) -> bool:
    """Return whether the window scale shows that no SO_RCVBUF was set before the handshake."""
    scale, mss = flow.summary["window_scale"], int(flow.summary["mss_bytes"])
    # The scale of other systems does not follow the buffer as that of Linux does.
    follows = remedies.of(flow, "receiver").system in ("", "linux") and pd.notna(scale)
    return follows and remedies.is_autotuned(int(window), mss, int(scale))


@once
def in_force(flow: Flow) -> float | None:
    """Return the window that limited the flow in bytes: the one that stood, or else its largest.

    None if unknown. SO_RCVBUF set after the handshake lowers a window once.
    """
    largest = flow.summary["window_max_bytes"]
    if pd.isna(largest):
        return None
    solution = solved(flow)
    if solution is not None and SMALL * largest <= solution.observed.window <= largest:
        return float(solution.observed.window)
    held = (flow.rtts["limit"] == "rwnd") & (flow.rtts["detail"] == "buffer")
    stood = flow.rtts.loc[held, "window_max_bytes"].dropna()
    fell = not stood.empty and stood.median() < SMALL * largest
    return float(stood.median() if fell else largest)


def holds_bdp(flow: Flow) -> bool:
    """Return whether the window that limited the flow holds the BDP; False if no BDP or only its lower bound is known."""
    window, need = in_force(flow), flow.summary["bdp_bytes"]
    if window is None or pd.isna(need) or basis(flow.summary) is Basis.BOUND:
        return False
    return bool(int(window) >= need)


@once
def slow_part(flow: Flow) -> float:
    """Return the share of the window-limited time in which a slow reader closed the window."""
    lasting = (flow.rtts["end_ns"] - flow.rtts["start_ns"]).to_numpy(dtype=np.float64)
    held = (flow.rtts["limit"] == "rwnd").to_numpy()
    slow = held & flow.rtts["detail"].isin(READER).to_numpy()
    return float(lasting[slow].sum() / max(1.0, lasting[held].sum()))


def explains(flow: Flow, facts: Facts | None = None) -> list[Finding]:
    """Return findings on the buffer that a steady window comes from, whatever the limit was, and on its growth."""
    told = []
    solution = solved(flow, facts)
    if solution is not None:
        stood = flow.rtts["window_max_bytes"] == solution.observed.window
        explained = setting(solution, frames(flow, stood.fillna(False).to_numpy(dtype=bool)))
        receiver = remedies.of(flow, "receiver")
        explained = [replace(one, commands=receiver.linux(*one.commands)) for one in explained]
        # Without advice a finding is a note: a window that was not the limit needs no other setting.
        asked = facts is not None and facts != Facts()
        told += (
            explained
            if asked or was_limit(flow)
            else [replace(one, remedy="", commands=()) for one in explained]
        )
    elif facts is not None and facts.rcvbuf is not None:
        told.append(predicted(facts, max(1, int(flow.summary["mss_bytes"]))))
    ramp = _ramp(flow)
    return told if ramp is None else [*told, ramp]


def _slow(flow: Flow, held: np.ndarray) -> Finding:
    slow = held & flow.rtts["detail"].isin(READER).to_numpy()
    windows = flow.rtts["window_min_bytes"].dropna()
    smallest, largest = int(windows.min()), int(flow.summary["window_max_bytes"])
    # A reader that stops now and then has no pace of its reads.
    steady, stopped = slow_part(flow) > 1 / 2, stopped_ns(flow)
    pace = f": the receiving application takes {spoken_rate(flow)}" if steady else " at times"
    cause = "The receiving application reads more slowly than data arrives, so its window closes."
    remedy = "See why the receiving application reads so slowly: a larger buffer fills as well, and the rate stays."
    if stopped:
        pace = f", and was shut for {units.duration(stopped)} at one go"
        cause = "The receiving application read nothing in that time. Its rate is not known."
        remedy = (
            "See why the receiving application stopped reading: for its disk, another program, or a lock."
        )
    return Finding(
        code=Code.SLOW_READER,
        sentence=f"The window closes from {units.exact_bytes(largest)} to {units.exact_bytes(smallest)}{pace}.",
        cause=cause,
        remedy=remedy,
        commands=remedies.of(flow, "receiver").linux("ss -tmi   # receiver: Recv-Q is what it has not read"),
        evidence=f"slow reader or zero window in {slow.sum()} of {held.sum()} rounds that the window limited",
        frames=frames(flow, slow),
        values={"window_min_bytes": smallest, "window_max_bytes": largest},
        source="RFC 9293 section 3.8.6; __tcp_select_window()",
    )


def _ramp(flow: Flow) -> Finding | None:
    """Return a finding on a window that grew from the first scaled one; None if it did not grow."""
    windows = flow.rtts["window_max_bytes"].dropna().to_numpy(dtype=np.int64)
    slow = flow.rtts["detail"].isin(READER)
    start = flow.rtts["window_min_bytes"].dropna().to_numpy(dtype=np.int64)
    if windows.size < _FEWEST_ROUNDS or slow.any() or pd.isna(flow.summary["rtt_min_ns"]):
        return None
    # A SYN's window is not scaled: 65,535 is the largest that the field holds, for any larger buffer.
    scaled = pd.notna(flow.summary["window_scale"])
    cut = scaled and start[0] == FIELD_MAX == flow._counts["syn_window_bytes"]
    largest, first = int(windows.max()), int(windows[0] if cut else start[0])
    top = int(np.argmax(windows >= _TOP * largest))
    if top < 2 or largest < _GREW * first or first <= 0:
        return None
    growing = np.arange(len(flow.rtts)) <= top
    on_linux = remedies.of(flow, "receiver").system in ("", "linux")
    how = (
        "Linux opens the window by two segments for each one that arrives, up to the memory that packets really take "
        "(rcv_ssthresh). "
        if on_linux
        else ""
    )
    return Finding(
        code=Code.WINDOW_RAMP,
        sentence=f"The window grew from {units.exact_bytes(first)} to {units.exact_bytes(largest)} in {top + 1} rounds.",
        cause=f"{how}A window that starts small and grows is normal. It stops where the share of the buffer, or "
        "autotuning's maximum, ends.",
        evidence=f"rounds 0 to {top}",
        frames=frames(flow, growing),
        values={"first_bytes": first, "largest_bytes": largest, "rounds": top + 1},
        source="tcp_grow_window(): rcv_ssthresh += 2 * advmss" if on_linux else "RFC 9293 section 3.8.6",
    )
