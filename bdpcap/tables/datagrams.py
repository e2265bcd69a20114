"""The table of UDP flows, and their totals between two hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bdpcap.tables import frames, schema
from bdpcap.words.endpoints import host

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["flows", "totals"]


def flows(columns: dict[str, Any]) -> pd.DataFrame:
    """Return the table `bdpcap.tables.DATAGRAMS` from the core's columns, in the order of the first datagrams."""
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
    Return the sums over all flows from one host to another, as iperf prints them for parallel streams.

    Parameters
    ----------
    datagrams
        Rows of `bdpcap.tables.DATAGRAMS`.

    Returns
    -------
    One row for each pair of hosts, sorted by bytes in descending order. ``sender`` and ``receiver`` are addresses
    without ports, ``streams`` is the number of flows. ``packets``, ``payload_bytes``, ``lost`` and ``reordered`` are
    sums; unknown values count as 0, and the sum is null if all are unknown. ``start_ns`` and ``end_ns`` are the times
    of the first and of the last datagram, and ``throughput_bps`` is the rate between them.
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
