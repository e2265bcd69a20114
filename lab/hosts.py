"""The two hosts of a transfer: network namespaces, the programs run in them, and captures at both."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from contextlib import ExitStack

    from transfer import Transfer

__all__ = [
    "QUIET",
    "Hosts",
    "addresses",
    "build",
    "build_netstack",
    "captures",
    "counters",
    "do",
    "end",
    "kernel",
    "ready",
    "words",
]

TOOLS = Path(__file__).parent / "tools"
PARTS = ("wanlink.c", "bottleneck.c", "middlebox.c", "offload.c", "tap.c")
PROGRAMS = {"wanlink": PARTS, "tsend": ("tsend.c",), "trecv": ("trecv.c",), "usend": ("usend.c",)}
WARM_UP_PORT = 5090
# Whatever else the machine does must delay neither the link nor the samples.
FIRST = ("chrt", "-r", "1")
QUIET: dict[str, Any] = {"stdout": subprocess.DEVNULL}


def kernel() -> str:
    """Version of the running kernel; the name of its build tells nothing of how it sends."""
    return platform.release().partition("-")[0]


def addresses(v6: object) -> tuple[str, str]:
    """Sender's and receiver's address."""
    return ("fd00::3", "fd00::34") if v6 else ("192.168.1.3", "192.168.1.34")


def build(folder: Path, programs: Mapping[str, Iterable[str | Path]] = PROGRAMS, *flags: str) -> None:
    """Compile programs into `folder`, from sources beside the others or at any path."""
    for program, sources in programs.items():
        paths = [str(TOOLS / source) for source in sources]
        command = ["cc", "-O2", "-Wall", "-o", str(folder / program), *paths, *flags, "-pthread", "-lm"]
        subprocess.run(command, check=True)


def build_netstack(folder: Path) -> None:
    """Compile the receiver whose TCP is gVisor's, from the source of that, which Go fetches."""
    command = ["go", "build", "-o", str(folder / "netstack"), "."]
    subprocess.run(command, check=True, cwd=TOOLS / "netstack")


def words(options: Mapping[str, object]) -> list[str]:
    """Write options the way the programs read them."""
    return [f"{name}={value}" for name, value in options.items()]


def do(*command: object) -> str:
    """Run a command that has to succeed; its output."""
    done = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)
    return done.stdout


