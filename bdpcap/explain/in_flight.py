"""Size, time and rate of a transfer as sentences give them; the time is the one in which data were in flight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bdpcap.explain import gate
from bdpcap.explain.capacity import INITIAL_WINDOW
from bdpcap.explain.exchange_shares import trip_ns
from bdpcap.explain.notable import NOTABLE_SHARE, NOTICED_NS
from bdpcap.explain.reached import acknowledged_bytes, lacks
from bdpcap.words import rates, units

if TYPE_CHECKING:
    import pandas as pd

    from bdpcap.capture import Flow

__all__ = ["AT_ONCE_NS", "Transfer", "whole", "within"]

AT_ONCE_NS: Final = 100_000_000
"""Wait up to which an answer seems to come at once (Nielsen, Usability Engineering, 1993: 0.1 second)."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """Bytes and the time in which they were in flight.

    The time runs from the first byte of each burst to the acknowledgment of its last, as the sender saw it. For a tail of
    less than a segment it ends after a round trip: the receiver may delay that acknowledgment. Pauses, with no payload in
    flight, are left out, and so are the handshake and the wait for the acknowledgment of a FIN.
    """

    moved_bytes: int
    in_flight_ns: int
    pauses_ns: int
    """Time between the first byte and the acknowledgment of the last that is left out."""
    is_timed: bool
    """Whether the capture shows how long the data took: it has acknowledgments of them, and the sender's round trips."""
    is_bound: bool
    """Whether more bytes were acknowledged than `moved_bytes`."""
    is_paced: bool
    """Whether the bytes are more than an initial window, so that their time depends on acknowledgments.

    A time of less than a round trip is none of these: next to the receiver, packets come in batches of its adapter.
    """

    @property
    def spanned_ns(self) -> int:
        """Time from the first byte to the acknowledgment of the last, pauses included."""
        return self.in_flight_ns + self.pauses_ns

    @property
    def reached_bps(self) -> float:
        """Rate while the bytes were in flight, in bit/s; 0 where the time is unknown."""
        return rates.of_bytes(self.moved_bytes, self.in_flight_ns) if self.is_timed else 0.0

    @property
    def _coarse_ns(self) -> int | None:
        """Time that stands for that of data in one initial window: digits of less than a second need more; else None."""
        fits = (ns for ns in (AT_ONCE_NS, NOTICED_NS) if self.spanned_ns < ns)
        return None if self.is_paced else next(fits, None)

    @property
    def is_exact(self) -> bool:
        """Whether the words give the time of the data, and not one in which they fit."""
        return self.is_timed and self._coarse_ns is None

    def words(self, total_bytes: int | None = None, bursts: str = "") -> str:
        """Return size, time and rate, with the total of another size after the size, and the bursts after the time.

        Bursts that hold no more than an initial window stand for the time: that of each depends on the path alone.
        Without bursts, the whole time follows that of the data, or stands for it where they fit in an initial window.
        Less than a second of these needs no digits: a delayed acknowledgment may be a part of it.
        """
        size = units.data_size(self.moved_bytes)
        whole = size if total_bytes is None else units.data_size(total_bytes)
        of = "" if size == whole else f" of {whole}"
        if not self.is_timed:
            return f"{size}{of}"
        if bursts and not self.is_paced:
            return f"{size}{of} in {bursts}"
        has_pauses = self.pauses_ns > NOTABLE_SHARE * self.in_flight_ns
        if not self.is_paced and (self._coarse_ns or has_pauses):
            return f"{size}{of} within {units.duration(self._coarse_ns or self.spanned_ns)}"
        rate = gate.reached_bps(self.reached_bps) if self.is_paced else None
        at = (
            "" if rate is None else f" at {units.rounded(rate, 'bit/s')}{' or more' if self.is_bound else ''}"
        )
        # With pauses, nobody finds that time between two packets.
        within = ", in flight for" if has_pauses else " in"
        spanned = f" of {units.duration(self.spanned_ns)}" if has_pauses else ""
        return f"{size}{of}{within} {units.duration(self.in_flight_ns)}{f' ({bursts})' if bursts else spanned}{at}"


def whole(flow: Flow) -> Transfer:
    """Return all data of a flow; acknowledged data that the capture lacks count where their size is known."""
    acknowledged, counts = acknowledged_bytes(flow), flow._counts
    captured = int(flow.summary["payload_bytes"])
    moved = captured if acknowledged is None else acknowledged
    # Next to the receiver, data seem to be in flight for the time that it takes to acknowledge them.
    measured = flow.summary["limit"] != "unknown" or not (flow.rtts["rule"] == "unmeasured").any()
    return Transfer(
        moved,
        int(counts["data_ns"]),
        int(counts["pauses_ns"]),
        measured and int(counts["acked_bytes"]) > 0 and 0 < int(counts["data_ns"]) < units.YEAR_NS,
        lacks(flow) and acknowledged is None,
        _is_paced(flow, moved, int(counts["data_ns"])),
    )


def _is_paced(flow: Flow, moved_bytes: int, in_flight_ns: int) -> bool:
    return moved_bytes > _initial_window_bytes(flow) and in_flight_ns >= (trip_ns(flow) or 0)


def _initial_window_bytes(flow: Flow) -> int:
    return INITIAL_WINDOW * int(flow.summary["mss_bytes"])


def within(flow: Flow, rounds: pd.DataFrame) -> Transfer:
    """Return the data that were acknowledged in some rounds of a flow."""
    times = flow._hidden.loc[rounds.index]
    lasting_ns = int((times["length_ns"] - times["empty_ns"]).clip(lower=0).sum())
    every, moved = whole(flow), int(rounds["acked_bytes"].sum())
    # A round with the handshake or with the FIN has time without payload.
    in_flight_ns = min(lasting_ns, every.in_flight_ns)
    return Transfer(
        moved,
        in_flight_ns,
        0,
        every.is_timed and lasting_ns > 0,
        every.is_bound,
        _is_paced(flow, moved, in_flight_ns),
    )
