"""The report: as one HTML file, as text, as JSON, and as an archive of all of these."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bdpcap.report.document import document, lines
from bdpcap.report.text import text

if TYPE_CHECKING:
    from bdpcap.report.bundle import write_bundle
    from bdpcap.report.page import write_html

__all__ = ["document", "lines", "text", "write_bundle", "write_html"]

_DRAWN = {"write_bundle": "bundle", "write_html": "page"}


def __getattr__(name: str) -> Any:
    # These modules are loaded when used: text and JSON need no plotting code.
    if name not in _DRAWN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"bdpcap.report.{_DRAWN[name]}"), name)
