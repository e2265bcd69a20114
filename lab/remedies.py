"""Try remedies: a transfer as it is, what bdpcap prints for it, the transfer with that, as a table.

Commands are run as printed, on the host that they name. A program's own setting goes where the words say so.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apps.place import configure, prepare
from apps.run import LISTEN_S, await_listener, leave
from hosts import Hosts, addresses, build, captures, do, kernel
from quiet import quiet
from transfer import Transfer, run, start_link

import bdpcap
from bdpcap.explain.capacity import Basis, basis
from bdpcap.explain.findings import Code

if TYPE_CHECKING:
    from collections.abc import Callable

    from bdpcap.explain import Finding

WITHIN = 0.1  # of what was promised
SILENT: dict[str, Any] = {"first": False, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
SEGMENT, HEADERS = 1448, 90  # of Ethernet, IPv4 and TCP with timestamps
PATIENCE_S = 10  # for a quiet machine: rates over seconds bear more than labels do
SLOW_START_S = 1.5  # left out of the rate after a remedy: no window fills a path at once
ADVISED = (
    Code.WINDOW_BELOW_BDP,
    Code.SEND_BUFFER,
    Code.WHAT_IT_TAKES,
    Code.APPLICATION_WINDOW,
    Code.CONGESTION_WINDOW,
    Code.SLOW_READER,
    Code.LINK_FULL,
    Code.SENDER_IDLE,
    Code.UDP_BESIDE,
    Code.WINDOW_UNSCALED,
)


@dataclass(frozen=True)
class Trial:
    """A transfer, and how a person follows the words of its remedy where no command does."""

    name: str
    transfer: Transfer
    follow: Callable[[Trial], Trial] = lambda trial: trial
    promised: bool = True  # that the link is filled; else that the rate rises
    says: str = ""  # where nothing at the ends helps: words that the advice has to hold
    http2_bits: int = 0  # nginx and nghttp, with windows of so many bits, instead of the lab's programs
    ssh: int = 0  # so many connections of OpenSSH instead


def path(rate_mbps: float, rtt_ms: float, **more: Any) -> dict[str, Any]:
    """A path whose queue holds one BDP."""
    bdp = int(rate_mbps * 1e6 * rtt_ms / 8e3)
    delay = int(rtt_ms * 500)
    return {
        "delay_us": delay,
        "back_delay_us": delay,
        "rate_bps": int(rate_mbps * 1e6),
        "queue_bytes": max(bdp, 60_000),
        "seed": 1,
        **more,
    }


def without(side: str, option: str) -> Callable[[Trial], Trial]:
    """Return what starts a program without a setting of its own."""

    def follow(trial: Trial) -> Trial:
        kept = {name: value for name, value in getattr(trial.transfer, side).items() if name != option}
        return replace(trial, transfer=replace(trial.transfer, **{side: kept}))

    return follow


def set_to(side: str, **options: Any) -> Callable[[Trial], Trial]:
    """Return what starts a program with other settings."""

    def follow(trial: Trial) -> Trial:
        changed = getattr(trial.transfer, side) | options
        return replace(trial, transfer=replace(trial.transfer, **{side: changed}))

    return follow


def changed(**fields: Any) -> Callable[[Trial], Trial]:
    """Return what changes the transfer itself: its link, its route, what goes beside it."""

    def follow(trial: Trial) -> Trial:
        return replace(trial, transfer=replace(trial.transfer, **fields))

    return follow


PATH = path(60, 40)
SECONDS = 6.0
TRIALS = (
    Trial(
        "fixed receive buffer",
        Transfer(PATH, receiver={"rcvbuf": 50_000}, seconds=SECONDS),
        without("receiver", "rcvbuf"),
    ),
    Trial(
        "autotuning's maximum (tcp_rmem)",
        Transfer(PATH, receiver_sysctl=("net.ipv4.tcp_rmem=4096 131072 200000",), seconds=SECONDS),
    ),
    Trial(
        "autotuning off",
        Transfer(PATH, receiver_sysctl=("net.ipv4.tcp_moderate_rcvbuf=0",), seconds=SECONDS),
    ),
    Trial(
        "send buffer",
        Transfer(PATH, sender={"sndbuf": 40_000, "write": 16_384, "blocking": 1}, seconds=SECONDS),
        without("sender", "sndbuf"),
    ),
    Trial(
        "autotuning's maximum (tcp_wmem)",
        Transfer(
            PATH,
            sender={"write": 16_384, "blocking": 1},
            sender_sysctl=("net.ipv4.tcp_wmem=4096 16384 100000",),
            seconds=SECONDS,
        ),
    ),
    Trial(
        "HTTP/2 window",
        Transfer(PATH, seconds=SECONDS),
        lambda trial: replace(trial, http2_bits=20),
        http2_bits=16,
    ),
    Trial(
        "HTTP/2 window under BBR",
        Transfer(PATH, sender_sysctl=("net.ipv4.tcp_congestion_control=bbr",), seconds=SECONDS),
        lambda trial: replace(trial, http2_bits=20),
        http2_bits=16,
    ),
    Trial(
        "SSH channel window",
        Transfer(path(140, 150), seconds=2 * SECONDS),
        lambda trial: replace(trial, ssh=2),
        promised=False,
        ssh=1,
    ),
    Trial(
        "parallel streams, same window",
        Transfer(path(40, 30), receiver={"rcvbuf": 50_000}, seconds=SECONDS),
        lambda trial: replace(trial, transfer=replace(trial.transfer, flows=3)),
    ),
    Trial(
        "random loss of 0.5 %, Reno",
        Transfer(
            PATH | {"loss_ppm": 5000},
            sender={"cc": ""},
            sender_sysctl=("net.ipv4.tcp_congestion_control=reno",),
            seconds=SECONDS,
        ),
        promised=False,
    ),
    Trial(
        "slow reader",
        Transfer(PATH, receiver={"rcvbuf": 200_000, "rate": 1_000_000}, seconds=SECONDS),
        set_to("receiver", rate=0),
        promised=False,
    ),
    Trial(
        "reader that pauses",
        Transfer(PATH, receiver={"rcvbuf": 300_000, "pause_ms": 300, "every_ms": 600}, seconds=SECONDS),
        set_to("receiver", pause_ms=0),
        promised=False,
    ),
    Trial(
        "receive buffer set after accept()",
        Transfer(PATH, receiver={"rcvbuf_accepted": 30_000}, seconds=SECONDS),
        without("receiver", "rcvbuf_accepted"),
    ),
    Trial(
        "receive buffer over IPv6",
        Transfer(PATH, receiver={"rcvbuf": 60_000}, v6=1, seconds=SECONDS),
        without("receiver", "rcvbuf"),
    ),
    Trial(
        "receive buffer without timestamps",
        Transfer(
            PATH, receiver={"rcvbuf": 60_000}, receiver_sysctl=("net.ipv4.tcp_timestamps=0",), seconds=SECONDS
        ),
        without("receiver", "rcvbuf"),
    ),
    Trial(
        "both autotuning's maxima",
        Transfer(
            PATH,
            sender={"write": 16_384, "blocking": 1},
            sender_sysctl=("net.ipv4.tcp_wmem=4096 16384 150000",),
            receiver_sysctl=("net.ipv4.tcp_rmem=4096 131072 200000",),
            seconds=SECONDS,
        ),
    ),
    Trial(
        "window scaling off",
        Transfer(PATH, receiver_sysctl=("net.ipv4.tcp_window_scaling=0",), seconds=SECONDS),
    ),
    Trial(
        "window scale stripped on the way",
        Transfer(PATH | {"scale": 99}, seconds=SECONDS),
        changed(link=PATH),
    ),
    Trial("UDP beside", Transfer(PATH, udp_bps=45_000_000, seconds=SECONDS), changed(udp_bps=0)),
    Trial(
        "program that pauses",
        Transfer(PATH, sender={"pattern": "onoff", "chunk": 300, "gap_us": 300_000}, seconds=SECONDS),
        set_to("sender", pattern="bulk"),
        promised=False,
    ),
    Trial(
        "program that writes small pieces",
        Transfer(PATH, sender={"pattern": "paced", "chunk": 700, "gap_us": 2_000}, seconds=SECONDS),
        set_to("sender", pattern="bulk"),
        promised=False,
    ),
    Trial(
        "pacing rate",
        Transfer(PATH, sender={"max_pace": 2_500_000}, seconds=SECONDS),
        without("sender", "max_pace"),
        promised=False,
    ),
    Trial(
        "congestion window that the route holds",
        Transfer(PATH, route="cwnd lock 30", seconds=SECONDS),
        changed(route=""),
        promised=False,
    ),
    Trial(
        "queue on the way back",
        Transfer(
            PATH | {"back_rate_bps": 2_000_000, "back_queue_bytes": 120_000, "back_ghost_bps": 1_990_000},
            seconds=SECONDS,
        ),
        changed(link=PATH),
        promised=False,
    ),
    Trial(
        "policer",
        Transfer(PATH | {"police_bps": 20_000_000, "police_burst_bytes": 60_000}, seconds=SECONDS),
        says="policer",
    ),
    Trial("full link", Transfer(path(20, 40), seconds=SECONDS), says="faster link"),
    Trial(
        "full link with a long queue",
        Transfer(path(10, 40, queue_bytes=600_000), seconds=SECONDS),
        says="faster link",
    ),
)


def host_of(command: str) -> str:
    """Name the host of a printed command, from its comment."""
    return command.partition("   # ")[2].partition(":")[0].partition(",")[0].strip()


def chosen(command: str) -> bool:
    """Tell whether a reader of a command's condition runs it; no buffer that a program sets has to stay."""
    said = command.partition("   # ")[2]
    return not any(words in said for words in ("must stay", "main namespace"))


