"""Kernel counters of the sending host, as a table and compared with the capture.

Examples
--------
>>> counters = bdpcap.host.read("tests/data/host/ss.log")
>>> len(counters.samples)
29
"""

from bdpcap.host.account import Account, read, samples_of
from bdpcap.host.against_capture import Comparison, compare

__all__ = ["Account", "Comparison", "compare", "read", "samples_of"]


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
