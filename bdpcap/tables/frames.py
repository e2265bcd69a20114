"""From columns to pandas tables: types, absent values, units and meanings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bdpcap import _core
from bdpcap.tables.schema import Column, unit_of
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
    """Nullable integers from the core's, which mark absence by the least 64-bit integer."""
    import pandas as pd  # noqa: PLC0415 - slow to import, and of no use to what only needs the columns' names

    absent = values == _core.NULL
    return pd.arrays.IntegerArray(np.where(absent, 0, values).astype(np.int64), absent)


def bits_per_second(amount_bytes: np.ndarray, lasted_ns: np.ndarray) -> pd.Series[float]:
    """Return rates; null for what came in one instant, and where the amount is NaN."""
    import pandas as pd  # noqa: PLC0415 - likewise

    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(lasted_ns > 0, amount_bytes * 8e9 / lasted_ns, np.nan)
    return pd.Series(rate).astype("Float64").mask(np.isnan(rate))


def described(table: pd.DataFrame, schema: dict[str, Column]) -> pd.DataFrame:
    """Make text of few values categories, and say in ``attrs`` what each column means, and in which unit it is."""
    import pandas as pd  # noqa: PLC0415 - likewise

    few = {name: pd.CategoricalDtype(list(column.only)) for name, column in schema.items() if column.only}
    typed = table.astype(few)
    typed.attrs["meanings"] = _Said({name: column.meaning for name, column in schema.items()})
    typed.attrs["units"] = _Said({name: unit for name in schema if (unit := unit_of(name))})
    return typed


class _Said(dict[str, str]):
    """What pandas copies along with every table made of another, at no cost."""

    def __deepcopy__(self, _memo: object) -> _Said:
        return self


def apart(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with a column for the host and one for the port of each end, in its place."""
    columns: dict[str, pd.Series[Any]] = {}
    for name in table:
        if name in _ENDS:
            columns[f"{name}_host"] = table[name].map(host).astype("str")
            columns[f"{name}_port"] = table[name].map(port).astype("Int64")
        else:
            columns[str(name)] = table[name]
    return _like(table, columns)


def timestamped(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with its times as timestamps of UTC: ``start_ns`` as ``start``. Durations stay as they are."""
    import pandas as pd  # noqa: PLC0415 - likewise

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
    import pandas as pd  # noqa: PLC0415 - likewise

    made = pd.DataFrame(columns, index=table.index)
    made.attrs = table.attrs
    return made


def frame(schema: dict[str, Column], columns: Mapping[str, object]) -> pd.DataFrame:
    """Build a table: the schema's columns, in its order, with its types.

    Integer columns that may be null take the core's arrays as they are.
    """
    import pandas as pd  # noqa: PLC0415 - likewise

    series = {}
    for name, column in schema.items():
        values = columns[name]
        if column.dtype == "Int64" and isinstance(values, np.ndarray) and values.dtype == np.int64:
            series[name] = pd.Series(integers(values))
        else:
            series[name] = pd.Series(values, dtype=column.dtype)
    return pd.DataFrame(series)


def of_cells(schema: dict[str, Column], columns: Columns) -> pd.DataFrame:
    """Build a table from cells."""
    import pandas as pd  # noqa: PLC0415 - likewise

    made: dict[str, Any] = {}
    for name, column in schema.items():
        values, beside = columns[name]
        if isinstance(beside, list):
            made[name] = pd.Series(np.array([*beside, None], dtype=object)[values], dtype=column.dtype)
        elif column.dtype == "Int64":
            made[name] = pd.arrays.IntegerArray(values, beside)
        elif column.dtype == "Float64":
            made[name] = pd.arrays.FloatingArray(values.astype(np.float64, copy=False), beside)
        else:
            made[name] = values
    return pd.DataFrame(made)
