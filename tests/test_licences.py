"""What bdpcap is built from: each dependency is locked, pinned by a hash, and on the page of licences."""

import re
import tomllib

import pytest
from licences_page import PAGE, PYTHON_LOCK
from oracles import ROOT
from packaging.requirements import Requirement

LISTED = set(
    re.findall(r"^\| ([\w.-]+) \| ([\w.+-]+) \| \S", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
)
LOCKED = PYTHON_LOCK.read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def test_the_page_names_every_locked_crate():
    locked = tomllib.loads((ROOT / "core/Cargo.lock").read_text(encoding="utf-8"))["package"]
    named = {(one["name"], one["version"]) for one in locked if "source" in one}
    assert len(named) > 50
    assert named <= LISTED


def test_the_page_names_every_locked_python_package():
    named = set(re.findall(r"^(\S+)==([^\s\\;]+)", LOCKED, flags=re.MULTILINE))
    assert len(named) > 50
    assert named <= LISTED


def test_every_locked_python_package_has_a_hash():
    for package in re.split(r"^(?=\S+==)", LOCKED, flags=re.MULTILINE)[1:]:
        assert "--hash=sha256:" in package, package.splitlines()[0]


def test_what_the_project_needs_is_locked_in_a_version_that_it_admits():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    versions = dict(re.findall(r"^(\S+)==([^\s\\;]+)", LOCKED, flags=re.MULTILINE))
    for text in [*project["project"]["dependencies"], *project["dependency-groups"]["test"]]:
        needed = Requirement(text)
        assert needed.specifier.contains(versions[needed.name.lower()], prereleases=True), text


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_pinned_to_a_commit_with_its_version(workflow):
    used = re.findall(r"uses: *(.*)", workflow.read_text(encoding="utf-8"))
    assert used
    for action in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action


def test_a_release_installs_nothing_without_a_hash():
    release = (ROOT / ".github/workflows/wheels.yml").read_text(encoding="utf-8")
    installs = re.findall(r"pip install (.*)", release)
    assert installs
    assert all("--require-hashes" in one or "--no-index" in one for one in installs), installs
