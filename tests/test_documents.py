"""The documents: files and anchors that they name are there, tables are held to the tree, generated pages are today's."""

from __future__ import annotations

import re
import subprocess
import tomllib

import pytest
import yaml
from index_page import absolute, located
from oracles import ROOT
from reference_pages import DOCS
from site_links import without

import bdpcap
from bdpcap.cli.commands import COMMANDS
from bdpcap.explain.findings import Code

TOP = [ROOT / name for name in ("README.md", "CONTRIBUTING.md")]
SITE = sorted(DOCS.rglob("*.md"))
OTHERS = [
    ROOT / "SECURITY.md",
    *(
        ROOT / folder / "README.md"
        for folder in ("benchmarks", "lab", "notebooks", "release", "sample_captures")
    ),
]
DOCUMENTS = [*TOP, *SITE, *OTHERS]
NAMES = [str(path.relative_to(ROOT)) for path in DOCUMENTS]


def prose(path):
    """Return a document without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(path):
    """Return what a heading is linked by, as GitHub and mkdocs make it."""
    headings = re.findall(r"^#+ (.*)$", prose(path), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=NAMES)
def test_every_link_leads_somewhere(path):
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", prose(path)):
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), target


def test_every_finding_is_explained():
    assert set(Code) <= anchors(DOCS / "explanations.md")


def test_every_command_has_help_and_its_place_in_the_reference():
    for name, said in COMMANDS.items():
        assert said.endswith(".")
        assert (DOCS / "commands" / f"{name}.md").exists()


def test_every_extra_is_named_where_it_is_missed_and_tried_absent():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    # pandas misses the first, and names pyarrow; the second is for what stands around bdpcap in a notebook.
    extras = set(project["optional-dependencies"]) - {"arrow", "notebook"}
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "bdpcap").rglob("*.py"))
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").glob("test_*.py"))
    install = (DOCS / "install.md").read_text(encoding="utf-8")
    for extra in extras:
        assert f"bdpcap[{extra}]" in source
        assert any(f"{tried}[{extra}" in tests for tried in ('"bdpcap', "bdpcap\\"))
        assert f".[{extra}]" in install


# tables of where things are


def tracked():
    """Return the files of the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("no clone: a tree without git")
    return [name for name in listed.stdout.split("\n") if name and (ROOT / name).exists()]


def named(path):
    """Return paths that the tables of a document name; one without folder stands in that of the one before."""
    found, folder = [], ""
    for cell in re.findall(r"^\| (.*?) \|", prose(path), flags=re.MULTILINE):
        for name in re.findall(r"`([\w./-]+(?:/|\.\w+))`", cell):
            if "/" not in name.rstrip("/") and not (ROOT / name).exists():
                name = folder + name  # noqa: PLW2901
            folder = name[: name.rstrip("/").rfind("/") + 1]
            found.append(name)
    return found


@pytest.mark.parametrize("path", [TOP[1], DOCS / "design.md"], ids=lambda path: path.name)
def test_what_the_tables_name_is_there(path):
    names = named(path)
    assert names
    assert [name for name in names if not (ROOT / name).exists()] == []


def test_recipes_name_files_that_are_there():
    recipes = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("**To add**")[2]
    names = re.findall(r"`([\w./-]+/[\w./-]*)`", recipes)
    assert [name for name in names if not (ROOT / name).exists()] == []
    assert len(names) > 20


def test_contributing_names_every_folder():
    folders = {name.partition("/")[0] for name in tracked() if "/" in name}
    assert {folder for folder in folders if not folder.startswith(".")} <= {
        name.partition("/")[0] for name in named(TOP[1])
    }


def test_the_design_names_every_module_of_the_package():
    text = (DOCS / "design.md").read_text(encoding="utf-8")
    below = [name.split("/")[1] for name in tracked() if name.startswith("bdpcap/")]
    modules = {name for name in below if name.endswith(".py") and not name.startswith("_")}
    packages = {f"{name}/" for name in below if "." not in name}
    assert {name for name in modules | packages if name not in text} == set()


def test_contributing_is_one_screen():
    assert len((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()) <= 60


# the site


def pages(entry):
    """Return the pages of a part of the navigation."""
    if isinstance(entry, str):
        return [entry]
    parts = entry if isinstance(entry, list) else list(entry.values())
    return [page for part in parts for page in pages(part)]


def test_the_site_has_every_document():
    navigation = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    assert sorted(pages(navigation)) == sorted(str(path.relative_to(DOCS)) for path in SITE)


def test_the_site_leads_out_of_the_documents_to_where_the_repository_is():
    page = "[a](../../notebooks/x.ipynb) [b](../tables.md) [c](ticket.md)"
    led = without(page, "docs/how-to", "https://example.org/r")
    assert led == "[a](https://example.org/r/blob/main/notebooks/x.ipynb) [b](../tables.md) [c](ticket.md)"
    assert without(page, "docs/how-to", None).startswith("a [b]")


# what a release has


def test_links_of_the_readme_work_on_a_package_index():
    shown = absolute(TOP[0].read_text(encoding="utf-8"), "https://example.org/r")
    assert (
        re.findall(
            r"\]\((?!https://)[^)]+\)", re.sub(r"^```.*?^```$", "", shown, flags=re.MULTILINE | re.DOTALL)
        )
        == []
    )
    assert "](https://example.org/r/raw/main/docs/report.png)" in shown
    project = tomllib.loads(
        located((ROOT / "pyproject.toml").read_text(encoding="utf-8"), "https://example.org/r")
    )
    assert project["project"]["urls"]["Source"] == "https://example.org/r"
    assert "Security" in project["project"]["urls"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert project["project"]["authors"] == citation["authors"]


def test_one_version_everywhere():
    version = bdpcap.__version__
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == version
    assert f"\n## {version}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda path: path.name
)
def test_workflows_run_what_is_there(path):
    steps = [
        step
        for job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values()
        for step in job["steps"]
    ]
    typed = "\n".join(step.get("run", "") for step in steps)
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert set(re.findall(r"\bmake (\w+)", typed)) <= targets
    assert [
        name
        for name in re.findall(r"\b(?:tests|sample_captures)/[\w.]+\w", typed)
        if not (ROOT / name).exists()
    ] == []


def test_the_home_page_leads_to_every_document():
    made = {"rules", "limits", "commands"}  # pages of their own kind, which another page lists
    home = (DOCS / "index.md").read_text(encoding="utf-8")
    linked = {(DOCS / target).resolve() for target in re.findall(r"\]\(([^)#\s]+\.md)", home)}
    assert {path for path in SITE if path.parent.name not in made} - {DOCS / "index.md"} <= linked