class Hosts:
    """The two namespaces and the link; every process that is still there at the end is ended.

    Connections of all namespaces stand in one large table, which sock_diag is slow to search. With `entries`, the
    namespaces have tables of their own.
    """

    def __init__(self, programs: Path, stack: ExitStack, *, entries: int = 0) -> None:
        self.programs = programs
        self.stack = stack
        self.sender, self.receiver = f"bdp-a{os.getpid()}", f"bdp-b{os.getpid()}"
        origin: tuple[str, ...] = ()
        if entries:  # namespaces made inside this one get such tables
            outer = f"bdp-z{os.getpid()}"
            self.add(outer)
            do("ip", "netns", "exec", outer, "sysctl", "-qw", f"net.ipv4.tcp_child_ehash_entries={entries}")
            origin = ("nsenter", f"--net=/var/run/netns/{outer}")
        for name in (self.sender, self.receiver):
            self.add(name, *origin)

    def add(self, name: str, *origin: str) -> None:
        """Add a namespace, from where `origin` leads."""
        do(*origin, "ip", "netns", "add", name)
        self.stack.callback(do, "ip", "netns", "del", name)

    def start(
        self, host: str | None, program: str, *arguments: object, first: bool = True, **options: Any
    ) -> subprocess.Popen[str]:
        """Start a program, one of ours or any, in a namespace or outside both; by default before all others."""
        path = self.programs / program
        inside = ("ip", "netns", "exec", host) if host else ()
        start = (*(FIRST if first else ()), *inside, str(path) if path.exists() else program)
        command = [*start, *map(str, arguments)]
        process = subprocess.Popen(command, text=True, **options)
        self.stack.callback(end, process)
        return process

    def configure(self, transfer: Transfer) -> None:
        """Addresses, neighbours and settings of both hosts."""
        prefix = 64 if transfer.v6 else 24
        both = (self.sender, self.receiver)
        for host, address in zip(both, addresses(transfer.v6), strict=True):
            nodad = ("nodad",) if transfer.v6 else ()
            do("ip", "-n", host, "link", "set", "eth0", "mtu", transfer.host_mtu, "txqueuelen", 10000, "up")
            if host == self.sender or not transfer.netstack:  # else two stacks would answer
                do("ip", "-n", host, "addr", "add", f"{address}/{prefix}", "dev", "eth0", *nodad)
            merge = host == self.receiver and transfer.gro_flush_ns
            do("ip", "netns", "exec", host, "ethtool", "-K", "eth0", "gro", "on" if merge else "off")
        for host, other, address in zip(both, both[::-1], addresses(transfer.v6)[::-1], strict=True):
            hardware = self.hardware(other)
            do("ip", "-n", host, "neigh", "replace", address, "lladdr", hardware, "dev", "eth0")
        if transfer.gro_flush_ns:
            settings = f"echo {transfer.gro_flush_ns} >gro_flush_timeout; echo 10 >napi_defer_hard_irqs"
            script = f"mount -t sysfs sys /sys; cd /sys/class/net/eth0; {settings}"
            do("ip", "netns", "exec", self.receiver, "sh", "-c", script)
        sysctls = (transfer.sender_sysctl, transfer.receiver_sysctl)
        for host, changes in zip(both, sysctls, strict=True):
            for setting in changes:
                do("ip", "netns", "exec", host, "sysctl", "-qw", setting)

    @staticmethod
    def hardware(host: str) -> str:
        """Hardware address of a host."""
        shown: list[dict[str, str]] = json.loads(do("ip", "-j", "-n", host, "link", "show", "dev", "eth0"))
        return shown[0]["address"]

    def receiving(self, transfer: Transfer) -> tuple[str, dict[str, Any]]:
        """Program that receives, and its options."""
        if not transfer.netstack:
            return "trecv", transfer.receiver
        peer, own = addresses(0)
        return "netstack", {
            "address": own,
            "peer": peer,
            "peer_mac": self.hardware(self.sender),
        } | transfer.receiver

    def lock_route(self, metrics: str) -> None:
        """Set metrics of the sender's route; the second connection takes them up, so there has to be a first."""
        do("ip", "-n", self.sender, "route", "change", "192.168.1.0/24", "dev", "eth0", *metrics.split())
        receiver = self.start(self.receiver, "trecv", WARM_UP_PORT, stdout=subprocess.PIPE)
        ready(receiver)
        target = addresses(0)[1]
        sender = self.start(
            self.sender, "tsend", target, WARM_UP_PORT, "info=/dev/null", "bytes=20000", **QUIET
        )
        sender.wait(timeout=20)
        receiver.wait(timeout=20)
        time.sleep(0.5)


def ready(process: subprocess.Popen[str]) -> None:
    """Wait for the line that says a program has begun."""
    if not process.stdout or not process.stdout.readline():
        raise RuntimeError(f"{process.args!r} did not begin")


def end(process: subprocess.Popen[str]) -> None:
    """Ask a process to end, and wait."""
    if process.poll() is None:
        process.terminate()
    process.wait(timeout=10)


def counters(host: str) -> dict[str, int]:
    """What the TCP of a namespace counted since that was made, by the names of nstat without their prefixes."""
    lines = do("ip", "netns", "exec", host, "cat", "/proc/net/snmp", "/proc/net/netstat").splitlines()
    counted: dict[str, int] = {}
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        kind, *columns = names.split()
        if kind in ("Tcp:", "TcpExt:"):
            counted |= dict(zip(columns, map(int, values.split()[1:]), strict=True))
    return counted


@contextmanager
def captures(hosts: Hosts, folder: Path, snap: int) -> Iterator[list[str]]:
    """Capture at both ends; afterwards the list says what tcpdump says it missed."""
    running = []
    for host, name in ((hosts.sender, "sender"), (hosts.receiver, "receiver")):
        options = (
            "-i",
            "eth0",
            "-s",
            snap,
            "-B",
            65536,
            "-Z",
            "root",
            "-w",
            folder / f"{name}.pcap",
            "tcp or udp",
        )
        running.append(hosts.start(host, "tcpdump", *options, stderr=subprocess.PIPE))
    time.sleep(0.7)
    missed: list[str] = []
    yield missed
    time.sleep(1.6)  # tcpdump takes up to a second to hand a block over
    for process in running:
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=20)[1]
        missed += [line for line in said.splitlines() if "dropped" in line and not line.startswith("0 ")]
