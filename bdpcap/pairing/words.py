"""Sentences on the two captures of a path, for the text and for the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from bdpcap.pairing.clocks import Clock

__all__ = ["clock", "connection", "losses", "queue", "rows", "view"]

_PLACES: Final = {
    "before": "lost before the capture next to their sender",
    "between": "lost between the captures",
    "after": "lost after the capture next to their receiver",
    "near capture": "delivered, and missed by the capture next to their sender",
    "far capture": "delivered, and missed by the capture next to their receiver",
    "duplicated": "duplicated between the captures",
}
_QUEUES: Final = {
    "forward": "Most of it arises on the way of the data, between the captures.",
    "reverse": "Most of it arises on the way of the acknowledgments, between the captures.",
    "beyond": "Most of it arises beyond the receiver's capture: in the receiver's host, or before it.",
    "nowhere": "There is no standing queue.",
}


def rows(table: pd.DataFrame) -> Iterator[Any]:
    """Yield the rows of a table as named tuples, which the other functions take."""
    return iter(table.itertuples(index=False))


def clock(of: Clock) -> Iterator[str]:
    """Yield sentences on the offset and the drift of the clocks, and on their errors."""
    ahead = "ahead of" if of.offset_ns >= 0 else "behind"
    yield (
        f"The receiver's clock is {units.duration(abs(of.offset_ns))} {ahead} the sender's, "
        f"give or take {units.duration(of.offset_error_ns)}: half the least round trip between the captures."
    )
    yield "The estimate is right if the path takes as long there as back."
    if not of.has_drift:
        yield "Too few packets are in both captures to measure how the clocks drift."
    elif of.applied_drift:
        yield f"The offset grows by {_ppm(of.drift)}, give or take {_ppm(of.drift_error)}; delays allow for that."
    else:
        yield f"No drift shows: {_ppm(of.drift)}, give or take {_ppm(of.drift_error)}."
    if of.jumped:
        yield "A clock was set meanwhile: no one offset fits all packets, and delays are wrong by so much."


def _ppm(drift: float) -> str:
    return f"{drift * 1e6:.3g} ppm"


def connection(row: Any) -> str:
    """Return the connection of a row of `bdpcap.pairing.ends.STREAMS` and the evidence for its match, as text."""
    said = f"stream {row.stream}: {units.printable(row.client)} to {units.printable(row.server)}"
    if (row.client, row.server) != (row.receiver_client, row.receiver_server):
        other = f"{units.printable(row.receiver_client)} to {units.printable(row.receiver_server)}"
        said += f"; in the receiver's capture {other} (NAT)"
    if row.stream != row.receiver_stream:
        said += f"; stream {row.receiver_stream} there"
    return f"{said}; matched by {row.matched_by}"


def queue(row: Any) -> str:
    """Return sentences on the queueing delays of a row of `bdpcap.pairing.delays.DELAYS` and the place of the queue."""
    parts = [
        f"{units.duration(value)} {where}"
        for value, where in (
            (row.forward_queue_ns, "on the way of the data"),
            (row.reverse_queue_ns, "on the way of the acknowledgments"),
            (row.beyond_queue_ns, "beyond the receiver's capture"),
        )
        if value == value and value is not None  # noqa: PLR0124 - NaN is not itself
    ]
    waits = ", ".join(parts)
    return f"{units.printable(row.sender)}: median queueing delay {waits}. {_QUEUES[row.queue]}"


def losses(table: pd.DataFrame, delays: pd.DataFrame) -> Iterator[str]:
    """Yield sentences on losses by place.

    The tables have the columns of `bdpcap.pairing.losses.LOSSES` and `bdpcap.pairing.delays.DELAYS`.
    """
    if table.empty:
        yield "No data was lost: every byte in one capture is in the other."
    for place, words in _PLACES.items():
        lengths = table.loc[table["place"] == place, "length"]
        if len(lengths):
            yield f"{units.number(len(lengths), 'packet')} ({units.exact_bytes(lengths.sum())}) {words}."
    unseen = int(delays["acknowledgments_lost"].sum())
    if unseen:
        yield f"{units.number(unseen, 'acknowledgment')} passed the receiver's capture and not the sender's."


def view(row: Any, names: Mapping[str, str]) -> str:
    """Return sentences on how far the two views in a row of `bdpcap.pairing.views.VIEWS` agree."""
    limits = f"seen from the ends, {names[row.limit]} and {names[row.rebuilt_limit]} limit most of the time"
    if row.limit == row.rebuilt_limit:
        limits = f"both captures give most of the time to one limit, {names[row.limit]}"
    return (
        f"{units.printable(row.sender)}: in flight {units.data_size(row.in_flight_median_bytes)} (median), rebuilt "
        f"{units.data_size(row.rebuilt_median_bytes)}; packet by packet they differ by "
        f"{units.percent(row.in_flight_error_share)}. {limits[0].upper()}{limits[1:]}; they agree for "
        f"{units.share(row.limits_agree_share)} of {units.duration(row.overlap_ns)}."
    )
