"""Texts of the samples, read sentence by sentence against the captures."""

from __future__ import annotations

import contextlib

from oracles import ROOT, TESTS

import bdpcap
from bdpcap import report

FOLDER = TESTS / "data/reviewed"


def name(path):
    """Return where the text of a sample is kept."""
    return FOLDER / f"{path.name.split('.pcap')[0]}.txt"


def text(path):
    """Return all that is told of a sample, asked for by its name from the top of the repository."""
    with contextlib.chdir(ROOT):
        return report.text(bdpcap.analyze(path.relative_to(ROOT)), full=True)
