"""Before a release is built: lead the README's links to where the repository is hosted, and name it in the metadata.

A package index shows the README by itself, where relative links lead nowhere. In the repository they stay relative.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def absolute(readme: str, repository: str) -> str:
    """Return the README with links and pictures that work anywhere."""
    readme = re.sub(r"!\[([^\]]*)\]\((?!https?:)([^)]+)\)", rf"![\1]({repository}/raw/main/\2)", readme)
    return re.sub(r"(?<!!)\[([^\]]*)\]\((?!https?:|#)([^)]+)\)", rf"[\1]({repository}/blob/main/\2)", readme)


def located(project: str, repository: str) -> str:
    """Return pyproject.toml with the project's addresses."""
    urls = {
        "Documentation": f"{repository}/blob/main/docs/index.md",
        "Changelog": f"{repository}/blob/main/CHANGELOG.md",
        "Issues": f"{repository}/issues",
        "Security": f"{repository}/security/advisories/new",
        "Source": repository,
    }
    lines = "".join(f'{name} = "{url}"\n' for name, url in urls.items())
    return project.replace("[project.scripts]\n", f"[project.urls]\n{lines}\n[project.scripts]\n", 1)


if __name__ == "__main__":
    for file, change in (("README.md", absolute), ("pyproject.toml", located)):
        path = ROOT / file
        path.write_text(change(path.read_text(encoding="utf-8"), sys.argv[1]), encoding="utf-8")
