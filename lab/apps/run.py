"""Run a scenario: its programs between two hosts of the lab, captures, and the sampler."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hosts import Hosts, captures, do, end, ready
from transfer import start_link

if TYPE_CHECKING:
    from apps.scenario import Program, Scenario
    from transfer import Transfer

__all__ = ["SAMPLER", "Values", "run"]

Values = dict[str, Any]
HERE = Path(__file__).parent
SAMPLER = {"sampler": (HERE / "sampler.c", HERE / "diag.c", HERE / "writer.c")}  # for hosts.build
TABLE = 1024  # entries: few, so that listing connections is quick
LISTEN_S = 10  # until a server listens
SETTLE_S = 0.3  # between that and its client
GRACE_S = 4  # beyond its time, before a client is ended


def leave(namespace: str) -> None:
    """End what is left in a namespace, as servers leave children."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in do("ip", "netns", "pids", namespace).split():
            os.kill(int(process), number)
        time.sleep(0.2)


def start(hosts: Hosts, program: Program, values: Values) -> subprocess.Popen[str]:
    """Start a program of a scenario as any other process of the machine."""
    words = [word.format(**values) for word in shlex.split(program.command)]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
    return hosts.start(getattr(hosts, program.host), *words, first=False, **silent)


def await_listener(namespace: str) -> None:
    """Wait until a program listens."""
    until = time.monotonic() + LISTEN_S
    while not do("ip", "netns", "exec", namespace, "ss", "-Hltn"):
        if time.monotonic() > until:
            raise RuntimeError("no server listens")
        time.sleep(0.1)


def run(scenario: Scenario, transfer: Transfer, values: Values, folder: Path, programs: Path) -> list[str]:
    """Run a scenario; `folder` gets the captures, the link's trace and a conn_*.csv of each connection.

    Returns
    -------
    list
        What tcpdump says it missed.
    """
    with ExitStack() as stack:
        hosts = Hosts(programs, stack, entries=TABLE)
        link = start_link(hosts, transfer, folder)
        metrics = ("congctl", values["cc"], *transfer.route.split())
        do("ip", "-n", hosts.sender, "route", "change", "192.168.1.0/24", "dev", "eth0", *metrics)
        for host in (hosts.sender, hosts.receiver):
            do("ip", "-n", host, "link", "set", "lo", "up")
            stack.callback(leave, host)
        for program in scenario.before:
            start(hosts, program, values).wait(timeout=30)
        arguments = (hosts.sender, values["sender"], folder)
        sampler = hosts.start(None, "sampler", *arguments, stdout=subprocess.PIPE)
        ready(sampler)
        with captures(hosts, folder, transfer.snap) as missed:
            for program in scenario.servers:
                start(hosts, program, values)
            if scenario.servers:
                await_listener(getattr(hosts, scenario.servers[0].host))
            time.sleep(SETTLE_S)
            client = start(hosts, scenario.client, values)
            try:
                client.wait(timeout=transfer.seconds + GRACE_S)
            except subprocess.TimeoutExpired:
                end(client)
        end(sampler)
        end(link)
    return missed
