"""A finished pass of the core over a capture, with all that is derived from it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, BinaryIO, Final

import numpy as np

from bdpcap import _core
from bdpcap.contents.event_reader import EventReader
from bdpcap.contents.files import Files
from bdpcap.contents.halves import halves
from bdpcap.contents.paths import Paths
from bdpcap.contents.refusals import Refused, refused
from bdpcap.contents.streams import Streams
from bdpcap.contents.systems import Systems
from bdpcap.contents.twins import twins
from bdpcap.read import core_pass, vantage
from bdpcap.read.quality import FLAW_COLUMNS, Flaw, flaws
from bdpcap.read.seen import ReceivedTwice
from bdpcap.read.whole import Whole
from bdpcap.tables.columns import floats
from bdpcap.words.endpoints import host

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from bdpcap.contents.verdicts import Verdicts
    from bdpcap.limits.classify import Counters
    from bdpcap.read.anonymize import Pseudonyms
    from bdpcap.read.core_pass import Read
    from bdpcap.read.facts import Damage
    from bdpcap.read.scale import InferredScale
    from bdpcap.read.sums import Sums
    from bdpcap.read.whole import Pair

_ENDS: Final = ("sender", "receiver")


class Contents:
    """Facts, tables and columns of a capture.

    Parameters
    ----------
    core
        A pass that is complete.
    sources, expression
        The captures that were read, and the filter.
    events
        Columns of the events, if the sources cannot be read again.
    broken
        The captures that could not be read at all.
    scales
        Window scales that were inferred.
    counters
        Returns the sending kernel's counters around rounds; None without an account of the host.
    watched
        Whether a bar shows later passes.
    """

    def __init__(
        self,
        core: _core.Analysis,
        sources: list[Read],
        expression: str | None = None,
        events: dict[str, np.ndarray] | None = None,
        *,
        broken: Sequence[Damage] = (),
        whole: Whole | None = None,
        scales: Sequence[InferredScale] = (),
        pseudonyms: Pseudonyms | None = None,
        sums: Sums | None = None,
        events_left_out: int = 0,
        summarized: bool = False,
        watched: bool = False,
        counters: Counters | None = None,
    ) -> None:
        if pseudonyms:
            # Pseudonyms are numbered in the order of the requests: the ends of streams come first.
            for _ in core_pass.directions(core, pseudonyms, _ENDS):
                pass
        self._core = core
        self._whole = whole
        self._counters = counters
        self.pseudonyms: Final = pseudonyms
        self.damages: Final = core_pass.damages(core, broken, pseudonyms)
        info = core_pass.info(core, sums or core_pass.summed(core), whole)
        if events_left_out:
            rows = info.left_out.get("rows", 0) + events_left_out
            info = replace(info, left_out=info.left_out | {"rows": rows})
        self.info: Final = pseudonyms.info(info) if pseudonyms else info
        self.scales: Final = list(scales)
        self.has_exchanges: Final = not summarized
        self._udp = core_pass.named(core.datagrams(), pseudonyms)
        self.streams: Final = Streams(core, (whole and whole.tick_ns) or 0, pseudonyms)
        self.systems: Final = Systems(core, self.streams)
        self.paths: Final = Paths(core, self.streams, whole)
        self.files: Final = Files(core, sources, self.info.files, pseudonyms, kept=events is not None)
        self.events: Final = EventReader(
            self.streams,
            self.info,
            sources,
            expression=expression,
            scales=self.scales,
            kept=events,
            watched=watched,
        )

    @cached_property
    def verdicts(self) -> Verdicts:
        """The rounds with their limits, and the flows."""
        from bdpcap.contents.verdicts import Verdicts  # noqa: PLC0415 - needed for verdicts only
        from bdpcap.limits import Classification  # noqa: PLC0415 - needed for verdicts only

        others = ((), ()) if self._whole is None else self._whole.cross_traffic_bytes
        return Verdicts(
            Classification(
                self._core,
                self.streams.named,
                self.paths.columns,
                self.paths.places,
                self._counters,
                whole=others,
            )
        )

    @cached_property
    def capturing_hosts(self) -> list[str]:
        """Addresses of the host that captured, by the packet types of Linux's cooked captures; empty for other links."""
        return self._named(self._core.capturing_hosts())

    @cached_property
    def unpadded_hosts(self) -> list[str]:
        """Addresses whose small Ethernet frames are unpadded where those of others are padded.

        An adapter pads a frame to 60 bytes when it sends it (IEEE 802.3 section 4A.4.2), after a capture on its host.
        """
        return self._named(self._core.unpadded_hosts())

    def _named(self, addresses: list[str]) -> list[str]:
        return [self.pseudonyms.address(one) for one in addresses] if self.pseudonyms else addresses

    @cached_property
    def refusals(self) -> list[Refused]:
        """The packets that ICMP error messages quote, in the order of their first messages."""
        return refused(self._core.refusals(), self.pseudonyms)

    @cached_property
    def _begins_ns(self) -> list[int]:
        return [begin_ns for begin_ns, _ in self._core.recordings()]

    def begin_ns(self, time_ns: int) -> int:
        """Return when the recording began that holds a time: the earliest frame of the files that follow one another."""
        begun = bisect_right(self._begins_ns, time_ns)
        return self._begins_ns[max(0, begun - 1)] if self._begins_ns else time_ns

    @cached_property
    def quality(self) -> list[Flaw]:
        """The flaws of the capture itself, gravest first."""
        directions = self.streams.blocks(FLAW_COLUMNS)
        changed = list(self.streams.with_changed_payload()) if self.info.copies else []
        return flaws(self.info, directions, self.halves, self.twins, self._received_twice(), changed=changed)

    def _received_twice(self) -> ReceivedTwice:
        """Return who received packets twice."""
        if not self.info.delivered_twice:
            return ReceivedTwice()
        columns = self.streams.directions("delivered_twice", "routed_copies")
        twice = columns["delivered_twice"]
        receivers = np.flatnonzero(twice.reshape(-1, 2)[:, ::-1].ravel())
        hosts = dict.fromkeys(host(end) for end in self.streams.endpoints(receivers))
        return ReceivedTwice(
            list(hosts), bool(2 * columns["routed_copies"].sum() > self.info.delivered_twice)
        )

    @cached_property
    def halves(self) -> dict[int, int]:
        """The other way of each stream that is one way of a connection; see `bdpcap.contents.halves`."""
        return halves(self.streams)

    @cached_property
    def twins(self) -> list[tuple[int, int]]:
        """The pairs of streams that are one connection; see `bdpcap.contents.twins`."""
        return twins(self.streams)

    @cached_property
    def connections(self) -> pd.DataFrame:
        """All streams, with or without payload, as a table of `bdpcap.tables.CONNECTIONS`."""
        from bdpcap import tables  # noqa: PLC0415 - needed for tables only
        from bdpcap.tables import connections, frames  # noqa: PLC0415 - needed for tables only

        ends = self.streams.directions(*connections.NEEDED)
        named = connections.named(self._core.connections(), ends, self.info.last_ns)
        return frames.described(frames.frame(tables.CONNECTIONS, named), tables.CONNECTIONS)

    @property
    def exchanges(self) -> pd.DataFrame:
        """Requests with their responses, as a table of `bdpcap.tables.EXCHANGES`."""
        return self._exchanged[0]

    def at_once(self, stream: int) -> int:
        """Return how often both ends of a stream sent at the same time."""
        counts = self._exchanged[1]
        return int(counts[stream]) if stream < len(counts) else 0

    @cached_property
    def _exchanged(self) -> tuple[pd.DataFrame, NDArray[np.int64]]:
        """The table of exchanges, and how often both ends of each stream sent at the same time."""
        if not self.has_exchanges:
            raise _core.CaptureError("exchanges were not kept: analyze the capture without summarize")
        from bdpcap import tables  # noqa: PLC0415 - needed for tables only
        from bdpcap.tables import exchanges, frames  # noqa: PLC0415 - needed for tables only

        directions = self.streams.directions(*exchanges.DIRECTIONS, *vantage.TRIPS)
        turns, trips = self._core.take_turns(), vantage.round_trips(directions)
        found = exchanges.exchanges(turns, directions, trips, vantage.placed(*map(floats, trips)))
        return frames.described(found, tables.EXCHANGES), exchanges.at_once(turns)

    @cached_property
    def datagrams(self) -> pd.DataFrame:
        """The UDP flows, as a table of `bdpcap.tables.DATAGRAMS`."""
        from bdpcap import tables  # noqa: PLC0415 - needed for tables only
        from bdpcap.tables import datagrams, frames  # noqa: PLC0415 - needed for tables only

        return frames.described(datagrams.flows(self._udp), tables.DATAGRAMS)

    def excerpt(self, stream: int, file: BinaryIO, *, headers_only: bool) -> int:
        """Write the packets of a stream to a pcapng file with a comment on the whole capture; return their number."""
        packets = self.events.of(stream)[["frame", "time_ns"]].drop_duplicates("frame").sort_values("frame")
        frames = list(packets.itertuples(index=False, name=None))
        self.files.excerpt(frames, file, headers_only=headers_only, about=self._whole_of(stream).comment())
        return len(frames)

    def _whole_of(self, stream: int) -> Whole:
        """Return the facts on a stream that this capture shows, and the packets of the stream alone do not."""
        rtts_ns, sides_ns = self.paths.delays_of(stream)
        scales = {scale.direction: scale.shift for scale in self.scales if scale.stream == stream}
        return Whole(
            tick_ns=self.info.tick_ns,
            end_ns=int(self.paths.columns["last_ns"][self.paths.columns["of_streams"][2 * stream]]),
            dropped=self.info.capture_drops,
            rtt_ns=_pair(None if rtt_ns == _core.NULL else int(rtt_ns) for rtt_ns in rtts_ns),
            sender_side_ns=_pair(int(side_ns) if np.isfinite(side_ns) else None for side_ns in sides_ns),
            scales=(scales.get(0), scales.get(1)),
            cross_traffic_bytes=self.verdicts.cross_traffic(stream),
        )


def _pair(values: Iterator[int | None]) -> Pair:
    client, server = values
    return client, server
