"""The kernel's counters around each round of a flow, as `bdpcap.limits.evidence.Kernel` has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["around"]

REACH: Final = 4
"""Samples on either side of a round that count. One sample alone shows a moment, which another moment may belie."""
CLOCKS: Final = {"window_share": "rwnd_limited_ns", "blocked_share": "sndbuf_limited_ns"}
"""Column of `bdpcap.tables.HOST` with a clock of the kernel, by the share of time that it gives."""
WAKES: Final = 2 / 3
"""Use of the send buffer up to which a writer has room: Linux wakes it then (``sk_stream_write_space``)."""


def around(samples: pd.DataFrame, start_ns: Ints, end_ns: Ints) -> dict[str, Floats]:
    """Return the quantities of `bdpcap.limits.evidence.Kernel` by name, a value per round.

    Parameters
    ----------
    samples
        The samples of one flow, in order of time, with the columns of `bdpcap.tables.HOST`.
    start_ns, end_ns
        Where the rounds begin and end, in nanoseconds since the epoch.

    Returns
    -------
    dict
        Values are NaN for rounds without a sample before and after them, and where a sample lacks the counter.
    """
    time = samples["time_ns"].to_numpy(dtype=np.int64)
    count = len(time)
    before, after = time.searchsorted(start_ns, "right") - 1, time.searchsorted(end_ns, "left")
    covered = (before >= 0) & (after < count)
    first = np.maximum(before - REACH + 1, 0)[covered]
    last = np.minimum(after + REACH - 1, count - 1)[covered]

    def mean(values: Floats) -> Floats:
        known = np.isfinite(values)
        total, number = (np.append(0.0, np.cumsum(each)) for each in (np.where(known, values, 0.0), known))
        counted = number[last + 1] - number[first]
        return _ratio(
            total[last + 1] - total[first], np.where(counted == last + 1 - first, counted, 0), covered
        )

    def clocked(clock: Floats) -> Floats:
        return _ratio(clock[last] - clock[first], time[last] - time[first], covered)

    column = {name: _floats(samples[name]) for name in samples.columns.drop(["sender", "receiver"])}
    unsent, used, buffer = (column[name] for name in ("not_sent_bytes", "buffer_used_bytes", "buffer_bytes"))
    waits = unsent >= column["mss_bytes"]
    known = np.isfinite(unsent + column["mss_bytes"])
    measured = known & np.isfinite(used + buffer)
    return {
        **{share: clocked(column[clock]) for share, clock in CLOCKS.items()},
        "unsent_share": mean(np.where(known, waits, np.nan)),
        "full_share": mean(np.where(measured, ~waits & (used > WAKES * buffer), np.nan)),
        "room_share": mean(np.where(measured, ~waits & (used <= WAKES * buffer), np.nan)),
        "unsent": mean(unsent),
        "cwnd": mean(column["cwnd_segments"] * column["mss_bytes"]),
        "used": mean(used),
        "buffer": mean(buffer),
    }


def _ratio(part: Floats, whole: Floats, covered: Bools) -> Floats:
    """Return a ratio for each round that is covered; NaN for the others, and where `whole` is 0."""
    made = np.full(len(covered), np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        made[covered] = np.where(whole > 0, part / whole, np.nan)
    return made


def _floats(column: pd.Series[Any]) -> Floats:
    values: Floats = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return values
