"""One colour and one name for every limit and for idle time, and the other colours of the figures.

The colours are those of Okabe and Ito, which colour-blind readers can distinguish
(M. Okabe, K. Ito, "Color Universal Design", 2008). In every figure *slate* is data sent, *olive* data acknowledged, and
*vermillion* data retransmitted. *Blue* is the receive window, and *green* the path: its capacity, its round-trip time
and its queue.
"""

from __future__ import annotations

from typing import Final

LIMIT_COLOURS: Final = {
    "rwnd": "#0072b2",
    "cwnd": "#e69f00",
    "sndbuf": "#cc79a7",
    "link": "#009e73",
    "app": "#56b4e9",
    "unknown": "#999999",
}

LIMIT_NAMES: Final = {
    "rwnd": "receive window",
    "cwnd": "congestion control",
    "sndbuf": "send buffer",
    "link": "link",
    "app": "application",
    "unknown": "undecided",
}

STATE_COLOURS: Final = {**LIMIT_COLOURS, "idle": "#d9d9d9"}
STATE_NAMES: Final = {**LIMIT_NAMES, "idle": "idle"}
"""Names of all states of a round: limits, and idle time."""

SENT: Final = "#6f809a"
SENT_FILL: Final = "rgba(111, 128, 154, 0.20)"
ACKNOWLEDGED: Final = "#867d21"
ACKNOWLEDGED_FILL: Final = "rgba(134, 125, 33, 0.18)"
RETRANSMITTED: Final = "#d55e00"
WINDOW: Final = LIMIT_COLOURS["rwnd"]
WINDOW_FILL: Final = "rgba(0, 114, 178, 0.22)"
PATH: Final = LIMIT_COLOURS["link"]
PATH_FILL: Final = "rgba(0, 158, 115, 0.28)"
INK: Final = "#1f2933"
GRID: Final = "rgba(128, 128, 128, 0.22)"
