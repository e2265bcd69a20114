"""Cells: columns of a table in the form from which the core writes CSV and Parquet."""

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
"""A column: numbers of 64 bits with a mask of the absent ones, or indexes into a list of texts, negative if absent."""
Columns: TypeAlias = dict[str, Cells]


def of_frame(frame: pd.DataFrame) -> Columns:
    """Return a table's columns as cells; columns that are not numeric become text."""
    return {str(name): _cells(frame[name]) for name in frame}


def _cells(column: pd.Series[Any]) -> Cells:
    import pandas as pd  # noqa: PLC0415 - loaded already where a table exists

    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        kind = np.int64 if pd.api.types.is_integer_dtype(column) else np.float64
        absent = column.isna().to_numpy()
        return column.to_numpy(kind, na_value=0) if absent.any() else column.to_numpy(kind), absent
    places, texts = pd.factorize(column)
    return places.astype(np.int64), [str(text) for text in texts]


def known(values: NDArray[np.float64]) -> Cells:
    """Return floats as cells; NaN is absent."""
    return values, np.isnan(values)


def texts(values: list[str]) -> Cells:
    """Return one text for each row as cells."""
    return np.arange(len(values)), values


def among(values: NDArray[Any], names: Sequence[str]) -> Cells:
    """Return texts as cells; each must be one of `names`."""
    place = {name: at for at, name in enumerate(names)}
    return np.array([place[value] for value in values.tolist()], dtype=np.int64), [*names]


def named(places: NDArray[Any], names: Sequence[str]) -> Cells:
    """Return texts as cells from their indexes in `names`; a negative index is absent."""
    return places.astype(np.int64), [*names]


def whole(values: NDArray[Any]) -> Cells:
    """Return integers of the core as cells; the least 64-bit integer is absent."""
    values = values.astype(np.int64, copy=False)
    return values, values == _core.NULL
