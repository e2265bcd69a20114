"""Python started in a clone: the source there works with the core that was installed, or says what to do."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from output_pages import README, ROOT

import bdpcap
from bdpcap import _core

WHICH = "import bdpcap; print(bdpcap.__file__, bdpcap._core.__file__, sep='\\n')"


@pytest.fixture
def clone(tmp_path):
    """Return a folder with the source, the samples, and nothing that is built."""
    folder = without_core(tmp_path / "clone")
    (folder / "sample_captures").symlink_to(ROOT / "sample_captures")
    return folder


@pytest.fixture
def installed(tmp_path):
    """Return a folder with the package as an ordinary installation leaves it, for ``sys.path``."""
    site = without_core(tmp_path / "site")
    shutil.copy(_core.__file__, site / "bdpcap")
    return site


def without_core(folder):
    built = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    shutil.copytree(Path(bdpcap.__file__).parent, folder / "bdpcap", ignore=built)
    return folder


def python(code, folder, *path):
    """Run code in a folder, with this path alone: -S leaves out what is installed, editable or not."""
    return subprocess.run(
        [sys.executable, "-S", "-W", "error", "-c", code],
        cwd=folder, env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_python_example_runs_in_a_clone(clone, installed):
    (code,) = re.findall(r"^```python\n(.*?)^```$", README.read_text(), flags=re.MULTILINE | re.DOTALL)
    done = python(f"{code}\n{WHICH}", clone, installed, *sys.path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "rwnd" in done.stdout
    core = installed / "bdpcap" / Path(_core.__file__).name
    assert done.stdout.splitlines()[-2:] == [str(clone / "bdpcap" / "__init__.py"), str(core)]
    assert {"window.html", "report.html"} <= {path.name for path in clone.iterdir()}


def test_a_core_beside_the_source_goes_first(clone, installed):
    """So an editable installation leaves it."""
    core = shutil.copy(_core.__file__, clone / "bdpcap")
    assert python(WHICH, clone, installed).stdout.splitlines()[1:] == [str(core)]


def test_without_a_core_it_says_how_to_get_one(clone):
    done = python("import bdpcap", clone)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "ImportError: bdpcap is not built: run `pip install .` at the top of its repository"
    )


def test_a_core_of_another_version_is_refused(clone, installed):
    source = clone / "bdpcap" / "__init__.py"
    source.write_text(source.read_text().replace(f'"{bdpcap.__version__}"', '"99.1"'))
    done = python("import bdpcap", clone, installed)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: bdpcap 99.1 cannot use {installed / 'bdpcap' / Path(_core.__file__).name}, "
        f"built for {bdpcap.__version__}: install it again, with `pip install .` or `pip install --editable .` as before"
    )


def test_python_and_core_have_one_version():
    manifest = tomllib.loads((ROOT / "core" / "Cargo.toml").read_text())
    assert bdpcap.__version__ == _core.__version__ == manifest["package"]["version"]
