"""Measure the windows that this kernel makes of SO_RCVBUF: `python lab/windows.py -o FILE.csv`, as root.

A sender fills the receive window of a prompt reader, over three kinds of links, at several MTUs and settings. tshark
reads the windows out of a capture. A row is one connection: the window of its SYN-ACK, and the largest afterwards.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hosts import FIRST, build, do, end, kernel, ready

if TYPE_CHECKING:
    from collections.abc import Iterator

CLONE_NEWNET = 0x40000000
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
SENDER, RECEIVER = "10.77.0.1", "10.77.0.2"
SETTINGS = (
    *(
        8192,
        10_000,
        16_384,
        20_000,
        30_000,
        32_768,
        50_000,
        65_536,
        70_000,
        100_000,
        131_072,
        150_000,
        200_000,
    ),
    *(262_144, 300_000, 500_000, 524_288, 1_000_000, 1_048_576, 2_000_000, 2_097_152, 4_000_000, 4_194_304),
    *(8_000_000, 8_388_608),
)
LINKS = {
    "veth": (576, 1500, 9000),
    "veth, offload on": (1500,),
    "TAP": (576, 1500, 9000),
    "loopback": (1500, 65_536),
}
COLUMNS = ("link", "mtu", "mss", "so_rcvbuf", "window_scale", "syn_window", "window")
HEADER = """\
# Windows of Linux {kernel}, as lab/windows.py measured them: SO_RCVBUF set before listen(), a reader that reads at once,
# a sender that the window alone limits. mss: payload of a full segment, timestamps on. syn_window: of the SYN-ACK.
# window: the largest afterwards, scaled. Offload off but where said; loopback always has it.
"""


def open_in(namespace: str) -> socket.socket:
    """Return a TCP socket of a namespace; only the thread that opens it goes there."""
    made: list[socket.socket] = []

    def make() -> None:
        with Path(f"/var/run/netns/{namespace}").open() as file:
            if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")
        made.append(socket.socket())

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    return made[0]


def transfer(sender: str, receiver: str, port: int, setting: int) -> None:
    """Send what fills the window several times over."""
    size = max(4_000_000, 8 * setting)
    with open_in(receiver) as listener, open_in(sender) as client:
        listener.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, setting)
        listener.bind((RECEIVER, port))
        listener.listen()
        listener.settimeout(20)
        client.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 26)
        client.settimeout(60)

        def read() -> None:
            with listener.accept()[0] as server:
                server.settimeout(60)
                while server.recv(1 << 20):
                    pass

        reader = threading.Thread(target=read)
        reader.start()
        client.connect((RECEIVER, port))
        block = bytes(1 << 18)
        for _ in range(-(-size // len(block))):
            client.sendall(block)
        client.shutdown(socket.SHUT_WR)
        reader.join(60)


@contextmanager
def hosts(link: str, mtu: int, folder: Path) -> Iterator[tuple[str, str, str]]:
    """Two namespaces and the link between: their names, and the receiver's device."""
    sender, receiver = f"bdp-w{os.getpid()}a", f"bdp-w{os.getpid()}b"
    with ExitStack() as stack:
        for name in {"loopback": (receiver,)}.get(link, (sender, receiver)):
            do("ip", "netns", "add", name)
            stack.callback(do, "ip", "netns", "del", name)
        if link == "loopback":
            do("ip", "-n", receiver, "addr", "add", f"{RECEIVER}/32", "dev", "lo")
            do("ip", "-n", receiver, "link", "set", "lo", "mtu", mtu, "up")
            do("tc", "-n", receiver, "qdisc", "add", "dev", "lo", "root", *SHAPED)
            yield receiver, receiver, "lo"
            return
        if link == "TAP":
            build(folder)
            options = (
                f"trace={folder}/link.csv",
                f"tap={folder}/tap.pcap",
                "delay_us=10000",
                "back_delay_us=10000",
            )
            command = (*FIRST, str(folder / "wanlink"), sender, receiver, *options)
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            stack.callback(end, process)
            ready(process)
        else:
            do(
                "ip",
                "-n",
                sender,
                "link",
                "add",
                "eth0",
                "type",
                "veth",
                "peer",
                "name",
                "eth0",
                "netns",
                receiver,
            )
        for name, address in ((sender, SENDER), (receiver, RECEIVER)):
            do("ip", "-n", name, "link", "set", "eth0", "mtu", mtu, "txqueuelen", 100_000, "up")
            do("ip", "-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
            if link != "veth, offload on":
                do(
                    "ip",
                    "netns",
                    "exec",
                    name,
                    "ethtool",
                    "-K",
                    "eth0",
                    "tso",
                    "off",
                    "gso",
                    "off",
                    "gro",
                    "off",
                )
        if link != "TAP":
            do("tc", "-n", sender, "qdisc", "add", "dev", "eth0", "root", *SHAPED)
        yield sender, receiver, "eth0"


SHAPED = ("tbf", "rate", "250mbit", "burst", 200_000, "limit", 200_000_000)


def measure(link: str, mtu: int) -> Iterator[tuple[object, ...]]:
    """Return a row for every setting."""
    with (
        tempfile.TemporaryDirectory() as temporary,
        hosts(link, mtu, Path(temporary)) as (sender, receiver, device),
    ):
        file = Path(temporary) / "receiver.pcap"
        command = (
            "ip",
            "netns",
            "exec",
            receiver,
            "tcpdump",
            "-i",
            device,
            "-s",
            "96",
            "-B",
            "65536",
            "-Z",
            "root",
        )
        select = ("-w", str(file), f"src host {RECEIVER} and tcp src portrange 6000-6999")
        capture = subprocess.Popen([*command, *select], stderr=subprocess.PIPE)
        time.sleep(1)
        for number, setting in enumerate(SETTINGS):
            transfer(sender, receiver, 6000 + number, setting)
        time.sleep(1.6)  # tcpdump takes up to a second to hand a block over
        capture.send_signal(signal.SIGINT)
        capture.communicate(timeout=20)
        yield from ((link, mtu, *row) for row in windows(file))


def windows(file: Path) -> Iterator[tuple[int, ...]]:
    """Read the windows of every connection, as tshark decodes them."""
    fields = (
        "srcport",
        "flags.syn",
        "flags.reset",
        "window_size_value",
        "options.wscale.shift",
        "options.mss_val",
    )
    show = [word for name in fields for word in ("-e", f"tcp.{name}")]
    said = do("tshark", "-r", file, "-T", "fields", *show)
    shown: dict[int, tuple[int, int, int]] = {}
    largest: dict[int, int] = {}
    for line in said.splitlines():
        port, syn, reset, field, scale, mss = line.split("\t")
        if syn in ("1", "True"):
            shown[int(port)] = (int(mss) - 12, int(scale), int(field))
        elif reset in ("0", "False"):
            largest[int(port)] = max(largest.get(int(port), 0), int(field))
    for port, setting in enumerate(SETTINGS, 6000):
        mss, scale, syn_window = shown[port]
        yield mss, setting, scale, syn_window, largest[port] << scale


def main() -> None:
    """Measure, link by link."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True)
    chosen = parser.parse_args()
    with chosen.output.open("w", newline="") as file:
        file.write(HEADER.format(kernel=".".join(kernel().split(".")[:2])))
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        for link, mtus in LINKS.items():
            for mtu in mtus:
                table.writerows(measure(link, mtu))
                file.flush()
                print(link, mtu, file=sys.stderr)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
