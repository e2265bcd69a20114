"""Which module may import which: every one only what stands below it, types included.

`Capture` and `Flow` are what users hold, so they are made of everything. Rooms below may name their types.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

import pytest
from oracles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PACKAGE = ROOT / "bdpcap"

LAYERS = (
    {"_core"},
    {"errors", "timers"},
    {"words"},
    {"hosts"},
    {"tables"},
    {"read"},
    {"limits"},
    {"contents"},
    {"explain", "host", "pairing"},
    {"comparing"},
    {"diagnosis"},
    {"plots"},
    {"report"},
    {"view"},
    {"capture"},
    {"analysis"},
    {"path_ends"},
    {"fleet"},
    {"cli"},
)
"""From the ground up: a module or package may import what stands in a layer below its own, and itself."""

ROOM = {name: number for number, layer in enumerate(LAYERS) for name in layer}


def held_by_users(tree: ast.AST) -> Iterator[ast.ImportFrom]:
    """Yield the imports of the types `Capture` and `Flow`."""
    for test in ast.walk(tree):
        if isinstance(test, ast.If) and ast.unparse(test.test) == "TYPE_CHECKING":
            found = [
                one for one in test.body if isinstance(one, ast.ImportFrom) and one.module == "bdpcap.capture"
            ]
            yield from (one for one in found if {alias.name for alias in one.names} <= {"Capture", "Flow"})


def rooms(path: Path) -> Iterator[str]:
    """Yield the modules and packages directly below `bdpcap` that a file imports, wherever it does."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    given = set(held_by_users(tree))
    for node in ast.walk(tree):
        if node in given:
            continue
        if isinstance(node, ast.ImportFrom) and node.module == "bdpcap":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bdpcap."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("bdpcap."))


def test_every_module_has_a_layer():
    there = {path.stem for path in PACKAGE.glob("*.py")} | {
        path.parent.name for path in PACKAGE.glob("*/__init__.py")
    }
    assert set(ROOM) == there - {"__init__", "__main__"} | {"_core"}


@pytest.mark.parametrize("name", sorted(set(ROOM) - {"_core"}))
def test_a_module_imports_only_what_stands_below_it(name):
    files = sorted((PACKAGE / name).rglob("*.py")) or [PACKAGE / f"{name}.py"]
    found = {room for file in files for room in rooms(file)} - {name}
    assert {room for room in found if ROOM[room] >= ROOM[name]} == set()


FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
}
"""Every file by the name under which it is imported; a package's is that of its `__init__.py`."""


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield those of `FILES` that a file imports to run, wherever it does; types may look upward within a room."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ImportFrom):
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in FILES else str(node.module) for name in names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield from imported(node)


def test_no_file_imports_itself_through_others():
    trees = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in FILES.items()}
    below = {name: set(imported(tree)) & FILES.keys() for name, tree in trees.items() if name != "bdpcap"}
    assert set(TopologicalSorter(below).static_order()) >= below.keys()


@pytest.mark.parametrize(
    "words",
    [
        ["info", "CAPTURE"],
        ["explain", "CAPTURE"],
        ["report", "CAPTURE", "--text", "-"],
        ["compare", "CAPTURE"],
    ],
    ids=lambda words: words[0],
)
def test_what_is_said_loads_nothing_that_draws(words):
    sample = str(ROOT / "sample_captures" / "linux61_advwinscale2_w50000.pcap.zst")
    words = [sample if word == "CAPTURE" else word for word in words]
    program = f"import sys; from bdpcap.cli import main; main({words}); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True, timeout=60
    )
    assert done.stdout
    assert {"plotly", "bdpcap.plots", "jinja2"} & set(done.stderr.split()) == set()
