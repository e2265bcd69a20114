"""Colours of the figures. Each limit takes one of them in its module of `bdpcap.diagnosis.kinds`.

Most colours are those of Okabe and Ito (M. Okabe, K. Ito, "Color Universal Design", 2008). In every figure *slate* is
data sent, *olive* data acknowledged, and *vermillion* data retransmitted. *Blue* is the receive window, and *green* the
path: its capacity, its round-trip time and its queue. *Bronze* is the congestion window that the sending host reports.
`tests/test_colours.py` simulates how colour-blind readers see each pair, and holds lines against light and dark paper.
"""

from __future__ import annotations

from typing import Final

BLUE: Final = "#0072b2"
ORANGE: Final = "#e69f00"
PURPLE: Final = "#cc79a7"
GREEN: Final = "#009e73"
SKY: Final = "#56b4e9"
GREY: Final = "#666666"
LIGHT_GREY: Final = "#d9d9d9"

SENT: Final = "#6f809a"
SENT_FILL: Final = "rgba(111, 128, 154, 0.20)"
ACKNOWLEDGED: Final = "#716847"
ACKNOWLEDGED_FILL: Final = "rgba(113, 104, 71, 0.20)"
RETRANSMITTED: Final = "#d55e00"
WINDOW: Final = BLUE
WINDOW_FILL: Final = "rgba(0, 114, 178, 0.45)"
PATH: Final = GREEN
PATH_FILL: Final = "rgba(0, 158, 115, 0.20)"
HOST: Final = "#b58100"
STALL_FILL: Final = "rgba(213, 94, 0, 0.20)"
CLOSED_FILL: Final = "rgba(0, 114, 178, 0.16)"
INK: Final = "#1f2933"
OVERVIEW_FILL: Final = "rgba(128, 128, 128, 0.08)"
GRID: Final = "rgba(128, 128, 128, 0.22)"
