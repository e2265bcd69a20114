"""What kept a TCP sender from sending more, for every round trip in a packet capture."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from bdpcap._core import OPTIMISED, CaptureError, FilterError, __version__

if TYPE_CHECKING:
    from bdpcap.analysis import Capture, CaptureInfo, Damage, Flow, Progress, analyze, stream_events
    from bdpcap.anonymize import Pseudonyms
    from bdpcap.explain import Finding

__all__ = [
    "Capture",
    "CaptureError",
    "CaptureInfo",
    "Damage",
    "FilterError",
    "Finding",
    "Flow",
    "Progress",
    "Pseudonyms",
    "__version__",
    "analyze",
    "stream_events",
]

_ELSEWHERE = {"Finding": "bdpcap.explain", "Pseudonyms": "bdpcap.anonymize"}

if not OPTIMISED:
    warnings.warn("bdpcap was built without optimisation and is slow: build with --release", stacklevel=2)


def __getattr__(name: str) -> Any:
    # pandas takes most of the time that the command line needs to start, and not every command needs it at once.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_ELSEWHERE.get(name, "bdpcap.analysis")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
