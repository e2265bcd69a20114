"""First texts of real captures that documents quote are what bdpcap prints of them."""

import re
from itertools import groupby

import pytest
from oracles import ROOT, SHARED

import bdpcap
from bdpcap import report

QUOTED = {
    "outage.md": ("wild_b/sf20_trace1.pcapng.zst", "wild/206_example_b.pcap.zst"),
    "policer.md": ("wild_b/lyc_dns1.pcapng.zst",),
    "slow-reader.md": ("wild/mlab-C2DA9.pcap.zst",),
    "nat-or-proxy.md": ("wild_b/virtualbox_nat_http3.pcap.zst", "wild/mlab-5B90B.pcap.zst"),
}
"""Shared captures by the how-to that quotes them."""
LEFT_OUT = "..."
"""A line that stands for lines that are not shown."""


def pieces(page):
    """Return the runs of lines of each quoted text without a command."""
    blocks = re.findall(r"^```text\n((?:VERDICT|CONNECTIONS).*?)^```$", page, re.MULTILINE | re.DOTALL)
    return [
        ["\n".join(lines) for left_out, lines in groupby(block.splitlines(), LEFT_OUT.__eq__) if not left_out]
        for block in blocks
    ]


@pytest.mark.usefixtures("need_shared")
@pytest.mark.parametrize(("page", "captures"), QUOTED.items())
def test_a_quoted_text_is_what_is_printed(page, captures):
    quoted = pieces((ROOT / "docs/how-to" / page).read_text("utf-8"))
    for capture in captures:
        printed = report.text(bdpcap.analyze(SHARED / "captures" / capture))
        assert any(all(piece in printed for piece in block) for block in quoted), capture
