"""The flow that a command draws: the most important one, or that of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from bdpcap.cli import opening

if TYPE_CHECKING:
    from bdpcap.capture import Capture, Flow


def chosen_flow(capture: Capture, stream: int | None) -> Flow:
    """Return the most important flow, or the larger direction of a stream; without payload there is none."""
    if stream is None:
        if capture.flows.empty:
            raise typer.BadParameter("no stream carried payload: there is no flow to draw")
        return capture.top(1)[0]
    if opening.of_streams(capture.flows, [stream], capture.info.streams).empty:
        raise typer.BadParameter(f"stream {stream} carried no payload: there is no flow to draw")
    return capture.flow(stream)
