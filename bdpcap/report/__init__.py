"""The report: one HTML file, the same verdict as text, the same as JSON, and all of it in one archive."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bdpcap.report.document import document
from bdpcap.report.text import text

if TYPE_CHECKING:
    from bdpcap.report.bundle import write_bundle
    from bdpcap.report.page import write_html

__all__ = ["document", "text", "write_bundle", "write_html"]

_DRAWN = {"write_bundle": "bundle", "write_html": "page"}


def __getattr__(name: str) -> Any:
    # What is said needs nothing that draws.
    if name not in _DRAWN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"bdpcap.report.{_DRAWN[name]}"), name)
