"""The application's writes: idle time, short segments, messages that the peer answers, and data that ran out."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from bdpcap.limits.evidence.field import Concept, field
from bdpcap.limits.evidence.flight import EARLY, STRETCH
from bdpcap.limits.rounds import HALF, REACH, SECOND_NS

if TYPE_CHECKING:
    from bdpcap.limits.rounds import Bools, Floats

__all__ = ["FAREWELL_BYTES", "TLS_FAREWELL_BYTES", "TLS_GOODBYES", "Writes"]

PEERS_TURN: Final = 1
"""Value of the core's column ``turn``; see `Counts.turn`."""
ANSWERING: Final = 2
"""Value of the core's column ``turn``; see `Counts.turn`."""
CLIENT: Final = 0
"""The direction of the client's data."""
SERVER: Final = 1
"""The direction of the server's data."""
FAREWELL_BYTES: Final = 536
"""Bytes that a farewell (a TLS alert) stays below: the least MSS that every host takes (RFC 9293 section 3.7.1)."""
TLS_FAREWELL_BYTES: Final = 100
"""Most bytes of a server's farewell: GOAWAY of HTTP/2 and close_notify (RFC 9113 section 6.8, RFC 8446 section 6.1).

With the overhead of their records, they have 63 to 85 bytes.
"""
TLS_GOODBYES: Final = (24, 31, 39, 46, 63, 77)
"""Bytes of a record that holds close_notify, of one that holds GOAWAY without debug data, and of both together.

They have 2 and 17 bytes. A record adds 22 in TLS 1.3 and, with AES-GCM, 29 in TLS 1.2 (RFC 8446 section 5.2, RFC 5288
section 3).
"""

NOTHING: Final = 0.99
"""Share of a round with nothing in flight from which it was idle: the last acknowledgment may come within it."""
WHOLLY: Final = 0.9
"""Share of a round after a short segment from which it ended the data of nearly all of the round."""
STEADY: Final = 0.1
"""Spread of a steady flight; see the condition `STABLE` of the rules."""
QUARTER: Final = 0.25
"""Part of a segment by which a flight varies at least, so that its variation is not one of headers."""
VARIES_MORE: Final = 3
"""Variation of the flight over that of the amount sent, from which the amount is constant and the flight is not."""
ONE_EACH: Final = 1.25
"""Short segments per burst up to which each burst ends in one, but for some."""
SELDOM_OWN: Final = 0.2
"""Share of the bytes in bursts at other times than ACKs up to which acknowledgments released a message's data."""


