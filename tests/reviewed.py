"""Texts, read sentence by sentence against their captures: of samples in full, of all others the first."""

from __future__ import annotations

import contextlib

from oracles import ROOT, SHARED, TESTS

import bdpcap
from bdpcap import report

FOLDER = TESTS / "data/reviewed"

TRANSFERS = sorted((TESTS / "data/labelled").glob("*/*/sender.pcap.zst"))
"""Labelled transfers of the repository, each captured at the sender: applications, buffers, links, losses, taps."""

REFERENCED_TEXTS = FOLDER / "referenced"
REFERENCED = [
    SHARED / "captures" / name
    for name in (
        "apps/h2_window64k/sender.pcap.zst",
        "apps/postgres_copy/sender.pcap.zst",
        "apps/redis_get20k/sender.pcap.zst",
        "apps/socat_sndbuf/sender.pcap.zst",
        "apps_b/mariadb_restore/sender.pcap.zst",
        "programs/09/sender.pcap.zst",
        "stacks/61_ll_lwip4_8ms/sender.pcap.zst",
        "wild_b/kurose_80211.pcap.zst",
        "wild_b/ldap_vbox_copies.pcap.zst",
        "wild_b/putty_dl.pcap.zst",
        "wild_b/sf20_trace1.pcapng.zst",
        "wild_b/virtualbox_nat_http3.pcap.zst",
        "wild_b/xcopy_smb.pcap.zst",
        "windows/06_before.pcap.zst",
        "windows/40_before.pcap.zst",
    )
]
"""Captures that stay where they are: only the texts on them are kept. `README.md` next to the texts says of what kind."""


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


def referenced_name(path):
    """Return where the first text of a referenced capture is kept."""
    *folders, file = path.relative_to(SHARED / "captures").parts
    own = [] if file == "sender.pcap.zst" else [file.split(".pcap")[0]]
    return REFERENCED_TEXTS / f"{'_'.join([*folders, *own])}.txt"


def first_text(path):
    """Return the first text on a capture, which names the file without its folder."""
    return report.text(bdpcap.analyze(path))
