"""
Conditions over a row of a table, as a user types them: ``rwnd_share > 0.5 and limit == 'rwnd'``.

The syntax is a part of Python's: names of columns, numbers, strings, comparisons, ``and``, ``or``, ``not``,
``+ - * /`` and parentheses. Anything else is refused and never evaluated.
"""

from __future__ import annotations

import ast
import math
import operator
import warnings
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from bdpcap.tables import Column

    Value = float | str | None

_ARITHMETIC: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_SIGNS: Final[dict[type[ast.unaryop], Callable[[Any], Any]]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_EQUALITY: Final[dict[type[ast.cmpop], Callable[[Any, Any], bool]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_ORDER: Final[dict[type[ast.cmpop], Callable[[Any, Any], bool]]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_COMPARISONS: Final = _EQUALITY | _ORDER


class _Kind(StrEnum):
    NUMBER = "a number"
    TEXT = "a text"
    CONDITION = "a condition"


@dataclass(frozen=True)
class Expression:
    """A condition that was parsed and checked."""

    text: str
    columns: tuple[str, ...]
    """Distinct columns that the condition uses, in order."""
    _tree: ast.expr

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Return whether the condition is true for a row; a comparison with a missing value is false."""
        return _condition(self._tree, row)


def parse(
    text: str, columns: Mapping[str, Column], values: Mapping[str, Collection[str]] | None = None
) -> Expression:
    """
    Parse and check a condition.

    Parameters
    ----------
    text
        The condition as typed.
    columns
        Columns of the table by name.
    values
        All texts that a column can have, by column; a comparison with another text is refused.

    Raises
    ------
    ValueError
        The condition is wrong; the message names the wrong part and the possible ones.
    """
    try:
        tree = _tree(text.strip())
        checker = _Checker(text.strip(), columns, values or {})
        kind = checker.kind(tree)
    except (RecursionError, MemoryError):
        raise ValueError("the condition is nested too deeply") from None
    if kind is not _Kind.CONDITION:
        raise ValueError(f"{text.strip()!r} is {kind}, no condition: compare it with something")
    return Expression(text, tuple(dict.fromkeys(checker.found)), tree)


def _tree(text: str) -> ast.expr:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns of a name directly after a number, for example
            return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        at = (error.text or "")[max(0, (error.offset or 1) - 1) :].strip()
        raise ValueError(f"cannot read {text!r}{f' at {at!r}' if at else ''}") from None
    except ValueError as error:  # null bytes raise it before Python 3.12
        raise ValueError(f"cannot read {text!r}: {error}") from None


class _Checker:
    """Determines the kind of each part of a condition, and refuses parts without a meaning."""

    def __init__(
        self, text: str, columns: Mapping[str, Column], values: Mapping[str, Collection[str]]
    ) -> None:
        self._text, self._columns, self._values = text, columns, values
        self.found: list[str] = []

    def kind(self, node: ast.expr) -> _Kind:  # noqa: PLR0911 - one return for each part of the grammar
        match node:
            case ast.Name(id=name):
                return self._column(name)
            case ast.Constant(value=str()):
                return _Kind.TEXT
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return _Kind.NUMBER
            case ast.BoolOp(values=parts):
                return self._all(parts, _Kind.CONDITION, _Kind.CONDITION)
            case ast.UnaryOp(op=ast.Not(), operand=part):
                return self._all([part], _Kind.CONDITION, _Kind.CONDITION)
            case ast.UnaryOp(op=sign, operand=part) if type(sign) in _SIGNS:
                return self._all([part], _Kind.NUMBER, _Kind.NUMBER)
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _ARITHMETIC:
                return self._all([left, right], _Kind.NUMBER, _Kind.NUMBER)
            case ast.Compare(left=left, ops=signs, comparators=others):
                return self._comparison([left, *others], signs)
        raise ValueError(
            f"{self._source(node)!r} is not understood: there are columns, numbers, 'texts', < <= > >= == !=, "
            "and or not, + - * / and parentheses"
        )

    def _source(self, node: ast.expr) -> str:
        return ast.get_source_segment(self._text, node) or ast.unparse(node)

    def _column(self, name: str) -> _Kind:
        if name not in self._columns:
            raise ValueError(f"no column {name!r}")
        self.found.append(name)
        return _Kind.TEXT if self._columns[name].dtype == "str" else _Kind.NUMBER

    def _all(self, parts: list[ast.expr], needed: _Kind, made: _Kind) -> _Kind:
        for part in parts:
            kind = self.kind(part)
            if kind is not needed:
                raise ValueError(f"{self._source(part)!r} is {kind}, where {needed} is needed")
        return made

    def _comparison(self, parts: list[ast.expr], signs: list[ast.cmpop]) -> _Kind:
        first = self.kind(parts[0])
        if first is _Kind.CONDITION:
            raise ValueError(f"{self._source(parts[0])!r} is {first}: join conditions by and, or")
        self._all(parts[1:], first, first)
        known = _EQUALITY if first is _Kind.TEXT else _COMPARISONS
        for sign in signs:
            if type(sign) not in known:
                raise ValueError(
                    f"{self._text!r}: texts are compared by == and != alone, numbers also by order"
                )
        names = [part.id for part in parts if isinstance(part, ast.Name) and part.id in self._values]
        for part in parts:
            for name in names:
                if isinstance(part, ast.Constant) and part.value not in self._values[name]:
                    raise ValueError(
                        f"{name} is never {part.value!r}: there are {', '.join(self._values[name])}"
                    )
        return _Kind.CONDITION


def _condition(node: ast.expr, row: Mapping[str, Any]) -> bool:
    match node:
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(_condition(part, row) for part in parts)
        case ast.BoolOp(values=parts):
            return any(_condition(part, row) for part in parts)
        case ast.UnaryOp(operand=part):
            return not _condition(part, row)
        case ast.Compare(left=left, ops=signs, comparators=others):
            values = [_value(part, row) for part in (left, *others)]
            return all(
                before is not None and after is not None and _COMPARISONS[type(sign)](before, after)
                for before, sign, after in zip(values, signs, values[1:], strict=False)
            )
    raise AssertionError(ast.dump(node))


def _value(node: ast.expr, row: Mapping[str, Any]) -> Value:
    """Return the value of a part; None if a column is missing a value, or the result is not a number."""
    match node:
        case ast.Name(id=name):
            value = row[name]
            # Missing values are None, NaN (which is unequal to itself), or pandas' NA (whose comparison gives NA).
            return value if value is not None and (value == value) is True else None  # noqa: PLR0124
        case ast.Constant(value=str() | int() | float() as value):
            return value
        case ast.UnaryOp(op=sign, operand=part):
            inner = _value(part, row)
            return None if inner is None else _SIGNS[type(sign)](inner)
        case ast.BinOp(left=left, op=sign, right=right):
            before, after = _value(left, row), _value(right, row)
            if before is None or after is None:
                return None
            try:
                made: float = _ARITHMETIC[type(sign)](before, after)
            except (ZeroDivisionError, OverflowError):
                return None
            return None if math.isnan(made) else made
    raise AssertionError(ast.dump(node))
