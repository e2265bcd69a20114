"""The numbers behind each verdict, as a short sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bdpcap import units

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bdpcap.limits.evidence import Evidence
    from bdpcap.limits.rounds import Floats
    from bdpcap.limits.verdict import Verdict

__all__ = ["sentences"]


def _percent(share: Floats) -> NDArray[np.int64]:
    return np.round(100 * np.clip(np.nan_to_num(share), 0.0, 1e6)).astype(np.int64)


def sentences(evidence: Evidence, verdict: Verdict) -> list[str]:  # noqa: C901, PLR0912 - a sentence a branch
    """One for every round."""
    tight, shut = _percent(evidence.tightness), _percent(evidence.share("zero_window_ns"))
    busy, empty = _percent(evidence.share("busy_ns")), _percent(evidence.share("empty_ns"))
    full, path = _percent(evidence.fullness), _percent(evidence.path_fullness)
    # Data may answer acknowledgments of before, or such as were not captured: more answers than are counted here.
    answered = _percent(np.minimum(evidence.response, 1.0))
    unasked = _percent(evidence.unprompted_bytes / np.maximum(evidence.sent_bytes, 1.0))
    queue_ms = np.nan_to_num(evidence.rtt - evidence.floor) / 1e6
    flight, resent = evidence.columns["flight_max_bytes"], evidence.columns["resent_segments"]
    sent, acked = evidence.columns["sent_bytes"], evidence.columns["acked_bytes"]
    window = np.nan_to_num(evidence.window_max_bytes).astype(np.int64)
    slight, draining = evidence.slight, evidence.draining
    over = evidence.columns["after_fin"]
    words = []
    for i, (limit, reason) in enumerate(zip(verdict.limit, verdict.reason, strict=True)):
        flying = f"{units.number(flight[i], 'byte')} in flight"
        match limit:
            case _ if reason:
                text = reason
            case "rwnd" if shut[i]:
                text = f"window closed for {shut[i]} % of the round"
            case "rwnd":
                text = f"window full for {tight[i]} % of the round, {flight[i]:,} of {window[i]:,} bytes in flight"
            case "sndbuf":
                text = f"{flying} at most, round after round; {answered[i]} % of ACKs answered"
            case "link":
                text = f"queue of {queue_ms[i]:.1f} ms stood for {busy[i]} % of the round, {full[i]} % of the best rate"
                if path[i] >= full[i] + 5:
                    text += f", {path[i]} % with what else went from host to host"
            case "app" if over[i] and flight[i]:
                text = "all was sent, the FIN too"
                if resent[i]:
                    text += f"; {units.number(resent[i], 'packet')} sent again"
            case "app" if empty[i] > 10:
                text = f"nothing in flight for {empty[i]} % of the round"
            case "app" if slight[i]:
                text = f"{flying}, less than any sender may send"
            case "app" if draining[i]:
                text = f"{units.number(sent[i], 'byte')} sent while {acked[i]:,} were acknowledged"
            case "app" if unasked[i] >= 50:
                text = f"{unasked[i]} % of the bytes came without an ACK calling for them"
            case "app":
                text = f"{answered[i]} % of ACKs answered; data came in bursts of its own time"
            case "cwnd" if resent[i]:
                text = f"{units.number(resent[i], 'packet')} sent again, {flying}"
            case "cwnd" if np.isfinite(evidence.response[i]):
                text = f"{answered[i]} % of ACKs answered, {flying}, window and link not full"
            case "cwnd":
                text = f"{flying}, window and link not full"
            case _:
                text = "no rule holds"
        words.append(text)
    return words