def apply(hosts: Hosts, commands: tuple[str, ...]) -> None:
    """Run commands as printed."""
    for command in commands:
        named = host_of(command)
        for end in ("sender", "receiver") if named == "both ends" else (named,):
            if chosen(command) and end in ("sender", "receiver"):
                do("ip", "netns", "exec", getattr(hosts, end), "sh", "-c", command)


def transferred(trial: Trial, folder: Path, programs: Path, commands: tuple[str, ...]) -> Path:
    """Run a trial's transfer; returns the sender's capture."""
    folder.mkdir()
    if not trial.http2_bits and not trial.ssh:
        run(trial.transfer, folder, programs, prepare=lambda hosts: apply(hosts, commands))
        return folder / "sender.pcap"
    configure(programs, {})
    with ExitStack() as stack:
        hosts = Hosts(programs, stack)
        start_link(hosts, trial.transfer, folder)
        apply(hosts, commands)
        for host in (hosts.sender, hosts.receiver):
            stack.callback(leave, host)
        with captures(hosts, folder, trial.transfer.snap):
            until = time.monotonic() + trial.transfer.seconds + LISTEN_S
            for client in (http2 if trial.http2_bits else ssh)(hosts, trial, programs):
                try:
                    client.wait(timeout=max(0.1, until - time.monotonic()))
                except subprocess.TimeoutExpired:
                    client.terminate()
    return folder / "sender.pcap"


