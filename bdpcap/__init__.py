"""Find the limit that kept a TCP sender from sending more, for every round trip in a packet capture.

- `analyze` reads a `Capture`, a sequence of `Flow`. `compare` sets captures side by side, `pair` both ends of a path.
- `Flow.verdict` says what held the sender, `Flow.why` and `Flow.findings` why (`Finding`), `Flow.remedy` what to do.
- `Capture.report` and `Flow.report` write a page, `plot` draws; `plots` has the figures one by one.
- `Capture.info` (`CaptureInfo`), `Capture.damages` (`Damage`) and `Capture.quality` show how far it can be trusted.
- `stream_events` reads packets in pieces; `Budget` bounds memory, `Pseudonyms` hides names, `Progress` shows progress.
- `host` reads the counters of the sending host's kernel.
- `bdp` is the calculator. Errors are `CaptureError`, `FilterError`, `ArgumentError` and `NotFoundError`.

Examples
--------
>>> import bdpcap
>>> capture = bdpcap.analyze("sample_captures/linux61_advwinscale2_w50000.pcap.zst")
>>> for flow in capture.top():
...     print(flow.summary["limit"], flow.remedy.expected)
rwnd 12.4 → about 24.3 Mbit/s, then the link
"""

from __future__ import annotations

import warnings
from importlib import import_module
from pkgutil import extend_path
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"  # the version in core/Cargo.toml; a core of another version is refused

# In a clone this folder has the compiled core only after an editable install. Otherwise the installed package has it.
__path__ = extend_path(__path__, __name__)
try:
    from bdpcap._core import __file__ as _built
    from bdpcap._core import __version__ as _built_version
except ModuleNotFoundError:
    raise ImportError("bdpcap is not built: run `pip install .` at the top of its repository") from None
if _built_version != __version__:
    raise ImportError(
        f"bdpcap {__version__} cannot use {_built}, built for {_built_version}: "
        "install it again, with `pip install .` or `pip install --editable .` as before"
    )
from bdpcap._core import OPTIMISED
from bdpcap.errors import ArgumentError, CaptureError, FilterError, NotFoundError

if TYPE_CHECKING:
    from bdpcap import host, plots
    from bdpcap.analysis import analyze, compare, stream_events
    from bdpcap.capture import Capture, Flow
    from bdpcap.explain.bdp import bdp
    from bdpcap.explain.findings import Finding, Findings
    from bdpcap.path_ends import Pair, pair
    from bdpcap.read.anonymize import Pseudonyms
    from bdpcap.read.budget import Budget
    from bdpcap.read.facts import CaptureInfo, Damage, Progress

__all__ = [
    "ArgumentError",
    "Budget",
    "Capture",
    "CaptureError",
    "CaptureInfo",
    "Damage",
    "FilterError",
    "Finding",
    "Findings",
    "Flow",
    "NotFoundError",
    "Pair",
    "Progress",
    "Pseudonyms",
    "__version__",
    "analyze",
    "bdp",
    "compare",
    "host",
    "pair",
    "plots",
    "stream_events",
]

_MODULES = {
    **dict.fromkeys(("Capture", "Flow"), "bdpcap.capture"),
    **dict.fromkeys(("CaptureInfo", "Damage", "Progress"), "bdpcap.read.facts"),
    **dict.fromkeys(("Finding", "Findings"), "bdpcap.explain.findings"),
    **dict.fromkeys(("Pair", "pair"), "bdpcap.path_ends"),
    "Budget": "bdpcap.read.budget",
    "bdp": "bdpcap.explain.bdp",
    "Pseudonyms": "bdpcap.read.anonymize",
}
_RENAMED = {"Limits": "Budget; pass it as analyze(..., budget=...)"}

if not OPTIMISED:
    warnings.warn("bdpcap was built without optimisation and is slow: build with --release", stacklevel=2)


def __getattr__(name: str) -> Any:
    # Names are imported on first use: pandas takes most of the command line's start, and not every command needs it.
    if name in _RENAMED:
        raise AttributeError(f"bdpcap.{name} is now bdpcap.{_RENAMED[name]}")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in ("host", "plots"):
        return import_module(f"bdpcap.{name}")
    value = getattr(import_module(_MODULES.get(name, "bdpcap.analysis")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
