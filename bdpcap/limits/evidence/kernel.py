"""The sending kernel's counters (``ss``, ``TCP_INFO``) around each round; unknown where none were given.

They cover the round and four samples on either side. Values are NaN outside the first and the last sample.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bdpcap.limits.evidence.field import Concept, field

if TYPE_CHECKING:
    from bdpcap.limits.rounds import Floats

__all__ = ["Kernel"]


class Kernel(Concept):
    """Clocks and states of the sending kernel."""

    name = "kernel"

    @field("share")
    def window_share(self) -> Floats:
        """Share of the time that the kernel counted as limited by the receive window (``tcpi_rwnd_limited``)."""
        return self._counted("window_share")

    @field("share")
    def blocked_share(self) -> Floats:
        """Share of the time that the kernel counted as limited by the send buffer (``tcpi_sndbuf_limited``)."""
        return self._counted("blocked_share")

    @field("share")
    def unsent_share(self) -> Floats:
        """Share of the samples with a full segment or more that was not sent yet."""
        return self._counted("unsent_share")

    @field("share")
    def full_share(self) -> Floats:
        """Share of the samples with all data sent and less than a third of the send buffer free.

        Linux wakes a writer that waits for room when a third is free (``sk_stream_write_space``).
        """
        return self._counted("full_share")

    @field("share")
    def room_share(self) -> Floats:
        """Share of the samples with all data sent and a third or more of the send buffer free."""
        return self._counted("room_share")

    @field("bytes")
    def unsent(self) -> Floats:
        """Mean of the data that were not sent yet."""
        return self._counted("unsent")

    @field("bytes")
    def cwnd(self) -> Floats:
        """Mean of the congestion window times the MSS."""
        return self._counted("cwnd")

    @field("bytes")
    def used(self) -> Floats:
        """Mean of the memory that the send buffer holds, overhead of packets included."""
        return self._counted("used")

    @field("bytes")
    def buffer(self) -> Floats:
        """Mean size of the send buffer, in the same unit as `used`."""
        return self._counted("buffer")

    def _counted(self, name: str) -> Floats:
        counters = self.all.counters
        return np.full(self.rounds.size, np.nan) if counters is None else counters[name]
