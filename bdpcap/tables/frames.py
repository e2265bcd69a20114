"""Building pandas tables from columns: types, absent values, units and meanings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap import _core
from bdpcap.tables.schema import Column, unit_of
from bdpcap.words import rates
from bdpcap.words.endpoints import host, port

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from bdpcap.tables.cells import Columns

__all__ = [
    "apart",
    "bits_per_second",
    "described",
    "frame",
    "integers",
    "of_cells",
    "timestamped",
]

_ENDS: Final = ("sender", "receiver", "client", "server")


def integers(values: np.ndarray) -> pd.api.extensions.ExtensionArray:
    """Return nullable integers from those of the core, in which the least 64-bit integer is absent."""
    import pandas as pd  # noqa: PLC0415 - slow to import

    absent = values == _core.NULL
    return pd.arrays.IntegerArray(np.where(absent, 0, values).astype(np.int64), absent)


def bits_per_second(amount_bytes: np.ndarray, lasted_ns: np.ndarray) -> pd.Series[float]:
    """Return rates in bits per second; null where the duration is 0 or the amount is NaN."""
    import pandas as pd  # noqa: PLC0415 - slow to import

    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(lasted_ns > 0, rates.of_bytes(amount_bytes, lasted_ns), np.nan)
    return pd.Series(rate).astype("Float64").mask(np.isnan(rate))


def described(table: pd.DataFrame, schema: dict[str, Column]) -> pd.DataFrame:
    """Return a table in which text columns with few possible values are categories.

    Its ``attrs`` have the ``meanings`` of the columns and their ``units``.
    """
    import pandas as pd  # noqa: PLC0415 - slow to import

    few = {name: pd.CategoricalDtype(list(column.only)) for name, column in schema.items() if column.only}
    typed = table.astype(few)
    typed.attrs["meanings"] = _Shared({name: column.meaning for name, column in schema.items()})
    typed.attrs["units"] = _Shared({name: unit for name in schema if (unit := unit_of(name))})
    return typed


class _Shared(dict[str, str]):
    """A dictionary in ``attrs`` that derived tables share: pandas would copy it for each of them, at a cost."""

    def __deepcopy__(self, _memo: object) -> _Shared:
        return self


def apart(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table in which columns of host and port replace each column of an endpoint."""
    columns: dict[str, pd.Series[Any]] = {}
    for name in table:
        if name in _ENDS:
            columns[f"{name}_host"] = table[name].map(host).astype("str")
            columns[f"{name}_port"] = table[name].map(port).astype("Int64")
        else:
            columns[str(name)] = table[name]
    return _like(table, columns)


def timestamped(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with times as UTC timestamps, ``start`` in place of ``start_ns``. Durations stay as they are."""
    import pandas as pd  # noqa: PLC0415 - slow to import

    columns = {
        str(name).removesuffix("_ns") if _is_time(str(name)) else str(name): (
            pd.to_datetime(table[name], unit="ns", utc=True) if _is_time(str(name)) else table[name]
        )
        for name in table
    }
    return _like(table, columns)


def _is_time(name: str) -> bool:
    return name == "time_ns" or name.endswith(("start_ns", "end_ns"))


def _like(table: pd.DataFrame, columns: dict[str, pd.Series[Any]]) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415 - slow to import

    made = pd.DataFrame(columns, index=table.index)
    made.attrs = table.attrs
    return made


def frame(schema: dict[str, Column], columns: Mapping[str, object]) -> pd.DataFrame:
    """Return a table with the schema's columns in the schema's order and types.

    For a nullable integer column, an array in which the least 64-bit integer is absent can be given.
    """
    import pandas as pd  # noqa: PLC0415 - slow to import

    series = {}
    for name, column in schema.items():
        values = columns[name]
        if column.dtype == "Int64" and isinstance(values, np.ndarray) and values.dtype == np.int64:
            series[name] = pd.Series(integers(values))
        else:
            series[name] = pd.Series(values, dtype=column.dtype)
    return pd.DataFrame(series)


def of_cells(schema: dict[str, Column], columns: Columns) -> pd.DataFrame:
    """Return a table with the schema's columns from cells."""
    import pandas as pd  # noqa: PLC0415 - slow to import

    made: dict[str, Any] = {}
    for name, column in schema.items():
        values, absent = columns[name]
        if isinstance(absent, list):
            made[name] = pd.Series(np.array([*absent, None], dtype=object)[values], dtype=column.dtype)
        elif column.dtype == "Int64":
            made[name] = pd.arrays.IntegerArray(values, absent)
        elif column.dtype == "Float64":
            made[name] = pd.arrays.FloatingArray(values.astype(np.float64, copy=False), absent)
        else:
            made[name] = values
    return pd.DataFrame(made)
