"""Words that the pictures of the documents show: a picture whose words changed is drawn anew by `make pages`."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from oracles import ROOT, TESTS

import bdpcap
from bdpcap.report import verdict

FOLDER = TESTS / "data" / "pictures"
REPORT = "sample_captures/linux61_advwinscale2_w50000.pcap.zst"
VIEW = "sample_captures/cwnd_loss_2pct.sender.pcap.zst"


def report() -> str:
    """Return the words at the head of the report: what was captured, and the verdict."""
    import html5lib  # noqa: PLC0415  notebooks are checked without it

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(ROOT):
        page = bdpcap.analyze(REPORT).report(Path(folder) / "report.html").read_text(encoding="utf-8")
    document = html5lib.parse(page, namespaceHTMLElements=False)
    parts = [document.find(".//header"), document.find(".//article/div")]
    lines = (" ".join("".join(line.itertext()).split()) for part in parts for line in part)
    return "".join(f"{line}\n" for line in lines if line)


def view() -> str:
    """Return the words above the figure: the flow and its verdict."""
    from bdpcap.view.viewer import Viewer  # noqa: PLC0415  it needs an extra

    capture = bdpcap.analyze(ROOT / VIEW)
    viewer = Viewer(capture, capture[0])
    return f"{viewer.labels[viewer.first]}\n{verdict.sentence(viewer.flow(viewer.first))}\n"


PAGES = {FOLDER / "report.txt": report, FOLDER / "view.txt": view}
"""Where the words of each picture in `docs/` are kept, and what returns today's."""
