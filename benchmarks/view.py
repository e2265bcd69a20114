"""Time the steps of `bdpcap view` in headless Chromium, each from its key until the figures are drawn."""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from large_captures import write
from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from playwright.sync_api import Page

FIGURE: Final = "document.querySelector('#figure .js-plotly-plot')"
KEYS: Final = ("+",) * 10 + ("ArrowRight", "ArrowLeft") * 3 + ("-",) * 9
"""From the whole capture into a thousandth of it, and back."""
QUIET_MS: Final = 700
"""So long after a step nothing more is drawn."""
WATCH: Final = f"""() => {{
  document.addEventListener('keydown', () => {{ window.pressed = performance.now(); }}, true);
  {FIGURE}.on('plotly_afterplot', () => {{ window.step = performance.now() - window.pressed; }});
}}"""


def server_ms(pid: int) -> float:
    """Return the processor time of a process so far, in ms."""
    spent = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[11:13]
    return sum(map(int, spent)) / os.sysconf("SC_CLK_TCK") * 1e3


def steps_ms(page: Page, pid: int) -> list[tuple[float, float, float]]:
    """Press each key; return the time until the last change was drawn, and processor times of page and server, in ms."""
    page.evaluate(WATCH)
    tools = page.context.new_cdp_session(page)
    tools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent_ms() -> tuple[float, float]:
        metrics = {one["name"]: one["value"] for one in tools.send("Performance.getMetrics")["metrics"]}
        return metrics["TaskDuration"] * 1e3, server_ms(pid)

    steps = []
    for key in KEYS:
        of_page, of_server = spent_ms()
        before = page.evaluate(f"{FIGURE}.layout.xaxis.range")
        page.keyboard.press(key)
        changed = f"([low]) => {FIGURE}.layout.xaxis.range[0] !== low"
        page.wait_for_function(changed, arg=before)
        page.wait_for_timeout(QUIET_MS)
        took = page.evaluate("window.step")
        page_now, server_now = spent_ms()
        steps.append((took, page_now - of_page, server_now - of_server))
    return steps


def main() -> None:
    """Command line: [--count N]."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000, help="packets of the flow")
    count = parser.parse_args().count
    with tempfile.TemporaryDirectory() as directory:
        capture = Path(directory) / "one.pcap"
        write("headers", capture, count)
        command = [sys.executable, "-m", "bdpcap", "view", str(capture), "--no-browser"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
            address = next(line for line in server.stdout or () if "http" in line).split()[1]
            with sync_playwright() as playwright:
                # Chromium refuses its own sandbox to root.
                chromium = shutil.which("chromium")
                browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
                page = browser.new_page(viewport={"width": 1200, "height": 1300})
                since = time.monotonic()
                page.goto(address)
                page.wait_for_function(f"() => {FIGURE}?.calcdata?.length > 5")
                print(f"opened in {time.monotonic() - since:.1f} s")
                steps = steps_ms(page, server.pid)
            for what, times in zip(("drawn", "page's", "server's"), zip(*steps, strict=True), strict=True):
                print(f"{what}: median {statistics.median(times):.0f} ms, longest {max(times):.0f} ms")
            status = Path(f"/proc/{server.pid}/status").read_text(encoding="ascii")
            print("peak of the server's memory:", *status.partition("VmHWM:")[2].split()[:2])
            server.terminate()


if __name__ == "__main__":
    main()
