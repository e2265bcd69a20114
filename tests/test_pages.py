"""Generated pages and reviewed texts are those of today: `make pages` writes them."""

import pytest
from oracles import ROOT
from pages import difference, pages


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page[0].relative_to(ROOT)))
def test_a_page_is_as_it_would_be_made(page):
    found = difference(page)
    assert not found, f"run `make pages`, and read the difference before you commit it:\n{found}"


def test_a_change_of_a_page_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("pages.ROOT", tmp_path)
    kept = tmp_path / "page.md"
    kept.write_text("one\ntwo\n")
    assert difference((kept, lambda: "one\ntwo\n", str)) == ""
    assert "-two\n+three" in difference((kept, lambda: "one\nthree\n", str))
    assert "+one" in difference((tmp_path / "absent.md", lambda: "one\n", str))
