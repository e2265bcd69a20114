"""A figure as plain mappings and arrays. Plotly itself is slow to import, and slow to check its input."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import plotly.graph_objects as go

__all__ = ["Drawing"]


@dataclass(frozen=True)
class Drawing:
    """Traces and layout of a plotly figure that is not made yet, or additions to an existing figure."""

    traces: list[dict[str, Any]]
    """Scatter and bar traces; each ``x`` and ``y`` is an array."""
    layout: dict[str, Any]
    """The layout, or the changes to the layout of ``into``."""
    into: go.Figure | None = None
    """The figure to draw into; None makes a new one."""

    @classmethod
    def of(cls, figure: go.Figure) -> Drawing:
        """Return the traces and the layout of a plotly figure."""
        return cls([trace.to_plotly_json() for trace in figure.data], figure.layout.to_plotly_json())

    def figure(self) -> go.Figure:
        """Return the figure, checked by plotly."""
        import plotly.graph_objects as go  # noqa: PLC0415 - plotly is slow to import, and only figures need it

        if self.into is None:
            return go.Figure(self.traces, {"template": "none", **self.layout})
        self.into.add_traces(self.traces)
        return self.into.update_layout(self.layout)

    def document(self) -> dict[str, Any]:
        """Return the figure as plotly.js reads it, ready for JSON."""
        return {"data": [_packed(trace) for trace in self.traces], "layout": self.layout}


def _packed(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _array(value) if isinstance(value, np.ndarray) else value
        for name, value in properties.items()
        if value is not None
    }


def _array(values: np.ndarray) -> dict[str, Any] | list[Any]:
    """Return an array as plotly.js reads it: numbers as little-endian base64 with their type, text as a list."""
    if values.dtype.kind not in "iuf":
        listed: list[Any] = values.tolist()
        return listed
    if values.dtype.kind != "f":
        # plotly.js has no 64-bit integers; a double holds integers up to 2^53 exactly.
        low, high = (0, 0) if not values.size else (values.min(), values.max())
        values = values.astype("<i4" if low >= -(2**31) and high < 2**31 else "<f8")
    packed = {
        "dtype": f"{values.dtype.kind}{values.dtype.itemsize}",
        "bdata": base64.b64encode(np.ascontiguousarray(values, values.dtype.newbyteorder("<")).data).decode(),
    }
    return packed if values.ndim == 1 else {**packed, "shape": ", ".join(map(str, values.shape))}
