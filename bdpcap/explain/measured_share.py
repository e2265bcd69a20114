"""Window arithmetic backward where the kernel measures the share of the buffer from the memory of received packets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdpcap.explain.answer import Answer, Exactness
from bdpcap.explain.buffers import FIELD_MAX, FULL_PACKETS, MEASURED_SHARES, Era, Knob, Setting
from bdpcap.explain.chance import roundest

if TYPE_CHECKING:
    from bdpcap.explain.answer import Facts, Observed

__all__ = ["fit"]


def fit(era: Era, observed: Observed, facts: Facts) -> Answer | None:
    """
    Return the range of SO_RCVBUF that gives a window where the kernel measures the share of the buffer.

    The share at the handshake is one half, so the window scale and the SYN-ACK's window bound the buffer exactly.
    None if no buffer fits, or if the known SO_RCVBUF does not.
    """
    window = observed.window
    least, most = MEASURED_SHARES
    low, high = -(-window // int(2 * most)), int(window / (2 * least))
    if observed.scale is not None:
        low = max(low, 1 << (15 + observed.scale) if observed.scale else 1)
        high = (1 << (16 + observed.scale)) - 1 if observed.field_full else high
        high = min(high, (1 << (16 + observed.scale)) - 1)
    first = observed.syn is not None and observed.syn < FIELD_MAX
    if observed.syn is not None and first:
        whole = observed.syn % observed.mss == 0
        low, high = max(low, observed.syn), min(high, observed.syn + (observed.mss - 1 if whole else 0))
    likely = (max(low, int(window / (2 * FULL_PACKETS[1]))), min(high, int(window / (2 * FULL_PACKETS[0]))))
    narrow = likely[0] <= likely[1]
    given = [buffer for buffer in facts.buffers if low <= buffer <= high]
    if low > high or (facts.rcvbuf is not None and not given):
        return None
    value = given[0] if given else roundest(*(likely if narrow and not first else (low, high)))
    # Without facts or a window scale, a share that some packets have is no evidence for these kernels.
    with_facts = facts.kernel is not None or facts.rcvbuf is not None
    pinned = first or (narrow and (observed.scale is not None or with_facts))
    setting = Setting(era, Knob.OPTION, value)
    words = (
        f"2 x {value:,} x {window / (2 * value):.3f}, the measured share of payload in memory, = {window:,}"
    )
    return Answer(
        setting,
        value if given else low,
        value if given else high,
        setting.advertises(observed.mss, observed.scale),
        facts.request(value) + words,
        Exactness.CONSISTENT,
        fitted=True,
        pinned=pinned,
        given=bool(given),
    )
