"""One colour and one name for every limit, and the colours of what the figures draw.

The colours are Okabe and Ito's, which stay apart for colour-blind eyes
(M. Okabe, K. Ito, "Color Universal Design", 2008). In every figure *slate* is what the flow did,
*blue* what the window allows, *green* what the path allows, *orange* what the queue added,
*purple* what SACK reported, and *vermillion* what was lost.
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

FLOW: Final = "#6f809a"
FLOW_FILL: Final = "rgba(111, 128, 154, 0.20)"
WINDOW: Final = LIMIT_COLOURS["rwnd"]
PATH: Final = LIMIT_COLOURS["link"]
QUEUE: Final = LIMIT_COLOURS["cwnd"]
QUEUE_FILL: Final = "rgba(230, 159, 0, 0.25)"
SACK: Final = LIMIT_COLOURS["sndbuf"]
LOSS: Final = "#d55e00"
INK: Final = "#1f2933"
GRID: Final = "rgba(128, 128, 128, 0.22)"
