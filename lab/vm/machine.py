"""The virtual machine: the lines of shell that run a transfer in it, and running it."""

from __future__ import annotations

import subprocess
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from hosts import do
from quiet import alone

if TYPE_CHECKING:
    from pathlib import Path

    from apps.run import Values
    from apps.scenario import Program, Scenario

__all__ = ["boot", "script"]

NAMESPACES = {"sender": "a", "receiver": "b"}
GRACE_S = 6
OPTIONS = "console=ttyS0 rdinit=/init tsc=reliable mitigations=off quiet panic=1"


def inside(program: Program, values: Values, lead: str = "") -> str:
    """Write a program of a scenario as a line of shell."""
    return f"inside {NAMESPACES[program.host]} {lead}{program.command.format(**values)}"


def script(name: str, scenario: Scenario, values: Values, route: str) -> str:
    """Write what runs one transfer, in functions of guest.sh."""
    half = values["rtt_ms"] / 2
    path = f"{round(values['rate_mbps'] * 1e6)} {values['queue']} 'delay {half}ms {values['netem']}'"
    lead = f"timeout {values['seconds'] + GRACE_S} "
    lines = [
        f"turn {name}",
        "hosts",
        *(inside(program, values) for program in scenario.before),
        f"path {path} 'delay {half}ms'",
        *([f"lock '{route}'"] if route else []),
        f"begin {name}",
        *(f"{inside(program, values)} >/dev/null 2>&1 &" for program in scenario.servers),
        "sleep 1",
        f"{inside(scenario.client, values, lead)} >$out/client.txt 2>&1",
        "finish",
        f"echo over {name}",
    ]
    return "\n".join(lines) + "\n"


def boot(kernel: Path, image: Path, disk: Path, turn: Path | None, log: Path) -> None:
    """Run the machine to its end. Each transfer waits for its turn."""
    command = [
        *("qemu-system-x86_64", "-accel", "tcg,thread=multi", "-smp", "2", "-m", "2048"),
        *("-nographic", "-no-reboot", "-kernel", str(next((kernel / "boot").glob("vmlinuz-*")))),
        *("-initrd", str(image), "-append", OPTIONS, "-drive", f"file={disk},format=raw,if=virtio"),
    ]
    with ExitStack() as stack:
        said = stack.enter_context(log.open("w"))
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        machine = stack.enter_context(subprocess.Popen(command, errors="replace", **pipes))
        stack.callback(machine.terminate)
        if machine.stdin is None or machine.stdout is None:
            raise RuntimeError("no console")
        running = ExitStack()
        stack.callback(running.close)
        for line in machine.stdout:
            said.write(line)
            said.flush()
            words = line.split()
            if words[:1] == ["turn"]:
                running.enter_context(alone(turn))
                do("chrt", "-a", "-r", "-p", 1, machine.pid)  # as any program of the lab, see hosts.py
                machine.stdin.write("go\n")
                machine.stdin.flush()
            elif words[:1] == ["over"]:
                print(f"recorded {words[1]}", flush=True)
                do("chrt", "-a", "-o", "-p", 0, machine.pid)
                running.close()
