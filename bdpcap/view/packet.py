"""A packet that was clicked on: what it was, and the display filters that find it in Wireshark."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from bdpcap.read import rotation

if TYPE_CHECKING:
    from bdpcap.capture import Flow

__all__ = ["Packet", "clicked", "packet"]


@dataclass(frozen=True)
class Packet:
    """A frame of a flow, and how Wireshark finds it."""

    frame: int
    """Number over all files of the capture, from 1."""
    where: str
    """The frame in words; if there are several files, with the name of its file."""
    filters: tuple[str, ...]
    """Display filters: for the packet by its number in its own file, and for its stream if there is one file only."""


def packet(flow: Flow, frame: int) -> Packet:
    """Return a frame of a flow."""
    capture = flow.capture
    place = rotation.place(frame, capture.info.files, capture._contents.files.frames)
    of_frame = f"frame.number == {place.frame}"
    if len(capture.info.files) < 2:
        return Packet(frame, f"Frame {frame:,}", (of_frame, f"tcp.stream eq {flow.stream}"))
    # In one of several files the streams have other numbers.
    return Packet(frame, f"Frame {place.frame:,} of {PurePath(place.file).name}", (of_frame,))


def clicked(point: dict[str, Any]) -> int | None:
    """Return the frame of a point as plotly reports a click; None for a point that is no packet."""
    custom = point.get("customdata")
    frame = custom[0] if isinstance(custom, list) else custom
    return frame if isinstance(frame, int) else None
