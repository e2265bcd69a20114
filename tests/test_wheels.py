"""How wheels are built, checked and tried; the tools are stand-ins, and the wheels are made here."""

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from types import SimpleNamespace

import pytest
import wheels
from oracles import ROOT
from packaging.requirements import Requirement

HOST = "x86_64-unknown-linux-gnu"
SAID = 'platform tag:\n"manylinux_2_28_x86_64"'
"""What auditwheel shows, wrapped as it wraps."""


def program(path, body):
    """Write a program of the shell."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def made(folder, body):
    """Write a wheel whose command ``bdpcap`` runs `body`, with the words after it as ``words``."""
    wheel = folder / "bdpcap-0.1.0-py3-none-any.whl"
    metadata = "bdpcap-0.1.0.dist-info"
    head = "import os, shutil, sys\nfrom pathlib import Path"
    files = {
        "bdpcap.py": f"{head}\ndef main():\n    words = sys.argv[1:]\n    {body}\n",
        f"{metadata}/METADATA": "Metadata-Version: 2.1\nName: bdpcap\nVersion: 0.1.0\n",
        f"{metadata}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{metadata}/entry_points.txt": "[console_scripts]\nbdpcap = bdpcap:main\n",
    }
    record = "".join(f"{name},,\n" for name in [*files, f"{metadata}/RECORD"])
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in {**files, f"{metadata}/RECORD": record}.items():
            archive.writestr(name, text)
    return wheel


@pytest.mark.parametrize(
    ("system", "host", "has_arm", "expected"),
    [
        ("linux", HOST, False, [HOST]),
        ("linux", HOST, True, [HOST, wheels.ARM]),
        ("linux", wheels.ARM, True, [wheels.ARM]),
        ("darwin", "aarch64-apple-darwin", False, ["universal2-apple-darwin"]),
        ("win32", "x86_64-pc-windows-msvc", True, ["x86_64-pc-windows-msvc"]),
    ],
)
def test_targets_are_the_hosts_and_arm_where_rust_has_it(
    system, host, has_arm, expected, tmp_path, monkeypatch
):
    if has_arm:
        (tmp_path / "lib/rustlib" / wheels.ARM / "lib").mkdir(parents=True)
    rust = {"-vV": f"rustc 1.95.0\nhost: {host}\nrelease: 1.95.0\n", "sysroot": f"{tmp_path}\n"}
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(subprocess, "run", lambda words, **_: SimpleNamespace(stdout=rust[words[-1]]))
    assert wheels.targets() == expected


@pytest.mark.parametrize(("system", "linked"), [("linux", True), ("darwin", False), ("win32", False)])
def test_a_wheel_is_built_as_it_is_locked_and_by_zig_on_linux(system, linked, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", system)
    (tmp_path / "older.whl").touch()
    os.utime(tmp_path / "older.whl", (0, 0))
    program(tmp_path / "tools/maturin", f'echo "$@" > {tmp_path}/words; touch {tmp_path}/newer.whl')
    assert wheels.build(tmp_path / "tools", HOST, tmp_path).name == "newer.whl"
    words = (tmp_path / "words").read_text()
    assert f"build --release --locked --strip --target {HOST}" in words
    assert ("--zig --compatibility manylinux_2_28" in words) == linked


def test_a_wheel_of_one_python_or_a_newer_glibc_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    good = tmp_path / "bdpcap-0.1.0-cp311-abi3-manylinux_2_28_x86_64.whl"
    program(tmp_path / "auditwheel", f"printf '{SAID}'")
    wheels.check(tmp_path, good)
    with pytest.raises(SystemExit, match="abi3"):
        wheels.check(tmp_path, tmp_path / "bdpcap-0.1.0-cp311-cp311-manylinux_2_28_x86_64.whl")
    program(tmp_path / "auditwheel", f"printf '{SAID.replace('28', '34')}'")
    with pytest.raises(SystemExit, match="manylinux_2_28 wheel"):
        wheels.check(tmp_path, good)


def test_a_wheel_is_tried_in_a_new_environment_without_rust(tmp_path, monkeypatch):
    program(tmp_path / "rust/cargo", "exit 0")
    monkeypatch.setenv("PATH", f"{tmp_path / 'rust'}{os.pathsep}{os.environ['PATH']}")
    body = (
        "assert not shutil.which('cargo', path=os.environ['PATH']) and words[0] == 'report'"
        "; Path(words[-1]).write_text('page'); print('2 x 50,000 x 3/4 - 1,448 = 73,552')"
    )
    wheels.tried(made(tmp_path, body), tmp_path / "environment")
    assert (tmp_path / "environment/report.html").read_text() == "page"


@pytest.mark.parametrize(
    "body", ["Path(words[-1]).touch(); print('73,552')", "Path(words[-1]).write_text('page')"]
)
def test_a_wheel_without_the_report_or_its_arithmetic_is_refused(body, tmp_path):
    with pytest.raises(SystemExit, match="does not explain the window"):
        wheels.tried(made(tmp_path, body), tmp_path / "environment")


def test_the_tools_are_locked_as_the_project_names_them():
    named = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"][
        "wheels"
    ]
    locked = re.split(r"^(?=\S+==)", wheels.TOOLS.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    versions = dict(re.match(r"(\S+)==(\S+)", one).groups() for one in locked)
    assert all("--hash=sha256:" in one for one in locked)
    for text in named:
        needed = Requirement(text)
        assert needed.specifier.contains(versions[needed.name])


def test_the_release_runs_what_a_developer_runs():
    release = (ROOT / ".github/workflows/wheels.yml").read_text(encoding="utf-8")
    assert "run: python release/wheels.py\n" in release
    assert "release/wheels.py" in (ROOT / "Makefile").read_text(encoding="utf-8")
