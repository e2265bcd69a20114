"""Time the steps of `bdpcap view` in headless Chromium, each from its key until the figures are drawn."""

from __future__ import annotations

import argparse
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


def steps_ms(page: Page) -> list[float]:
    """Press each key; return the time in ms until the last change was drawn."""
    page.evaluate(WATCH)
    steps = []
    for key in KEYS:
        before = page.evaluate(f"{FIGURE}.layout.xaxis.range")
        page.keyboard.press(key)
        changed = f"([low]) => {FIGURE}.layout.xaxis.range[0] !== low"
        page.wait_for_function(changed, arg=before)
        page.wait_for_timeout(QUIET_MS)
        steps.append(page.evaluate("window.step"))
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
                steps = steps_ms(page)
            print(
                f"{len(steps)} steps: median {statistics.median(steps):.0f} ms, longest {max(steps):.0f} ms"
            )
            status = Path(f"/proc/{server.pid}/status").read_text(encoding="ascii")
            print("peak of the server's memory:", *status.partition("VmHWM:")[2].split()[:2])
            server.terminate()


if __name__ == "__main__":
    main()
