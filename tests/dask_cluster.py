"""A Dask scheduler and two workers, each a process of its own, as on a cluster."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import distributed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

WAIT_SECONDS = 120


def wait_for(holds: Callable[[], bool], alive: Callable[[], bool], seconds: float = WAIT_SECONDS) -> None:
    """Wait until something holds, while something is alive."""
    end = time.monotonic() + seconds
    while not holds():
        assert alive()
        assert time.monotonic() < end
        time.sleep(0.02)


@contextlib.contextmanager
def two_workers(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Give the address of the scheduler, and the workers."""
    about = folder / "scheduler.json"
    own = ["--no-dashboard", "--scheduler-file", str(about)]
    with contextlib.ExitStack() as running:

        def process(*arguments: str) -> subprocess.Popen[bytes]:
            one = running.enter_context(
                subprocess.Popen(
                    [sys.executable, "-m", *arguments, *own],
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd=folder,
                )
            )
            running.callback(one.kill)
            return one

        scheduler = process("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0")
        wait_for(lambda: about.exists() and about.stat().st_size > 0, lambda: scheduler.poll() is None)
        worker = ["distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny", "--host", "127.0.0.1"]
        address = json.loads(about.read_text())["address"]
        workers = [process(*worker) for _ in range(2)]
        with distributed.Client(address, set_as_default=False) as client:
            client.wait_for_workers(len(workers), timeout=WAIT_SECONDS)
        yield address, workers
