"""The numbers with which evidence, doubts and tables compare: each has a name, and a docstring with unit and source."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable

__all__ = ["Number", "numbers"]


@dataclass(frozen=True)
class Number:
    """A named constant of a module of `bdpcap.limits`."""

    module: str
    """Path of the module below ``bdpcap/limits``, without suffix: ``evidence/rate``."""
    name: str
    value: float
    means: str
    """Its docstring: meaning, unit and source; empty where it has none."""


def numbers() -> list[Number]:
    """Return all named numbers of `bdpcap.limits`, by module."""
    return [found for name, text in _sources(resources.files("bdpcap.limits")) for found in _of(name, text)]


def _sources(folder: Traversable, under: str = "") -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each module."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _sources(entry, f"{under}{entry.name}/")
        elif entry.name.endswith(".py"):
            yield f"{under}{entry.name.removesuffix('.py')}", entry.read_text(encoding="utf-8")


def _of(module: str, text: str) -> Iterator[Number]:
    """Yield the numbers assigned at the top level of a module, with the string that follows each."""
    body = ast.parse(text).body
    for statement, following in zip(body, [*body[1:], None], strict=True):
        if not (isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)):
            continue
        value = statement.value
        if not (isinstance(value, ast.Constant) and type(value.value) in (int, float)):
            continue
        described = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
        means = str(following.value.value) if described else ""  # type: ignore[union-attr]
        yield Number(module, statement.target.id, value.value, " ".join(means.split()))
