"""The tutorial explains words of first screens: each of its table is on the screen of a sample."""

import re

from oracles import ROOT, SAMPLES

import bdpcap
from bdpcap import report

TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text("utf-8")


def words():
    """Return the words of the first column of the table below `the screen says`."""
    table = TUTORIAL.partition("| the screen says |")[2].partition("\n\n")[0]
    return [word for row in table.splitlines()[2:] for word in re.findall(r"`([^`]+)`", row.split("|")[1])]


def test_each_word_is_on_the_first_screen_of_a_sample():
    screens = " ".join(" ".join(report.text(bdpcap.analyze(path)).split()) for path in SAMPLES)
    places = re.sub(r"(Stream 0:) \S+ → \S+", r"\1 A → B", screens)
    assert len(words()) > 15
    assert [word for word in words() if word not in places] == []
