"""Texts, read sentence by sentence against their captures: of samples in full, of labelled transfers the first."""

from __future__ import annotations

import contextlib

from oracles import ROOT, TESTS

import bdpcap
from bdpcap import report

FOLDER = TESTS / "data/reviewed"


TRANSFERS = sorted((TESTS / "data/labelled").glob("*/*/sender.pcap.zst"))
"""Labelled transfers of the repository, each captured at the sender: applications, buffers, links, losses, taps."""


def name(path):
    """Return where the text of a sample is kept."""
    return FOLDER / f"{path.name.split('.pcap')[0]}.txt"


def text(path):
    """Return all that is told of a sample, asked for by its name from the top of the repository."""
    with contextlib.chdir(ROOT):
        return report.text(bdpcap.analyze(path.relative_to(ROOT)), full=True)


def first_name(path):
    """Return where the first text of a labelled transfer is kept."""
    return FOLDER / "labelled" / f"{path.parent.parent.name}_{path.parent.name}.txt"


def first_text(path):
    """Return the first text on a labelled transfer."""
    with contextlib.chdir(ROOT):
        return report.text(bdpcap.analyze(path.relative_to(ROOT)))
