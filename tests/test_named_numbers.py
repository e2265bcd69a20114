"""Numbers of judgement have a name or a reason: in the rules, and in all that explains, decides and reports."""

from __future__ import annotations

import ast
from itertools import pairwise

import pytest
from oracles import ROOT

ROOMS = ("limits", "explain", "diagnosis", "report")
"""Packages whose numbers decide what is said."""
# 0, 1 and 2 count, halve and double. Per cent and nanoseconds convert units.
KNOWN = (0, 1, 2, 100, 1e9, 1e-9)


def literals(tree):
    """Numbers written in a module: their line and value; not those of `KNOWN`, nor powers, which are prefixes."""
    powers = [node for node in ast.walk(tree) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)]
    prefixes = {id(part) for node in powers for part in (node.left, node.right)}
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
        and node.value not in KNOWN
        and id(node) not in prefixes
    ]


def named(tree):
    """Lines of a module's constants that a docstring follows, and of thresholds that give a reason."""
    lines = set()
    for statement, following in pairwise([*tree.body, None]):
        described = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
        if isinstance(statement, ast.AnnAssign) and described:
            lines |= set(range(statement.lineno, statement.end_lineno + 1))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and any(key.arg == "because" for key in node.keywords):
            lines |= set(range(node.lineno, node.end_lineno + 1))
    return lines


# Written for people, not compared with: per cent, and the unit in which a text shows a quantity.
WRITES = {"rule.py", "sentence.py"}


@pytest.mark.parametrize(
    "path",
    sorted(path for room in ROOMS for path in (ROOT / "bdpcap" / room).rglob("*.py")),
    ids=lambda path: str(path.relative_to(ROOT / "bdpcap").with_suffix("")),
)
def test_every_number_has_a_name_or_a_reason(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    explained = named(tree)
    anonymous = [(line, value) for line, value in literals(tree) if line not in explained]
    assert path.name in WRITES or not anonymous


def test_a_number_without_a_name_is_seen():
    tree = ast.parse(
        "A: Final = 3\nB: Final = 4\n'four'\nC = at_least(D, 5, because='x')\nE = F >= 6\nG = 10**7 * 100\n"
    )
    assert {value for line, value in literals(tree) if line not in named(tree)} == {3, 6}
