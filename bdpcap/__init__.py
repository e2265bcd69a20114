"""What kept a TCP sender from sending more, for every round trip in a packet capture."""

from __future__ import annotations

import warnings

from bdpcap._core import OPTIMISED, CaptureError, FilterError, __version__
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

if not OPTIMISED:
    warnings.warn("bdpcap was built without optimisation and is slow: build with --release", stacklevel=2)
