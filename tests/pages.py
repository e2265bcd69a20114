"""Every generated page and reviewed text, and how each is made: `make pages` writes them, `make check-pages` compares.

python tests/pages.py [--check] [NAME ...]
"""

from __future__ import annotations

import argparse
import difflib
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import command_line_page
import licences_page
import limits_page
import man_page
import nbformat
import notebook_pages
import output_pages
import picture_texts
import reference_pages
import reviewed
from oracles import ROOT, SAMPLES, SHARED

if TYPE_CHECKING:
    from collections.abc import Callable

Made = tuple[Path, "Callable[[], str]", "Callable[[str], str]"]
"""A file, the function that returns its content, and the part of the content in which a difference counts."""


def _around(path: Path, change: Callable[[str], str]) -> Callable[[], str]:
    """Return the function that replaces the generated parts of a page that is otherwise written by hand."""
    return lambda: change(path.read_text(encoding="utf-8"))


def _whole(content: str) -> str:
    return content


def _outputs(content: str) -> str:
    """Return the cells of a notebook and the text of their outputs; pictures and addresses differ between runs."""
    notebook = nbformat.reads(content, as_version=4)
    cells = [f"[{cell.cell_type}]\n{cell.source}" for cell in notebook.cells]
    return "\n".join([*cells, *notebook_pages.printed(notebook)])


def pages() -> list[Made]:
    """Return all pages, those that take longest last."""
    commands = command_line_page.OVERVIEW
    made: list[Made] = [
        (commands, _around(commands, command_line_page.overview), _whole),
        (man_page.PAGE, man_page.page, _whole),
        (licences_page.PAGE, licences_page.page, _whole),
    ]
    made += [
        (path, partial(command_line_page.page, name), _whole)
        for name, path in command_line_page.PAGES.items()
    ]
    made += [(path, _around(path, limits_page.with_declarations), _whole) for path in limits_page.marked()]
    made += [
        (limits_page.DOCS / name, partial(str, content), _whole)
        for name, content in limits_page.pages().items()
    ]
    made += [(path, _around(path, output_pages.with_output), _whole) for path in output_pages.pages()]
    made += [(reference_pages.DOCS / name, page, _whole) for name, page in reference_pages.PAGES.items()]
    made += [(path, words, _whole) for path, words in picture_texts.PAGES.items()]
    made += [(reviewed.name(sample), partial(reviewed.text, sample), _whole) for sample in SAMPLES]
    made += [
        (reviewed.first_name(one), partial(reviewed.first_text, one), _whole) for one in reviewed.TRANSFERS
    ]
    made += [
        (reviewed.referenced_name(one), partial(reviewed.first_text, one), _whole)
        for one in reviewed.REFERENCED
    ]
    made += [
        (notebook_pages.page(script), partial(notebook_pages.content, script), _outputs)
        for script in notebook_pages.SCRIPTS
    ]
    return made


def can_be_made(page: Made) -> bool:
    """Return whether all that a page is made from is here: captures of ../shared may be missing."""
    return SHARED.is_dir() or page[0].parent != reviewed.REFERENCED_TEXTS


def difference(page: Made) -> str:
    """Return how a page would change, as a unified diff; empty where it is up to date."""
    path, make, compared = page
    name = str(path.relative_to(ROOT))
    kept = path.read_text(encoding="utf-8") if path.exists() else ""
    before, after = (compared(content).splitlines() if content else [] for content in (kept, make()))
    return "\n".join(difflib.unified_diff(before, after, name, f"{name} (made anew)", lineterm="", n=1))


def main() -> int:
    """Write the pages that changed, or with --check show how they would change."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 where a page would change"
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only pages whose path has NAME in it")
    options = parser.parse_args()
    changed = False
    for page in pages():
        path, make, _ = page
        name = str(path.relative_to(ROOT))
        if options.names and not any(part in name for part in options.names):
            continue
        if not can_be_made(page):
            print(f"{name} left as it is: ../shared is missing", file=sys.stderr)
            continue
        found = difference(page)
        if not found:
            continue
        changed = True
        print(found if options.check else f"{name} written: read its difference before you commit it")
        if not options.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(make(), encoding="utf-8")
    return int(changed and options.check)


if __name__ == "__main__":
    sys.exit(main())
