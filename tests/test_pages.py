"""Generated pages and reviewed texts are those of today: `make pages` writes them."""

import sys

import pytest
import reviewed
from conftest import unavailable
from oracles import ROOT
from pages import can_be_made, difference, main, pages


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page[0].relative_to(ROOT)))
def test_a_page_is_as_it_would_be_made(page):
    if not can_be_made(page):
        unavailable("../shared", "captures")
    found = difference(page)
    assert not found, f"run `make pages`, and read the difference before you commit it:\n{found}"


def test_a_change_of_a_page_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("pages.ROOT", tmp_path)
    kept = tmp_path / "page.md"
    kept.write_text("one\ntwo\n")
    assert difference((kept, lambda: "one\ntwo\n", str)) == ""
    assert "-two\n+three" in difference((kept, lambda: "one\nthree\n", str))
    assert "+one" in difference((tmp_path / "absent.md", lambda: "one\n", str))


def test_texts_on_captures_that_are_missing_are_left_as_they_are(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("pages.SHARED", tmp_path / "absent")
    waiting = [page[0] for page in pages() if not can_be_made(page)]
    assert waiting == [reviewed.referenced_name(one) for one in reviewed.REFERENCED]
    kept = [path.read_bytes() for path in waiting]
    monkeypatch.setattr(sys, "argv", ["pages.py", "reviewed/referenced"])
    assert main() == 0
    assert capsys.readouterr().err.count("../shared is missing") == len(waiting)
    assert [path.read_bytes() for path in waiting] == kept
