"""What a figure consists of, as plain mappings and arrays: plotly is slow to import, and to check what it is given."""

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
    """A figure of plotly's that is not made yet, or what is to be added to one."""

    traces: list[dict[str, Any]]
    """Scatter traces; each ``x`` and ``y`` is an array."""
    layout: dict[str, Any]
    """The layout, or what changes in it."""
    into: go.Figure | None = None
    """The figure to draw into; a new one where it is left out."""

    @classmethod
    def of(cls, figure: go.Figure) -> Drawing:
        """Return what a figure consists of."""
        return cls([trace.to_plotly_json() for trace in figure.data], figure.layout.to_plotly_json())

    def figure(self) -> go.Figure:
        """Return the figure, checked by plotly."""
        import plotly.graph_objects as go  # noqa: PLC0415 - slow to import, and of no use where nothing is drawn

        if self.into is None:
            return go.Figure(self.traces, {"template": "none", **self.layout})
        self.into.add_traces([go.Scatter(trace) for trace in self.traces])
        return self.into.update_layout(self.layout)

    def document(self) -> dict[str, Any]:
        """Return what plotly's scripts draw, for JSON."""
        return {"data": [_packed(trace) for trace in self.traces], "layout": self.layout}


def _packed(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _array(value) if isinstance(value, np.ndarray) else value
        for name, value in properties.items()
        if value is not None
    }


def _array(values: np.ndarray) -> dict[str, Any] | list[Any]:
    """Return an array as plotly's scripts read it: typed, in base64, the lowest byte first; text as a list."""
    if values.dtype.kind not in "iuf":
        listed: list[Any] = values.tolist()
        return listed
    if values.dtype.kind != "f":
        # They know no integers of 64 bits; a double holds those up to 2^53.
        low, high = (0, 0) if not values.size else (values.min(), values.max())
        values = values.astype("<i4" if low >= -(2**31) and high < 2**31 else "<f8")
    packed = {
        "dtype": f"{values.dtype.kind}{values.dtype.itemsize}",
        "bdata": base64.b64encode(np.ascontiguousarray(values, values.dtype.newbyteorder("<")).data).decode(),
    }
    return packed if values.ndim == 1 else {**packed, "shape": ", ".join(map(str, values.shape))}
