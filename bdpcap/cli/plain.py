"""Read simple options without pydantic, whose import takes longer than all of `bdpcap bdp`.

Typer loads pydantic to read any option. Values that are not read here go to typer, which reports errors in them.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from typer._coercion import RuntimeParam, build_runtime_param

if TYPE_CHECKING:
    from typer._click import Context
    from typer.models import ParameterInfo

__all__ = ["read_plainly"]


def read_plainly(params: list[Any]) -> list[Any]:
    """Return typer's options and arguments, changed to read simple values without pydantic."""
    for param in params:
        param._runtime_param = _Plain(  # noqa: SLF001 - typer has no public way to change this
            param.type_descriptor.parameter_info, param.type_descriptor.annotation
        )
    return params


class _Plain(RuntimeParam):
    """Reads text, whole numbers, paths, members of an enum, and values with a parser; each single or repeated."""

    def _coerce_value(self, value: Any, param: Any, ctx: Context) -> Any:
        try:
            if not isinstance(value, list | tuple):
                return _plain(value, self.annotation, self.parameter_info)
            (kind,) = get_args(self.annotation)
            return [_plain(item, kind, self.parameter_info) for item in value]
        except ValueError:
            return build_runtime_param(param.type_descriptor).coerce(value, param=param, ctx=ctx)


def _plain(item: Any, kind: Any, info: ParameterInfo) -> Any:
    """Return the value of an item.

    Raises
    ------
    ValueError
        The value is wrong, or not of a simple kind.
    """
    if not isinstance(item, str):
        if isinstance(kind, type) and isinstance(item, kind):
            return item  # a default, which has its type already
        raise ValueError(item)
    if info.parser is not None:
        return info.parser(item)
    if kind is str or (isinstance(kind, type) and issubclass(kind, Enum)):
        return kind(item)
    if kind is Path and not (info.exists or info.resolve_path):
        return Path(item)
    if kind is int and item.isascii() and item.isdecimal():
        number = int(item)
        if (info.min is None or info.min <= number) and (info.max is None or number <= info.max):
            return number
    raise ValueError(item)
