"""The paths of a capture's streams, their delays, and where the capture was taken."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bdpcap import _core
from bdpcap.read import core_pass, vantage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bdpcap.contents.streams import Streams
    from bdpcap.read.whole import Whole


class Paths:
    """Least delays of the paths, and the vantage of each direction; `whole` has what an excerpt's comment adds."""

    def __init__(self, core: _core.Analysis, streams: Streams, whole: Whole | None) -> None:
        self._core = core
        self._streams = streams
        self._whole = whole

    @cached_property
    def columns(self) -> dict[str, Any]:
        """The columns of `bdpcap._core.Analysis.paths`."""
        paths = self._core.paths()
        if self._whole is not None:
            paths["last_ns"] = np.maximum(paths["last_ns"], self._whole.end_ns or 0)
            for path, known_ns in zip(paths["of_streams"], self._whole.rtt_ns, strict=True):
                if known_ns is not None:
                    own_ns = paths["rtt_ns"][path]
                    paths["rtt_ns"][path] = known_ns if own_ns == _core.NULL else min(own_ns, known_ns)
        return paths

    @cached_property
    def places(self) -> NDArray[np.int8]:
        """Where each direction of every stream was captured, as an index into `bdpcap.read.vantage.NAMES`."""
        paths = self.columns["of_streams"]
        # Streams of a SYN alone have no path: a flood has millions, and nothing shows their place.
        followed = paths > 0
        places = np.full(len(paths), vantage.UNKNOWN, dtype=np.int8)
        pieces = [{name: np.zeros(0, dtype=np.int64) for name in vantage.DELAYS}]
        first = 0
        for columns in core_pass.directions(self._core, None, vantage.DELAYS):
            own = followed[first : first + len(columns[vantage.DELAYS[0]])]
            pieces.append({name: values[own] for name, values in columns.items()})
            first += len(own)
        known = () if self._whole is None else self._whole.sender_side_ns
        delays = core_pass.joined(pieces)
        del pieces
        places[followed] = vantage.places(delays, paths[followed], known)
        return places

    @property
    def of_carriers(self) -> NDArray[np.object_]:
        """Where each of `Streams.carriers` was captured. No round has to be classified."""
        carriers = self._streams.carriers
        places: NDArray[np.object_] = vantage.NAMES[
            self.places[2 * carriers["stream"] + carriers["direction"]]
        ]
        return places

    def delays_of(self, stream: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return least RTT and least round trip to the sender, in ns, on the paths of both directions of a stream."""
        paths = self.columns["of_streams"].astype(np.int64)
        own = paths[[2 * stream, 2 * stream + 1]]
        return self.columns["rtt_ns"][own], vantage.sender_sides(
            self._core.directions(names=vantage.DELAYS), paths
        )[own]
