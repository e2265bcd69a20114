"""Columns of a table as the core writes them, to CSV or Parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from bdpcap import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["Cells", "Columns", "among", "known", "named", "of_frame", "texts", "whole"]

Cells: TypeAlias = "tuple[NDArray[Any], NDArray[np.bool_]] | tuple[NDArray[np.int64], list[str]]"
"""64-bit integers or floats, and which are absent; or places of the texts beside them, negative where absent."""
Columns: TypeAlias = dict[str, Cells]


def of_frame(frame: pd.DataFrame) -> Columns:
    """Return a table's columns; what is no number is text."""
    return {str(name): _cells(frame[name]) for name in frame}


def _cells(column: pd.Series[Any]) -> Cells:
    import pandas as pd  # noqa: PLC0415 - whoever has a frame has it loaded

    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        kind = np.int64 if pd.api.types.is_integer_dtype(column) else np.float64
        absent = column.isna().to_numpy()
        return column.to_numpy(kind, na_value=0) if absent.any() else column.to_numpy(kind), absent
    places, texts = pd.factorize(column)
    return places.astype(np.int64), [str(text) for text in texts]


def known(values: NDArray[np.float64]) -> Cells:
    """Return floats, of which NaN are absent."""
    return values, np.isnan(values)


def texts(values: list[str]) -> Cells:
    """Return texts, of which each is a row's own."""
    return np.arange(len(values)), values


def among(values: NDArray[Any], names: Sequence[str]) -> Cells:
    """Return texts that are all among some names."""
    place = {name: at for at, name in enumerate(names)}
    return np.array([place[value] for value in values.tolist()], dtype=np.int64), [*names]


def named(places: NDArray[Any], names: Sequence[str]) -> Cells:
    """Return texts by their places among some names, negative where absent."""
    return places.astype(np.int64), [*names]


def whole(values: NDArray[Any]) -> Cells:
    """Return integers of the core, which marks absence by the least 64-bit integer."""
    values = values.astype(np.int64, copy=False)
    return values, values == _core.NULL
