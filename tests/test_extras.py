"""Each extra does what it is for: the command that CI types where no other extra is installed."""

import subprocess
import sys
import tomllib

import pytest
import yaml
from extras import USES
from oracles import ROOT, chromium

ELSEWHERE = {
    "arrow": "pyarrow is in no group of the tests: the job of extras in CI installs it",
    "notebook": "tests/test_notebooks.py runs every notebook",
}


@pytest.mark.parametrize("extra", sorted(USES.keys() - ELSEWHERE.keys()))
def test_an_extra_is_used(extra):
    if extra == "png":
        chromium()
    command = [sys.executable, ROOT / "tests" / "extras.py", extra]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


def test_every_extra_is_installed_alone_and_used_in_ci():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {""} | project["optional-dependencies"].keys() == USES.keys()
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8"))
    job = workflow["jobs"]["extras"]
    assert {one.strip("[]") for one in job["strategy"]["matrix"]["extra"]} == USES.keys()
    typed = [step.get("run", "") for step in job["steps"]]
    used = next(place for place, line in enumerate(typed) if "tests/extras.py" in line)
    assert [line for line in typed[:used] if line] == ['python -m pip install ".${{ matrix.extra }}"']
