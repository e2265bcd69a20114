"""Draw the pictures of the documents in headless Chromium: the head of a report, and `bdpcap view`."""

import re
import subprocess
import sys
import tempfile
from contextlib import chdir
from pathlib import Path

from oracles import ROOT, chromium
from picture_texts import REPORT, VIEW
from playwright.sync_api import sync_playwright

import bdpcap

DOCS = ROOT / "docs"
KEYS = ("+", "+", *6 * ["ArrowLeft"], "+", *2 * ["ArrowLeft"], "+")
"""From the whole transfer to the losses that end slow start."""
DRAWN_MS = 700
"""Time to wait for a figure."""


def draw_report(browser) -> None:
    """Draw the first screen of a report, with the path of its capture as in a clone."""
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    with tempfile.TemporaryDirectory() as directory, chdir(ROOT):
        file = bdpcap.analyze(REPORT).report(Path(directory) / "report.html")
        page.goto(file.as_uri())
        page.wait_for_timeout(DRAWN_MS)
        page.screenshot(path=DOCS / "report.png")


def draw_view(browser) -> None:
    """Serve a flow with losses, zoom to the first, click on one, and draw the page."""
    command = [sys.executable, "-m", "bdpcap", "view", str(ROOT / VIEW), "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            _draw_view(browser, re.search(r"http://\S+", server.stderr.readline())[0])
        finally:
            server.terminate()


def _draw_view(browser, address: str) -> None:
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
    page.screenshot(path=DOCS / "view.png", full_page=True)


def main() -> None:
    """Draw both."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        draw_report(browser)
        draw_view(browser)
        browser.close()


if __name__ == "__main__":
    main()
