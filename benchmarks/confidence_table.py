"""The table bdpcap/limits/confidence.csv, with where its numbers are from; and what it is worth on labs it never saw."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
from calibration import PRIOR, applied, table
from grading import rows
from labelled import kernels, seeds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from batch import Batch
    from labelled import Transfer

    from bdpcap.limits.decision import Verdict

__all__ = ["left_out", "text"]

HEAD = f"""\
# Share of time that a rule was right in labelled transfers, by place and by distance from a change of the limit
# (confidence.py). The place is the sender, or away from it: between and at the receiver. Labs count equally,
# transfers equally within a lab. Where few transfers show it, a rule's share is pulled towards that of its limit at the
# same place, which counts as {PRIOR:g} transfers. Made by benchmarks/accuracy.py --confidence from these sets:
#
"""


def text(sets: Mapping[str, Sequence[Transfer]], batch: Batch, verdict: Verdict) -> str:
    """Return the file, from all labs of a batch."""
    labs = batch.captures.groupby("group")["lab"].first()
    lines = [HEAD.rstrip("\n")]
    for group, own in sets.items():
        about = [f"{len(own)} transfers", f"Linux {kernels(own)}", f"seeds: {seeds(own) or 'not noted'}"]
        lines.append(f"# - {group} (lab {labs[group]}): {', '.join(about)}")
    lines.append("vantage,rule,distance,right")
    shares = table(batch, verdict, list(labs.unique()))
    lines += [f"{','.join(key)},{right:.3f}" for key, right in shares.items()]
    return "\n".join(lines) + "\n"


def left_out(batch: Batch, verdict: Verdict) -> pd.DataFrame:
    """Return rows as `grading.rows`, those of each lab with the confidences that the other labs give."""
    labs = list(batch.captures["lab"].unique())
    parts = []
    for lab in labs:
        shares = table(batch, verdict, [other for other in labs if other != lab])
        met = rows(batch, applied(batch, verdict, shares))
        parts.append(met[met["lab"] == lab])
    return pd.concat(parts, ignore_index=True)
