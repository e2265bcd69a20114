"""Conversion of the core's columns, in which the least 64-bit integer marks a missing value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bdpcap import _core

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["floats"]


def floats(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return a column as floats; missing values become NaN."""
    return (
        _core.floats(np.ascontiguousarray(values)) if values.dtype == np.int64 else values.astype(np.float64)
    )
