"""Comparison of a connection's SYNs at both taps: fields that a middlebox rewrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bdpcap.tables import Column, frames

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from bdpcap.pairing.headers import Direction, Header
    from bdpcap.pairing.matching import Match

__all__ = ["OPTIONS", "options"]

OPTIONS: Final[dict[str, Column]] = {
    "stream": Column("int64", "stream in the sender's capture"),
    "segment": Column("str", "whose handshake segment", ("SYN", "SYN-ACK")),
    "field": Column("str", "what of it: an option, the initial sequence number, or the address and port"),
    "sender_tap": Column("str", "as the sender's capture has it; null where that lacks it"),
    "receiver_tap": Column("str", "as the receiver's capture has it; null where that lacks it"),
    "rewritten": Column("bool", "whether the two differ"),
}
"""Columns of the table of options, with one row for each field of a SYN that passed both taps."""

_SIDES: Final = ("SYN", "SYN-ACK")


def options(
    matches: list[Match],
    sender: Mapping[tuple[int, int], Direction],
    receiver: Mapping[tuple[int, int], Direction],
) -> pd.DataFrame:
    """Return a table with the columns of `OPTIONS`, for matched connections whose SYNs are in both captures."""
    rows: list[tuple[Any, ...]] = []
    for match in matches:
        for side, segment in enumerate(_SIDES):
            ours = sender.get((match.sender_stream, side))
            theirs = receiver.get((match.receiver_stream, match.side(side)))
            if ours is None or theirs is None or not (ours.header.is_syn and theirs.header.is_syn):
                continue
            fields = zip(_fields(ours), _fields(theirs), strict=True)
            rows += [
                (match.sender_stream, segment, name, one, other, one != other)
                for (name, one), (_, other) in fields
            ]
    columns = dict(zip(OPTIONS, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(OPTIONS, ())
    return frames.described(frames.frame(OPTIONS, columns), OPTIONS)


def _fields(direction: Direction) -> Iterator[tuple[str, str | None]]:
    header: Header = direction.header
    yield "from", direction.sender
    yield "initial sequence number", str(header.sequence)
    yield "MSS", _text(header.mss)
    yield "window scale", _text(header.window_scale)
    yield "SACK permitted", "yes" if header.sack_permitted else None
    yield "timestamps", _text(header.timestamp)
    yield "other options", ", ".join(map(str, header.others)) or None


def _text(value: int | None) -> str | None:
    return None if value is None else str(value)
