"""How the scale of a flow's windows is known: codes of ``window_scale_source`` in the core's columns."""

from __future__ import annotations

from typing import Final

from bdpcap import _core

__all__ = ["DECLINED", "INFERRED", "NEGOTIATED", "ONE_SIDED", "UNKNOWN"]

NEGOTIATED: Final = _core.SCALE_SOURCES.index("negotiated")
"""Both SYNs offered one."""
DECLINED: Final = _core.SCALE_SOURCES.index("declined")
"""A SYN offered none, so no window is scaled (RFC 7323 section 2.2)."""
ONE_SIDED: Final = _core.SCALE_SOURCES.index("one-sided")
"""The advertiser's SYN offered one, the other's is not known: taken to be in force."""
INFERRED: Final = _core.SCALE_SOURCES.index("inferred")
"""The traffic showed it."""
UNKNOWN: Final = _core.SCALE_SOURCES.index("unknown")
"""The advertiser's SYN was not captured, or cut before the option."""