def http2(hosts: Hosts, trial: Trial, programs: Path) -> list[subprocess.Popen[str]]:
    """Download from nginx by HTTP/2, with windows of so many bits."""
    hosts.start(hosts.sender, "nginx", "-c", programs / "nginx.conf", "-p", programs, **SILENT)
    await_listener(hosts.sender)
    url = f"https://{addresses(0)[0]}/small.bin"
    bits = trial.http2_bits
    return [hosts.start(hosts.receiver, "nghttp", "-n", "-w", bits, "-W", bits, url, **SILENT)]


def ssh(hosts: Hosts, trial: Trial, programs: Path) -> list[subprocess.Popen[str]]:
    """Copy through connections of OpenSSH."""
    hosts.start(hosts.receiver, "/usr/sbin/sshd", "-D", "-f", programs / "sshd.conf", **SILENT)
    await_listener(hosts.receiver)
    copy = f"exec ssh -F {programs}/ssh.conf {addresses(0)[1]} 'cat >/dev/null' <{programs}/big.bin"
    return [hosts.start(hosts.sender, "sh", "-c", copy, **SILENT) for _ in range(trial.ssh)]


def rate_bps(capture: bdpcap.Capture) -> float:
    """Payload acknowledged per second by all flows from their host, slow start left out."""
    rounds = capture.rtts
    sender = capture.flows.loc[capture.flows["payload_bytes"].idxmax(), "sender"].rpartition(":")[0]
    mine = rounds[rounds["sender"].str.rpartition(":")[0] == sender]
    start = mine["start_ns"].min() + SLOW_START_S * 1e9
    # Connections end one after the other: only while all of them send is the path shared as meant.
    large = mine.groupby("stream")["acked_bytes"].transform("sum") * 20 > mine["acked_bytes"].sum()
    end = mine[large].groupby("stream")["end_ns"].max().min()
    inside = mine[(mine["start_ns"] >= start) & (mine["end_ns"] <= end)]
    return float(inside["acked_bytes"].sum() * 8e9 / (end - start))


