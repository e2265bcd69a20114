"""What all tests share: how hard hypothesis tries, what may be missing, and that an interrupt is heeded."""

from __future__ import annotations

import os
import shutil
import signal

import hypothesis
import pytest
from oracles import SHARED

# `fast` finds the same examples every time, so that the result of a change depends on the change alone;
# `deep` looks for new ones: BDPCAP_HYPOTHESIS=deep pytest tests/test_properties.py
hypothesis.settings.register_profile("fast", max_examples=40, derandomize=True, deadline=None, database=None)
hypothesis.settings.register_profile("deep", max_examples=3_000, deadline=None)
hypothesis.settings.load_profile(os.environ.get("BDPCAP_HYPOTHESIS", "fast"))

# A shell that starts the tests in the background lets them ignore this signal, and all programs that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


def unavailable(what: str, kind: str = "programs") -> None:
    """Skip, unless BDPCAP_ORACLES names the kind: ``programs``, ``captures`` or both, with a comma."""
    if kind in os.environ.get("BDPCAP_ORACLES", "").split(","):
        pytest.fail(f"{what} is missing, and BDPCAP_ORACLES asks for {kind}")
    pytest.skip(f"{what} is missing")


@pytest.fixture
def need_tshark() -> None:
    if not shutil.which("tshark"):
        unavailable("tshark")


# Before fixtures of a module, which read the captures.
@pytest.fixture(scope="session")
def need_shared() -> None:
    if not SHARED.is_dir():
        unavailable("../shared", "captures")


@pytest.fixture(scope="module")
def browser():
    """A headless Chromium."""
    from in_browser import launched  # noqa: PLC0415  only pages need playwright

    with launched() as chromium:
        yield chromium


@pytest.fixture
def open_page(browser):
    """A function that opens a file in the browser; the pages are closed at the end."""
    from in_browser import opened  # noqa: PLC0415

    pages = []

    def open_(file, **how):
        pages.append(opened(browser, file, **how))
        return pages[-1]

    yield open_
    for page in pages:
        page.context.close()
