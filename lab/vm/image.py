"""The virtual machine's kernel and initial file system: busybox, network tools, and the lab's programs.

The kernel's package is unpacked, not installed. Of its modules, those for virtual disks and networks are packed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from hosts import do

__all__ = ["fetch_kernel", "pack_root"]

HERE = Path(__file__).parent
MODULES = (
    *("virtio_pci", "virtio_blk", "veth", "bridge", "sch_netem", "sch_tbf", "sch_fq"),
    *("tcp_bbr", "tcp_diag", "af_packet"),
)
TOOLS = ("dash", "chrt", "ip", "tc", "ethtool", "tcpdump", "iperf3")
FOLDERS = ("proc", "sys", "dev", "run/netns", "out", "modules", "var", "tmp", "etc", "bin", "sbin", "usr/bin")


def fetch_kernel(folder: Path, package: str) -> Path:
    """Download and unpack a kernel; a metapackage leads to the image that it depends on."""
    said = do("apt-cache", "depends", package)
    image = re.search(r"Depends: (linux-image-\S+)", said)
    name = image[1] if image else package
    if not list(folder.glob(f"{name}_*.deb")):
        subprocess.run(["apt-get", "download", "-qq", name], cwd=folder, check=True)
    kernel = folder / name
    if not kernel.exists():
        do("dpkg-deb", "-x", next(folder.glob(f"{name}_*.deb")), kernel)
        do("depmod", "-b", kernel, release(kernel))
    return kernel


def release(kernel: Path) -> str:
    """Name of a kernel's build, as its modules' folder has it."""
    return next((kernel / "lib/modules").iterdir()).name


def module_files(kernel: Path) -> list[Path]:
    """List the modules' files, each behind those that it needs; those built in have none."""
    files: list[Path] = []
    for module in MODULES:
        said = do("modprobe", "-d", kernel, "-S", release(kernel), "--show-depends", module)
        for line in said.splitlines():
            path = Path(line.split()[-1])
            if line.startswith("insmod") and path not in files:
                files.append(path)
    return files


def add_program(root: Path, program: str) -> None:
    """Copy a program of this machine, with its libraries."""
    path = shutil.which(program)
    if path is None:
        raise RuntimeError(f"{program} is not installed")
    shutil.copy(path, root / "usr/bin" / program)
    for library in re.findall(r"(/\S+) \(0x", do("ldd", path)):
        target = root / library.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, target)


def pack_root(kernel: Path, programs: Path, transfers: str, target: Path) -> None:
    """Write the initial file system, which runs `transfers`, lines of shell."""
    root = target.with_suffix(".root")
    shutil.rmtree(root, ignore_errors=True)
    for folder in FOLDERS:
        (root / folder).mkdir(parents=True)
    (root / "var/run").symlink_to("/run")
    shutil.copy(shutil.which("busybox") or "busybox", root / "bin/busybox")
    for applet in do(root / "bin/busybox", "--list").split():
        if applet not in (*TOOLS, "sh", "busybox"):
            (root / "bin" / applet).symlink_to("busybox")
    (root / "bin/sh").symlink_to("/usr/bin/dash")  # busybox's own prefers its own ip to any other
    for tool in TOOLS:
        add_program(root, tool)
    for program in programs.iterdir():
        shutil.copy(program, root / "usr/bin" / program.name)
    (root / "etc/passwd").write_text("root:x:0:0::/:/bin/sh\n")
    files = module_files(kernel)
    for file in files:
        shutil.copy(file, root / "modules" / file.name)
    (root / "modules/order").write_text("".join(f"{file.name}\n" for file in files))
    (root / "transfers.sh").write_text(transfers)
    shutil.copy(HERE / "guest.sh", root / "init")
    (root / "init").chmod(0o755)
    command = f"find . | cpio --quiet -o -H newc | gzip -1 >{target.resolve()}"
    subprocess.run(command, shell=True, cwd=root, check=True)  # noqa: S602 - nothing in it is from outside
    shutil.rmtree(root)
