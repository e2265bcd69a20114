"""Which file of the core may import which: every room only what stands below it, and no file itself through others."""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

import pytest
from oracles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    Module = tuple[str, ...]

SOURCE = ROOT / "core" / "src"

LAYERS = {
    (): (
        {"budget", "cells", "filter", "threads"},
        {"capture", "csv", "decode", "parquet"},
        {"source", "track"},
        {"annotate", "columns", "excerpt", "intake", "paths", "spans", "workers"},
        {"pieces", "pipeline"},
        {"python"},
    ),
    ("track",): (
        {"at", "null", "rate"},
        {"row"},
        {"event"},
        {"tap"},
        {"sender"},
        {"rounds"},
        {"flow"},
        {"connection"},
        {"cooked_hosts", "refusals", "table", "udp", "unpadded_hosts"},
    ),
}
"""Layers of the core and of the folders in it, from the ground up. A room is `x.rs` with the folder `x`; it may import
itself and rooms of the layers below its own."""

COMMENT = re.compile(r"//[^\n]*")
TESTS = re.compile(
    r"^#\[cfg\(test\)\]\n(?:pub(?:\(\w+\))? )?mod (\w+)(?:;| \{.*?^\})", re.DOTALL | re.MULTILINE
)
USE = re.compile(r"\buse ([^;]+);")
INNERMOST = re.compile(r"([\w:]*)\{([^{}]*)\}")
INLINE = re.compile(r"(?<![\w:])[a-z]\w*(?:::\w+)+")


def module(path: Path) -> Module:
    """Give the path of the module that a file is; of `lib.rs` it is empty."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[:-1] if parts[-1] in {"lib", "mod"} else parts


def without_tests(texts: dict[Module, str]) -> dict[Module, str]:
    """Leave out comments, and what only tests see."""
    code = {at: COMMENT.sub("", text) for at, text in texts.items()}
    tests = {(*at, found[1]) for at, text in code.items() for found in TESTS.finditer(text)}
    return {
        at: TESTS.sub("", text) for at, text in code.items() if not any(at[: len(it)] == it for it in tests)
    }


def leaves(tree: str) -> list[str]:
    """Give the paths of a `use` tree: of `a::{b, c::{d, e}}` these are `a::b`, `a::c::d`, `a::c::e`."""
    if not (braces := INNERMOST.search(tree)):
        return [path.split()[0] for path in tree.split(",") if path.strip()]
    before, names = braces.groups()
    paths = ", ".join(before + name.strip() for name in names.split(",") if name.strip())
    return leaves(tree[: braces.start()] + paths + tree[braces.end() :])


def imported(here: Module, code: dict[Module, str]) -> Iterator[Module]:
    """Yield the modules that a file names: a name that is handed on counts as one of the module that hands it on."""
    trees = [path for tree in USE.findall(code[here]) for path in leaves(tree)]
    for path in trees + INLINE.findall(USE.sub("", code[here])):
        first, *rest = names = path.split("::")
        if first == "crate":
            at, names = (), rest
        elif first in {"self", "super"} or (*here, first) in code:
            at = here
        else:
            continue  # another crate, or a name that is in scope
        for name in names:
            if name == "super":
                at = at[:-1]
            elif (*at, name) in code:
                at = (*at, name)
            elif name != "self":
                break
        if at != here:
            yield at


def imports(texts: dict[Module, str]) -> dict[Module, set[Module]]:
    """Give for every file those that it imports."""
    code = without_tests(texts)
    return {here: set(imported(here, code)) for here in code}


IMPORTS = imports({module(path): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.rs")})


def room(at: Module, folder: Module) -> str | None:
    """Give the room of a folder in which a file is, if it is in one."""
    inside = at[: len(folder)] == folder and len(at) > len(folder)
    return at[len(folder)] if inside else None


@pytest.mark.parametrize("folder", LAYERS, ids="/".join)
def test_every_module_has_a_layer(folder):
    there = {room(at, folder) for at in IMPORTS} - {None}
    assert set().union(*LAYERS[folder]) == there


@pytest.mark.parametrize(
    ("folder", "name"),
    [(folder, name) for folder, layers in LAYERS.items() for layer in layers for name in sorted(layer)],
    ids=lambda it: it if isinstance(it, str) else "/".join(it),
)
def test_a_room_imports_only_what_stands_below_it(folder, name):
    height = {name: number for number, layer in enumerate(LAYERS[folder]) for name in layer}
    found = {room(to, folder) for at, below in IMPORTS.items() if room(at, folder) == name for to in below}
    assert {to for to in found & height.keys() - {name} if height[to] >= height[name]} == set()


def test_no_file_imports_itself_through_others():
    assert set(TopologicalSorter(IMPORTS).static_order()) == IMPORTS.keys()


LOWER = dict.fromkeys([(), ("a",), ("a", "b"), ("a", "c"), ("d",)], "")


@pytest.mark.parametrize(
    ("text", "below"),
    [
        ("use crate::d::{self, E};", {("d",)}),
        ("use super::{b::{F, g}, H, super::d as i};", {("a", "b"), ("a",), ("d",)}),
        ("pub(super) use self::super::b::*;", {("a", "b")}),
        ("fn f() -> super::b::F { crate::d::e(std::mem::take) }", {("a", "b"), ("d",)}),
        ("$crate::a::b::g!()", {("a", "b")}),
        ("use std::b::F; /// See [`super::b`].\n// use super::b;", set()),
        ("#[cfg(test)]\nmod tests {\n    use super::super::b;\n}\n", set()),
    ],
)
def test_imports_are_seen(text, below):
    assert imports(LOWER | {("a", "c"): text})["a", "c"] == below


def test_children_are_seen_and_files_of_tests_are_not():
    texts = LOWER | {
        ("a",): "mod b;\n#[cfg(test)]\nmod c;\nuse b::F;\nfn f() { d::e() }",
        ("a", "c"): "use super::b;",
    }
    assert imports(texts) == {(): set(), ("a",): {("a", "b")}, ("a", "b"): set(), ("d",): set()}


def test_a_circle_is_seen():
    circle = imports(LOWER | {("a", "b"): "use super::F;", ("a",): "pub use b::F;"})
    with pytest.raises(CycleError):
        TopologicalSorter(circle).prepare()
