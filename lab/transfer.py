"""One transfer: two network namespaces, a path between them, a sender, a receiver, and captures at three places."""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import subprocess
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["PORT", "Transfer", "addresses", "build", "run"]

Options = dict[str, Any]

TOOLS = Path(__file__).parent / "tools"
PARTS = ("wanlink.c", "bottleneck.c", "middlebox.c", "offload.c", "tap.c")
PROGRAMS = {"wanlink": PARTS, "tsend": ("tsend.c",), "trecv": ("trecv.c",), "usend": ("usend.c",)}
PORT = 5001
WARM_UP_PORT = 5090
# Whatever else the machine does must delay neither the link nor the samples.
FIRST = ("chrt", "-r", "1")


@dataclass
class Transfer:
    """What is run: options of the programs (see their heads) and settings of the hosts."""

    link: Options = field(default_factory=dict)
    sender: Options = field(default_factory=dict)
    receiver: Options = field(default_factory=dict)
    tap: Options = field(default_factory=dict)  # what befalls the captures afterwards: see damage.py
    seconds: float = 5
    flows: int = 1
    stagger_s: float = 0
    udp_bps: int = 0  # in the same captures, through the same bottleneck
    sender_sysctl: tuple[str, ...] = ()
    receiver_sysctl: tuple[str, ...] = ()
    route: str = ""  # metrics of the sender's route
    snap: int = 96
    v6: int = 0
    gro_flush_ns: int = 0  # the receiver merges segments that come within so long
    host_delay: bool = False  # the sender's capture is taken behind a delay on the sending host


def addresses(v6: object) -> tuple[str, str]:
    """Sender's and receiver's address."""
    return ("fd00::3", "fd00::34") if v6 else ("192.168.1.3", "192.168.1.34")


def build(folder: Path) -> None:
    """Compile the programs into `folder`."""
    for program, sources in PROGRAMS.items():
        paths = [str(TOOLS / source) for source in sources]
        command = ["cc", "-O2", "-Wall", "-o", str(folder / program), *paths, "-pthread", "-lm"]
        subprocess.run(command, check=True)


def words(options: Mapping[str, object]) -> list[str]:
    """Write options the way the programs read them."""
    return [f"{name}={value}" for name, value in options.items()]


def do(*command: object) -> str:
    """Run a command that has to succeed; its output."""
    done = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)
    return done.stdout


class Hosts:
    """The two namespaces and the link; every process that is still there at the end is ended."""

    def __init__(self, programs: Path, stack: ExitStack) -> None:
        self.programs = programs
        self.stack = stack
        self.sender, self.receiver = f"bdp-a{os.getpid()}", f"bdp-b{os.getpid()}"
        for name in (self.sender, self.receiver):
            do("ip", "netns", "add", name)
            stack.callback(do, "ip", "netns", "del", name)

    def start(
        self, host: str | None, program: str, *arguments: object, **options: Any
    ) -> subprocess.Popen[str]:
        """Start a program, one of ours or any, in a namespace or outside both."""
        path = self.programs / program
        inside = ("ip", "netns", "exec", host) if host else ()
        command = [*FIRST, *inside, str(path) if path.exists() else program, *map(str, arguments)]
        process = subprocess.Popen(command, text=True, **options)
        self.stack.callback(end, process)
        return process

    def configure(self, transfer: Transfer) -> None:
        """Addresses, neighbours and settings of both hosts."""
        prefix = 64 if transfer.v6 else 24
        both = (self.sender, self.receiver)
        for host, address in zip(both, addresses(transfer.v6), strict=True):
            nodad = ("nodad",) if transfer.v6 else ()
            do("ip", "-n", host, "link", "set", "eth0", "txqueuelen", 10000, "up")
            do("ip", "-n", host, "addr", "add", f"{address}/{prefix}", "dev", "eth0", *nodad)
            merge = host == self.receiver and transfer.gro_flush_ns
            do("ip", "netns", "exec", host, "ethtool", "-K", "eth0", "gro", "on" if merge else "off")
        for host, other, address in zip(both, both[::-1], addresses(transfer.v6)[::-1], strict=True):
            hardware = json.loads(do("ip", "-j", "-n", other, "link", "show", "dev", "eth0"))[0]["address"]
            do("ip", "-n", host, "neigh", "replace", address, "lladdr", hardware, "dev", "eth0")
        if transfer.gro_flush_ns:
            settings = f"echo {transfer.gro_flush_ns} >gro_flush_timeout; echo 10 >napi_defer_hard_irqs"
            script = f"mount -t sysfs sys /sys; cd /sys/class/net/eth0; {settings}"
            do("ip", "netns", "exec", self.receiver, "sh", "-c", script)
        sysctls = (transfer.sender_sysctl, transfer.receiver_sysctl)
        for host, changes in zip(both, sysctls, strict=True):
            for setting in changes:
                do("ip", "netns", "exec", host, "sysctl", "-qw", setting)

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


QUIET: dict[str, Any] = {"stdout": subprocess.DEVNULL}


def ready(process: subprocess.Popen[str]) -> None:
    """Wait for the line that says a program has begun."""
    if not process.stdout or not process.stdout.readline():
        raise RuntimeError(f"{process.args!r} did not begin")


def end(process: subprocess.Popen[str]) -> None:
    """Ask a process to end, and wait."""
    if process.poll() is None:
        process.terminate()
    process.wait(timeout=10)


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


def run(transfer: Transfer, folder: Path, programs: Path) -> dict[str, Any]:
    """Run a transfer; `folder` gets sender.pcap, middle.pcap, receiver.pcap, info.csv and link.csv.

    Returns
    -------
    dict
        What the programs reported: of the first flow, bytes and seconds at both ends; kernel; missed packets.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        hosts = Hosts(programs, stack)
        files = {"trace": folder / "link.csv", "tap": folder / "middle.pcap", "snap": transfer.snap}
        arguments = (hosts.sender, hosts.receiver, *words(files | transfer.link))
        link = hosts.start(None, "wanlink", *arguments, stdout=subprocess.PIPE)
        ready(link)
        hosts.configure(transfer)
        if transfer.route:
            hosts.lock_route(transfer.route)
        target = addresses(transfer.v6)[1]
        with captures(hosts, folder, transfer.snap) as missed:
            receivers, senders = [], []
            for port in range(PORT, PORT + transfer.flows):
                process = hosts.start(
                    hosts.receiver, "trecv", port, *words(transfer.receiver), stdout=subprocess.PIPE
                )
                ready(process)
                receivers.append(process)
            if transfer.udp_bps:
                load = {"rate": transfer.udp_bps, "seconds": transfer.seconds + 1}
                hosts.start(hosts.sender, "usend", target, 9000, *words(load))
            for port in range(PORT, PORT + transfer.flows):
                info = folder / ("info.csv" if port == PORT else f"info{port}.csv")
                options = {"info": info, "seconds": transfer.seconds} | transfer.sender
                senders.append(
                    hosts.start(hosts.sender, "tsend", target, port, *words(options), stdout=subprocess.PIPE)
                )
                time.sleep(transfer.stagger_s)
            sent = [process.communicate(timeout=transfer.seconds + 60)[0] for process in senders]
            received = [process.communicate(timeout=30)[0] for process in receivers]
        end(link)
    if transfer.host_delay:  # the emulator's tap stood behind the host's own delay
        shutil.copy(folder / "middle.pcap", folder / "sender.pcap")
    return {
        "sender": json.loads(sent[0]),
        "receiver": json.loads(received[0]),
        "kernel": platform.release(),
        "capture_missed": missed,
    }
