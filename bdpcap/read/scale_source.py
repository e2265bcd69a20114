"""Codes of the column ``window_scale_source``: how the window scale of a flow is known."""

from __future__ import annotations

from typing import Final

from bdpcap import _core

__all__ = ["DECLINED", "INFERRED", "NEGOTIATED", "ONE_SIDED", "UNKNOWN"]

NEGOTIATED: Final = _core.SCALE_SOURCES.index("negotiated")
"""Both SYNs have the window scale option."""
DECLINED: Final = _core.SCALE_SOURCES.index("declined")
"""A SYN lacks the option, so no window is scaled (RFC 7323 section 2.2)."""
ONE_SIDED: Final = _core.SCALE_SOURCES.index("one-sided")
"""The advertiser's SYN has the option, and the other SYN is unknown. The scale is taken to be in force."""
INFERRED: Final = _core.SCALE_SOURCES.index("inferred")
"""The scale was inferred from the traffic."""
UNKNOWN: Final = _core.SCALE_SOURCES.index("unknown")
"""The advertiser's SYN was not captured, or the snap length cut off the option."""
