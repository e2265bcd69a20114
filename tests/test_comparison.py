"""Other programs answer today as the page of comparison has it."""

import re
import shlex
import shutil
import subprocess

import pytest
import zstandard
from conftest import unavailable
from oracles import ROOT

PAGE = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
SAMPLE = ROOT / "sample_captures" / "linux61_advwinscale2_w50000.pcap.zst"
RUN = re.findall(r"^\| \w+ [\d.]+ \| `((?:tshark|capinfos|tcptrace) [^`]*)` \| (.*) \|$", PAGE, re.MULTILINE)
QUOTED = re.compile(r"`([^`]+)`|(\d[\d,.]*\d)")
"""What an answer quotes: words in backquotes, and numbers of two digits or more."""


def test_the_rows_to_run_are_found():
    assert {command.split()[0] for command, _ in RUN} == {"tshark", "capinfos", "tcptrace"}


@pytest.mark.parametrize(("command", "answers"), RUN, ids=[command[:40] for command, _ in RUN])
def test_a_program_answers_as_the_page_has_it(command, answers, tmp_path):
    words = shlex.split(command)
    if not shutil.which(words[0]):
        unavailable(words[0])
    plain = zstandard.ZstdDecompressor().decompressobj().decompress(SAMPLE.read_bytes())
    (tmp_path / "trace.pcap").write_bytes(plain)
    printed = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120
    ).stdout
    expected = [words or number.replace(",", "") for words, number in QUOTED.findall(answers)]
    assert expected
    whole = (rf"(?<!\d){re.escape(one)}(?!\d)" for one in expected)
    assert [one for one in whole if not re.search(one, printed.replace(",", ""))] == []
