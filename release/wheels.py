"""Builds wheels for this host's platform, checks them, and tries each in an environment that has no Rust.

On Linux a wheel runs with glibc 2.28 or later (manylinux_2_28): zig links it against that version, whatever this host
has. A wheel for 64-bit Arm is built too if Rust has that target; this host cannot run it, so it is only checked.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "sample_captures" / "linux61_advwinscale2_w50000.pcap.zst"
MANYLINUX = "manylinux_2_28"
"""Oldest glibc that is supported: that of RHEL 8 and Debian 10."""
ARM = "aarch64-unknown-linux-gnu"


def environment(at: Path, *install: str) -> Path:
    """Make a new environment with the packages, and return its folder of programs."""
    venv.create(at, with_pip=True, clear=True)
    programs = at / ("Scripts" if os.name == "nt" else "bin")
    python = programs / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25.1"], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *install], check=True, cwd=ROOT)
    return programs


def targets() -> list[str]:
    """Return the targets to build for: this host's, and 64-bit Arm if Rust can."""
    rust = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    host = next(line.removeprefix("host: ") for line in rust.splitlines() if line.startswith("host: "))
    if sys.platform == "darwin":
        return ["universal2-apple-darwin"]
    library = subprocess.run(["rustc", "--print", "sysroot"], check=True, capture_output=True, text=True)
    has_arm = (Path(library.stdout.strip()) / "lib" / "rustlib" / ARM / "lib").is_dir()
    return [host, *([ARM] if sys.platform == "linux" and has_arm and host != ARM else [])]


def build(tools: Path, target: str, to: Path) -> Path:
    """Build the wheel of a target, and return it."""
    linux = ["--zig", "--compatibility", MANYLINUX] if sys.platform == "linux" else []
    subprocess.run(
        [
            *(tools / "maturin", "build", "--release", "--locked", "--strip"),
            *("--target", target, *linux, "--out", to),
        ],
        check=True,
        cwd=ROOT,
        env=os.environ | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"},
    )
    return max(to.glob("*.whl"), key=lambda wheel: wheel.stat().st_mtime_ns)


def check(tools: Path, wheel: Path) -> None:
    """End with an error if a wheel for Linux needs a newer glibc, or a library that not every host has."""
    shown = subprocess.run(
        [tools / "auditwheel", "show", wheel], check=True, capture_output=True, text=True
    ).stdout
    # The text is wrapped, so a tag may stand on the next line.
    if f'platform tag: "{MANYLINUX}_' not in " ".join(shown.split()):
        sys.exit(f"{wheel.name} is no {MANYLINUX} wheel: {shown}")


def tried(wheel: Path, at: Path) -> None:
    """Install a wheel where no Rust is found, and end with an error if the demo fails."""
    programs = environment(at, str(wheel))
    path = os.pathsep.join(str(folder) for folder in (programs, "/usr/bin", "/bin"))
    bare = os.environ | ({"PATH": path} if os.name == "posix" else {})
    report = at / "report.html"
    shown = subprocess.run(
        [programs / "bdpcap", "report", SAMPLE, "--text", "-", "-o", report],
        check=True,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=bare,
        cwd=at,
    ).stdout
    # The arithmetic of this capture's window is the sentence that bdpcap exists for.
    if "73,552" not in shown or not report.stat().st_size:
        sys.exit(f"{wheel.name}: the demo does not explain the window:\n{shown}")


def main() -> None:
    """Build, check and try every wheel."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder for the wheels")
    to = parser.parse_args().out.resolve()
    to.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        tools = environment(Path(folder) / "tools", "--group", "wheels")
        for target in targets():
            wheel = build(tools, target, to)
            if sys.platform == "linux":
                check(tools, wheel)
            if target != ARM or platform.machine() == "aarch64":
                tried(wheel, Path(folder) / "tried")
            print(f"{wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
