"""One transfer: two network namespaces, a path between them, a sender, a receiver, and captures at three places."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hosts import Hosts, addresses, captures, counters, end, kernel, ready, words

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["PORT", "Transfer", "run", "start_link"]

Options = dict[str, Any]

PORT = 5001
RETRANSMISSIONS = (
    "RetransSegs",
    "TCPFastRetrans",
    "TCPSlowStartRetrans",
    "TCPLostRetransmit",
    "TCPTimeouts",
    "TCPLossProbes",
    "TCPSpuriousRTOs",
    "TCPDSACKRecv",
    "TCPDSACKOfoRecv",
)


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
    netstack: bool = False  # the receiver's TCP is gVisor's
    host_mtu: int = 1500  # of both hosts' interfaces; the path carries 1,500 bytes
    gro_flush_ns: int = 0  # the receiver merges segments that come within so long
    host_delay: bool = False  # the sender's capture is taken behind a delay on the sending host


def start_link(hosts: Hosts, transfer: Transfer, folder: Path) -> subprocess.Popen[str]:
    """Join the hosts, and set them up; ends with link.csv and middle.pcap in `folder`."""
    files = {"trace": folder / "link.csv", "tap": folder / "middle.pcap", "snap": transfer.snap}
    arguments = (hosts.sender, hosts.receiver, *words(files | transfer.link))
    link = hosts.start(None, "wanlink", *arguments, stdout=subprocess.PIPE)
    ready(link)
    hosts.configure(transfer)
    if transfer.route:
        hosts.lock_route(transfer.route)
    return link


def run(
    transfer: Transfer, folder: Path, programs: Path, prepare: Callable[[Hosts], None] = lambda _: None
) -> dict[str, Any]:
    """Run a transfer; `folder` gets sender.pcap, middle.pcap, receiver.pcap, info.csv and link.csv.

    `prepare` is called when the hosts are set up, before any program runs on them.

    Returns
    -------
    dict
        What the programs reported: of the first flow, bytes and seconds at both ends; kernel; missed packets; what the
        sending kernel counted of its retransmissions.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        hosts = Hosts(programs, stack)
        link = start_link(hosts, transfer, folder)
        prepare(hosts)
        target = addresses(transfer.v6)[1]
        with captures(hosts, folder, transfer.snap) as missed:
            receivers, senders = [], []
            program, receiving = hosts.receiving(transfer)
            for port in range(PORT, PORT + transfer.flows):
                process = hosts.start(
                    hosts.receiver, program, port, *words(receiving), stdout=subprocess.PIPE
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
            counted = counters(hosts.sender)
        end(link)
    if transfer.host_delay:  # the emulator's tap stood behind the host's own delay
        shutil.copy(folder / "middle.pcap", folder / "sender.pcap")
    return {
        "sender": json.loads(sent[0]),
        "receiver": json.loads(received[0]),
        "kernel": kernel(),
        "capture_missed": missed,
        "sender_counted": {name: counted[name] for name in RETRANSMISSIONS},
    }
