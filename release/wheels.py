"""Builds wheels for this host's platform, checks them, and tries each in an environment that has no Rust.

`make wheels` and the release workflow run it, on Linux, macOS and Windows. On Linux a wheel runs with glibc 2.28 or
later (manylinux_2_28): zig links it against that version, whatever this host has. A wheel for 64-bit Arm is built too if
Rust has that target; this host cannot run it, so it is only checked.
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
ABI = "-cp311-abi3-"
"""Part of a wheel's name: one wheel for Python 3.11 and every later version."""
ARM = "aarch64-unknown-linux-gnu"
TOOLS = ROOT / ".github" / "tools.txt"
"""What builds and checks, in the versions of the dependency group `wheels`, with hashes; `make lock` writes it."""


def without_rust() -> dict[str, str]:
    """Return this process's environment with the system's programs only; Rust is installed elsewhere."""
    system = [str(Path(os.environ["SYSTEMROOT"]) / "System32")] if os.name == "nt" else ["/usr/bin", "/bin"]
    return os.environ | {"PATH": os.pathsep.join(system)}


def environment(at: Path, *install: str) -> Path:
    """Make a new environment with the packages, installed without Rust, and return its folder of programs."""
    venv.create(at, with_pip=True, clear=True)
    programs = at / ("Scripts" if os.name == "nt" else "bin")
    pip = [programs / "python", "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, *install], check=True, env=without_rust())
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
    """End with an error if a wheel is for one Python, or for Linux and needs what not every host has."""
    if ABI not in wheel.name:
        sys.exit(f"{wheel.name} is no {ABI} wheel")
    if sys.platform != "linux":
        return
    shown = subprocess.run(
        [tools / "auditwheel", "show", wheel], check=True, capture_output=True, text=True
    ).stdout
    # The text is wrapped, so a tag may stand on the next line.
    if f'platform tag: "{MANYLINUX}_' not in " ".join(shown.split()):
        sys.exit(f"{wheel.name} is no {MANYLINUX} wheel: {shown}")


def tried(wheel: Path, at: Path) -> None:
    """Install a wheel where no Rust is found, and end with an error if the demo fails."""
    programs = environment(at, str(wheel))
    report = at / "report.html"
    shown = subprocess.run(
        [programs / "bdpcap", "report", SAMPLE, "--text", "-", "-o", report],
        check=True,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=without_rust(),
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
        tools = environment(Path(folder) / "tools", "--require-hashes", "-r", str(TOOLS))
        for target in targets():
            wheel = build(tools, target, to)
            check(tools, wheel)
            if target != ARM or platform.machine() == "aarch64":
                tried(wheel, Path(folder) / "tried")
            print(f"{wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
