"""Draw docs/view.png, the picture of `bdpcap view`: python tests/view_picture.py."""

import re
import subprocess
import sys

from oracles import ROOT, chromium
from playwright.sync_api import sync_playwright

PICTURE = ROOT / "docs" / "view.png"
SAMPLE = ROOT / "sample_captures" / "cwnd_loss_2pct.sender.pcap.zst"
KEYS = ("+", "+", *6 * ["ArrowLeft"], "+", *2 * ["ArrowLeft"], "+")
"""From the whole transfer to the losses that end slow start."""
DRAWN_MS = 700
"""Time to wait for a figure."""


def draw(address: str) -> None:
    """Zoom to the first losses, click on one, and take the picture."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1000, "height": 1400})
        page.set_default_timeout(10_000)
        page.goto(address)
        page.wait_for_selector("#figure .trace", state="attached")
        for key in KEYS:
            page.wait_for_timeout(DRAWN_MS)
            page.keyboard.press(key)
        page.wait_for_timeout(DRAWN_MS)
        box = page.locator("#figure .trace[class*=fast-retransmit] .points path").nth(1).bounding_box()
        page.mouse.move(box["x"] - 20, box["y"])
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=5)
        page.wait_for_timeout(DRAWN_MS)
        page.mouse.down()
        page.mouse.up()
        page.wait_for_selector("#packet code")
        page.screenshot(path=PICTURE, full_page=True)
        browser.close()


def main() -> None:
    """Serve the sample, and draw it."""
    command = [sys.executable, "-m", "bdpcap", "view", str(SAMPLE), "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            draw(re.search(r"http://\S+", server.stderr.readline())[0])
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
