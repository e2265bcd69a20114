"""UDP beside TCP: the flows of datagrams, and what those between two hosts add up to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bdpcap.tables import frames, schema
from bdpcap.words.endpoints import host

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["flows", "totals"]


def flows(columns: dict[str, Any]) -> pd.DataFrame:
    """Build the table of the core's columns, `bdpcap.tables.DATAGRAMS`; by first datagram."""
    lasted_ns = columns["end_ns"] - columns["start_ns"]
    return frames.frame(
        schema.DATAGRAMS,
        {
            **columns,
            "throughput_bps": frames.bits_per_second(columns["payload_bytes"], lasted_ns),
            "tool": [name or None for name in columns["tool"]],
        },
    )


def totals(datagrams: pd.DataFrame) -> pd.DataFrame:
    """
    Add up the flows from one host to another, as iperf does with parallel streams.

    Parameters
    ----------
    datagrams
        Rows of `bdpcap.tables.DATAGRAMS`.

    Returns
    -------
    Columns ``sender`` and ``receiver`` (addresses without ports), ``streams``, and those of the table that can be
    added: ``packets``, ``payload_bytes``, ``start_ns`` and ``end_ns`` of all, ``throughput_bps`` from the first
    datagram to the last, ``lost`` and ``reordered`` of the flows where they are known; most bytes first.
    """
    ends = [datagrams[end].map(host) for end in ("sender", "receiver")]
    groups = datagrams.groupby(ends, sort=False)
    added = groups.agg(
        streams=("packets", "size"),
        packets=("packets", "sum"),
        payload_bytes=("payload_bytes", "sum"),
        start_ns=("start_ns", "min"),
        end_ns=("end_ns", "max"),
    )
    rate = frames.bits_per_second(
        added["payload_bytes"].to_numpy(), (added["end_ns"] - added["start_ns"]).to_numpy()
    )
    added["throughput_bps"] = rate.to_numpy()
    for name in ("lost", "reordered"):
        added[name] = groups[name].sum(min_count=1)
    return added.reset_index().sort_values("payload_bytes", ascending=False, kind="stable", ignore_index=True)
