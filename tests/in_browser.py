"""Pages in headless Chromium, offline, with every request and complaint noted; and whether text stands out."""

from contextlib import contextmanager

from oracles import chromium
from playwright.sync_api import sync_playwright

CONTRAST = """
() => {
  const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const paper = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = channels(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] === 1) return light(colour);
    }
  };
  const poor = [];
  for (const element of document.querySelectorAll("body *:not(script)")) {
    if (![...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
    if (!element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const ink = light(channels(element.ownerSVGElement ? style.fill : style.color));
    const [low, high] = [ink, paper(element)].sort((a, b) => a - b);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) poor.push([element.outerHTML.slice(0, 120), ratio]);
  }
  return poor;
}
"""
"""Elements whose text stands out by less than WCAG 2.2 asks for, criterion 1.4.3: a ratio of 4.5."""


@contextmanager
def launched():
    """Yield a browser."""
    with sync_playwright() as playwright:
        # Chromium's own sandbox cannot be had by root in a container.
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield browser
        browser.close()


def opened(browser, file, **how):
    """Open a file, offline; what was asked for and complained of is noted on the page."""
    context = browser.new_context(offline=True, viewport={"width": 1200, "height": 900}, **how)
    page = context.new_page()
    page.asked, page.complaints = [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.goto(file.as_uri())
    return page
