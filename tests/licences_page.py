"""The page of licences: every locked dependency of the core and of the release, with the licence that it states."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
from typing import TYPE_CHECKING, Final

from oracles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE: Final = ROOT / "docs/licences.md"
PYTHON_LOCK: Final = ROOT / ".github/requirements.txt"
ELSEWHERE: Final = {
    "appnope": "BSD-2-Clause",
    "axe-playwright-python": "MIT; axe-core MPL-2.0",
    "cffi": "MIT-0",
    "colorama": "BSD License",
    "importlib-metadata": "Apache-2.0",
    "lazy-importer": "Apache-2.0",
    "pycparser": "BSD-3-Clause",
    "tzdata": "Apache-2.0",
    "zipp": "MIT",
}
"""Licences of packages that only other platforms or versions of Python install, or whose metadata state none."""
LONGEST: Final = 60
"""Characters of the longest field ``License`` that is a name: some packages put the whole text there."""
HEAD: Final = """# Licences

Generated from `core/Cargo.lock` and `.github/requirements.txt`, with the licence that each package states. bdpcap itself
is under the MIT licence. `make audit` holds the core to the licences that `core/deny.toml` allows."""


def crates() -> list[tuple[str, str, str]]:
    """Return name, version and licence of each crate that the core is built from or tested with."""
    command = ["cargo", "metadata", "--locked", "--all-features", "--format-version", "1"]
    found = subprocess.run(
        [*command, "--manifest-path", str(ROOT / "core/Cargo.toml")],
        capture_output=True,
        check=True,
        text=True,
    )
    packages = json.loads(found.stdout)["packages"]
    return sorted((one["name"], one["version"], one["license"]) for one in packages if one["source"])


def wheels() -> list[tuple[str, str, str]]:
    """Return name, version and licence of each Python package that a release is tried with."""
    return [(name, version, _licence(name)) for name, version in locked()]


def locked() -> Iterator[tuple[str, str]]:
    """Yield name and version of each locked Python package; some have a version for each range of Python's."""
    text = PYTHON_LOCK.read_text(encoding="utf-8")
    yield from re.findall(r"^([\w.-]+)==([\w.+-]+)", text, flags=re.MULTILINE)


def _licence(name: str) -> str:
    try:
        about = importlib.metadata.metadata(name)
    except importlib.metadata.PackageNotFoundError:
        return ELSEWHERE[name]
    stated = about.get("License-Expression") or about.get("License") or ""
    if 0 < len(stated) <= LONGEST:
        return stated
    classified = [one for one in about.get_all("Classifier") or [] if one.startswith("License ::")]
    return (
        ", ".join(one.rpartition(" :: ")[2] for one in classified)
        or stated.partition("\n")[0]
        or ELSEWHERE[name]
    )


def page() -> str:
    """Return the page."""
    parts = [HEAD]
    for title, packages in (("Rust", crates()), ("Python", wheels())):
        rows = [f"| {name} | {version} | {licence} |" for name, version, licence in packages]
        parts.append(
            "\n".join([f"## {title}", "", "| package | version | licence |", "|---|---|---|", *rows])
        )
    return "\n\n".join(parts) + "\n"