class Writes(Concept):
    """A short segment ends the data to send: with more data, the segment would have been full."""

    name = "writes"

    @field("yes")
    def idle(self) -> Bools:
        """Was nothing sent, and nothing in flight for more than 99 % of the round?"""
        rounds = self.rounds
        nothing: Bools = self._silent & (rounds.share(rounds.empty_ns) > NOTHING)
        return nothing

    @cached_property
    def full_before(self) -> Bools:
        """Did the latest data end in full segments, so that more may have been waiting?"""
        rounds = self.rounds
        sent = rounds.sent_bytes > 0
        latest = np.maximum.accumulate(np.where(sent, np.arange(rounds.size), rounds.starts[rounds.flow]))
        full: Bools = sent[latest] & (rounds.short_segments[latest] == 0)
        return full

    @cached_property
    def _silent(self) -> Bools:
        """Was nothing sent?"""
        silent: Bools = self.rounds.sent_bytes + self.rounds.retransmitted_bytes == 0
        return silent

    @field("yes")
    def drained(self) -> Bools:
        """Did a short segment end the data for half of the round or more, before one or two rounds that empty the pipe?

        A send buffer that holds no more is never empty: the writer is woken before.
        """
        rounds = self.rounds
        empties = rounds.shifted(self.idle, 1, False) | (
            rounds.shifted(self._silent, 1, False) & rounds.shifted(self.idle, 2, False)
        )
        drained: Bools = empties & (self.after_short_share >= HALF) & (rounds.retransmitted_bytes == 0)
        return drained

    @cached_property
    def handshake_ns(self) -> Floats:
        """Time of the round before the connection was open, in ns: a round trip, of the first round alone."""
        return np.where(self.rounds.round == 0, np.nan_to_num(self.all.vantage.initial_rtt_ns), 0.0)

    @field("yes")
    def complete(self) -> Bools:
        """Was it a message, all of it acknowledged before the next send, and did the peer send data until then?

        A short segment ended it for nearly all of the round, though the window had room. So no window held more back. The
        handshake, which may be part of the first round, does not count.
        """
        rounds = self.rounds
        answered = rounds.near(rounds.acks_with_payload > 0, 0, 1)
        starts = [rounds.shifted(rounds.empty_starts, by, 0.0) > 0 for by in (1, 2)]
        emptied = (rounds.empty_ns > 0) | starts[0] | (rounds.shifted(self._silent, 1, False) & starts[1])
        ended = rounds.after_short_ns >= WHOLLY * (rounds.duration - self.handshake_ns)
        ended &= (rounds.short_segments > 0) & (rounds.retransmitted_bytes == 0)
        complete: Bools = answered & emptied & ended
        return complete

    @field("yes")
    def peers_turn(self) -> Bools:
        """Was nothing in flight until the peer sent data, or until the FIN or the end of the flow?"""
        waiting: Bools = self.rounds.turn == PEERS_TURN
        return waiting

    @field("yes")
    def unbegun(self) -> Bools:
        """Had a client that opened the connection sent nothing yet, for a second or more?"""
        rounds = self.rounds
        before = rounds.total(rounds.sent_bytes) - rounds.after(rounds.sent_bytes)
        opened = (rounds.direction == CLIENT) & np.isfinite(self.all.vantage.initial_rtt_ns)
        unbegun: Bools = self.idle & opened & (before == 0) & (rounds.duration >= SECOND_NS)
        return unbegun

    @field("yes")
    def over(self) -> Bools:
        """Had the sender sent its last data, with the FIN or with all of it acknowledged before the flow ended?"""
        rounds = self.rounds
        again = rounds.retransmitted_bytes
        emptied = (again + rounds.after(again) == 0) & (rounds.empty_ns + rounds.after(rounds.empty_ns) > 0)
        new = rounds.sent_bytes
        over: Bools = (new + rounds.after(new) == 0) & (self.finished | emptied)
        return over

    @field("yes")
    def parting(self) -> Bools:
        """Was nothing in flight, and did less than any segment follow, with the FIN: a farewell, such as a TLS alert?

        After a request, the data are its answer, unless they are as short as farewells in TLS. The first data is none.
        Two messages with one of the peer between are answers, however short, but for the goodbyes of TLS.
        """
        rounds = self.rounds
        new = rounds.after(rounds.sent_bytes)
        little = new + rounds.after(rounds.retransmitted_bytes) < FAREWELL_BYTES
        opened = np.isfinite(self.all.vantage.initial_rtt_ns)
        answers = (new > TLS_FAREWELL_BYTES) | opened & (rounds.total(rounds.sent_bytes) == new)
        parting: Bools = self.idle & little & (rounds.after(rounds.after_fin) > 0)
        goes_on = self._goes_on & ~np.isin(new, TLS_GOODBYES)
        parting &= ~(self.answering & (answers | goes_on))
        return parting

    @property
    def _goes_on(self) -> Bools:
        """Did the sender send in two later rounds, and its peer meanwhile?"""
        rounds = self.rounds
        sent = np.minimum(rounds.sent_bytes, 1.0)
        goes_on: Bools = (rounds.after(sent) > 1) & (rounds.after(rounds.acks_with_payload) > 0)
        return goes_on

    @field("yes")
    def answering(self) -> Bools:
        """Had the client sent its request, and the server not begun to answer, with nothing in flight?"""
        waiting: Bools = (self.rounds.turn == ANSWERING) & (self.rounds.direction == SERVER)
        return waiting

    @field("yes")
    def finished(self) -> Bools:
        """Had the sender sent its FIN, which follows the last data?"""
        finished: Bools = self.rounds.after_fin > 0
        return finished

    @field("share")
    def empty_share(self) -> Floats:
        """Share of the round with nothing in flight."""
        return self.rounds.share(self.rounds.empty_ns)

    @field("share")
    def short_share(self) -> Floats:
        """Share of the segments sent that were short: payload that is no multiple of the MSS."""
        return self.rounds.short_segments / np.maximum(self.rounds.sent_segments, 1.0)

    @field("share")
    def short_rounds(self) -> Floats:
        """Share of the stretch's rounds with new data in which a short segment shows that the data ran out."""
        rounds = self.rounds
        return rounds.share_around(rounds.short_segments > 0, rounds.sent_bytes > 0, STRETCH)

    @field("yes")
    def constant_amount(self) -> Bools:
        """Does the flow send the same amount each round trip, though its flight varies? Known only at the sender.

        A writer that fills a send buffer sends as much as was freed, so the flight returns to one size. A timer's writes
        have one size, and the flight depends on the acknowledgments that came before. Compared are mean deviations from
        the median of the stretch, over the flow. That of the largest flight must be a quarter of a segment or more, and
        three times that of the amount. The first four rounds, and those within four of a loss, do not count.
        """
        rounds = self.rounds
        counted = (rounds.sent_bytes > 0) & (rounds.round > EARLY) & (self.all.flight.spread <= STEADY)
        counted &= ~rounds.near(self.all.loss.signalled, REACH, REACH)

        def deviation(values: Floats) -> Floats:
            usual = rounds.median_around(values, STRETCH, STRETCH)
            return rounds.total(np.where(counted, np.abs(values - usual), 0.0))

        flight = deviation(rounds.in_flight_max_bytes)
        quarters = rounds.total(counted.astype(np.float64)) * self.all.vantage.mss_bytes * QUARTER
        varies = (flight > 0) & (flight >= quarters)
        constant: Bools = (
            varies & (VARIES_MORE * deviation(rounds.sent_bytes) <= flight) & self.all.vantage.at_sender
        )
        return constant

    @field("share")
    def equal_amounts(self) -> Floats:
        """Share of the stretch's rounds with new data that send the median amount, to the byte."""
        rounds = self.rounds
        sent = np.where(rounds.sent_bytes > 0, rounds.sent_bytes, np.nan)
        equal = sent == rounds.median_around(sent, STRETCH, STRETCH)
        return rounds.share_around(equal, np.isfinite(sent), STRETCH)

    @field("share")
    def segment_fill(self) -> Floats:
        """Mean payload of the segments sent, as a share of the MSS."""
        mean = self.rounds.ratio(self.rounds.sent_bytes, self.rounds.sent_segments)
        return mean / self.all.vantage.mss_bytes

    @field("times")
    def short_per_burst(self) -> Floats:
        """Short segments per burst, over nine rounds."""
        return self.short / self._bursts

    @field("share")
    def bursts_after_short(self) -> Floats:
        """Share of the bursts over nine rounds that follow a short segment; 0 if many lie within bursts."""
        within = self.short > ONE_EACH * self._bursts
        return np.where(within, 0.0, self.rounds.around(self.rounds.short_ends) / self._bursts)

    @field("packets")
    def short(self) -> Floats:
        """Short segments in nine rounds."""
        return self.rounds.around(self.rounds.short_segments)

    @cached_property
    def _bursts(self) -> Floats:
        """Bursts in nine rounds, at least 1."""
        return np.maximum(self.all.ack_clock.starts, 1.0)

    @field("share")
    def after_short_share(self) -> Floats:
        """Share of the round after a short segment with no further send and with room in the window."""
        return self.rounds.share(self.rounds.after_short_ns)

    @field("times")
    def replies(self) -> Floats:
        """Acknowledgments with payload of the peer, in nine rounds."""
        return self.rounds.around(self.rounds.acks_with_payload)

    @field("rounds")
    def replied(self) -> Floats:
        """Rounds of nine in which payload of the peer came."""
        return self.rounds.around(np.minimum(self.rounds.acks_with_payload, 1.0))

    @field("yes")
    def called(self) -> Bools:
        """Did payload of the peer come in the round, or in the one before?"""
        came = self.rounds.acks_with_payload
        called: Bools = came + self.rounds.shifted(came, -1, 0.0) > 0
        return called

    @field("ratio")
    def messages_per_reply(self) -> Floats:
        """Short segments, each the end of a message, per reply over nine rounds; unknown without replies."""
        return self.rounds.ratio(self.short, self.replies)

    @property
    def _next_sent(self) -> Floats:
        """Bytes sent in the next round."""
        return self.rounds.shifted(self.rounds.sent_bytes, 1, 0.0)

    @field("yes")
    def long_message(self) -> Bools:
        """Is it a flight of a message longer than the congestion window, whose rest acknowledgments release?

        The first flight ends in a full segment, and acknowledgments release the next round's data. The last flight is
        released by acknowledgments, and ends in a short segment late in the round.
        """
        rounds = self.rounds
        released = (self.all.ack_clock.own_time_share < SELDOM_OWN) & (rounds.empty_starts == 0)
        full = rounds.short_segments == 0
        first = full & (self._next_sent > 0) & rounds.shifted(released, 1, False)
        last = rounds.shifted(full, -1, False) & released & (rounds.short_segments == 1)
        result: Bools = first | last & (self.after_short_share < HALF)
        return result
