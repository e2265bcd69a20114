"""Links of the documents to files of the repository that are no documents, where the site cannot have them.

In the repository they are relative and work. On the site they lead to the repository, if ``REPOSITORY_URL`` says where
it is hosted; else their text stays.
"""

from __future__ import annotations

import os
import posixpath
import re
from typing import Any

_LINK = re.compile(r"\[([^\]]*)\]\(((?:\.\./)+[^)]+)\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links out of ``docs/`` to the repository; mkdocs calls this for every page."""
    return without(markdown, posixpath.dirname(f"docs/{page.file.src_uri}"), os.environ.get("REPOSITORY_URL"))


def without(markdown: str, folder: str, repository: str | None) -> str:
    """Return a page in `folder` of the repository without links out of ``docs/`` that are relative."""

    def led(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, found[2]))
        if path.startswith("docs/"):
            return found[0]
        return f"[{found[1]}]({repository}/blob/main/{path})" if repository else found[1]

    return _LINK.sub(led, markdown)