def advised(capture: bdpcap.Capture) -> list[Finding]:
    """Findings with a remedy, of the flow that carried most."""
    row = capture.flows.loc[capture.flows["payload_bytes"].idxmax()]
    told = capture.flow(int(row["stream"]), row["sender"]).findings
    return [finding for finding in told if finding.code in ADVISED and finding.remedy]


def attempt(trial: Trial, folder: Path, programs: Path) -> list[str]:
    """Try one remedy; returns a row of the table."""
    quiet(PATIENCE_S)
    before = bdpcap.analyze(transferred(trial, folder / "before", programs, ()))
    told = advised(before)
    if not told:
        return [trial.name, f"{rate_bps(before) / 1e6:.1f}", "none", "", "", "no remedy printed"]
    commands = tuple(dict.fromkeys(command for finding in told for command in finding.commands))
    for finding in told:
        print(f"  {finding.code}: {finding.remedy}", *finding.commands, sep="\n    ", file=sys.stderr)
    was = rate_bps(before)
    if trial.says:
        right = trial.says in told[0].remedy and not any("sysctl -w" in one for one in told[0].commands)
        return [
            trial.name,
            f"{was / 1e6:.1f}",
            told[0].code,
            "nothing at the ends",
            "",
            "yes" if right else "no",
        ]
    quiet(PATIENCE_S)
    after = bdpcap.analyze(transferred(trial.follow(trial), folder / "after", programs, commands))
    now = rate_bps(after)
    row = before.flows.loc[before.flows["payload_bytes"].idxmax()]
    # A flow that never sent enough to show the path is promised no rate: there the link's is the goal.
    shown = basis(row) is not Basis.BOUND
    link_bps = trial.transfer.link["rate_bps"] * SEGMENT / (SEGMENT + HEADERS)
    goal = was if not trial.promised else float(row["capacity_bps"]) if shown else link_bps
    kept = now >= (1 - WITHIN) * goal if trial.promised else now > (1 + WITHIN) * was
    return [
        trial.name,
        f"{was / 1e6:.1f}",
        ", ".join(finding.code for finding in told),
        "more" if not trial.promised else f"{goal / 1e6:.1f}" if shown else f"(link) {goal / 1e6:.1f}",
        f"{now / 1e6:.1f}",
        "yes" if kept else "no",
    ]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="try remedies (as root: namespaces, tcpdump, chrt)")
    parser.add_argument("names", nargs="*", help="beginnings of trials' names (all)")
    options = parser.parse_args()
    trials = [
        trial
        for trial in TRIALS
        if not options.names or any(trial.name.startswith(name) for name in options.names)
    ]
    heads = ["limit", "before, Mbit/s", "findings", "promised", "after", "kept"]
    print(f"Linux {kernel()}\n")
    print(f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}", sep="\n", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        programs = Path(temporary) / "programs"
        programs.mkdir()
        build(programs)
        prepare(programs)
        for number, trial in enumerate(trials):
            folder = Path(temporary) / str(number)
            folder.mkdir()
            print(f"| {' | '.join(attempt(trial, folder, programs))} |", flush=True)


if __name__ == "__main__":
    main()
