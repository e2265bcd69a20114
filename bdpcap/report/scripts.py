"""Scripts and data of a page: package files, their hashes for the content security policy, and escaped JSON."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from typing import Any, Final

__all__ = ["asset", "data", "policy_hash"]

_ASSETS: Final = resources.files("bdpcap.report") / "assets"


def asset(name: str) -> str:
    """Return the text of a file from the folder ``assets``."""
    return (_ASSETS / name).read_text(encoding="utf-8")


def policy_hash(script: str) -> str:
    """Return the source expression that allows a script in a content security policy: ``sha256-...``."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def data(document: dict[str, Any]) -> str:
    """Return JSON without ``<``, so that it cannot close its script element."""
    return json.dumps(document, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
