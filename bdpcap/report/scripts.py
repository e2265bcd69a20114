"""What runs in a page: its own scripts, by a hash that its content security policy names, and data that ends none."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from typing import Any, Final

__all__ = ["asset", "data", "policy_hash"]

_ASSETS: Final = resources.files("bdpcap.report") / "assets"


def asset(name: str) -> str:
    """Return a file of the package that goes into pages."""
    return (_ASSETS / name).read_text(encoding="utf-8")


def policy_hash(script: str) -> str:
    """Return what a content security policy calls a script by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def data(document: dict[str, Any]) -> str:
    """Return JSON that cannot end the element it stands in."""
    return json.dumps(document, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
