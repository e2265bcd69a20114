"""Tables as CSV: what Python's own reader makes of them."""

from __future__ import annotations

import csv
import io
import subprocess
import sys

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdpcap.tables import cells
from bdpcap.tables.spreadsheet import write_csv

rows = st.tuples(
    st.integers(-(2**62), 2**62),
    st.none() | st.integers(-(2**62), 2**62),
    st.none() | st.floats(allow_nan=False),
    st.none() | st.text(alphabet='ab1 ,"é', min_size=1),
)


@given(st.lists(rows, min_size=1, max_size=20))
def test_every_cell_is_read_as_it_was(drawn):
    dtypes = {"whole": "int64", "maybe": "Int64", "share": "Float64", "name": "str"}
    columns = dict(zip(dtypes, zip(*drawn, strict=True), strict=True))
    file = io.BytesIO()
    frame = pd.DataFrame({name: pd.Series(columns[name], dtype=dtypes[name]) for name in dtypes})
    write_csv(cells.of_frame(frame), file)
    head, *lines = csv.reader(io.StringIO(file.getvalue().decode()))
    assert head == list(dtypes)
    # `str` of a number is its shortest decimal form, in Python's notation.
    assert lines == [["" if cell is None else str(cell) for cell in row] for row in drawn]


INTERRUPTED = """
import _thread, signal
import numpy as np
from bdpcap import _core
columns = [(np.array([{value}]), {beside})]
_core.csv_lines(columns, str)  # the first call of a process loads numpy's interface, in Python
try:
    # `map` runs no Python between the interrupt and the core, which is where it would be looked at.
    list(map(_core.csv_lines, [columns], map(_thread.interrupt_main, [signal.SIGINT])))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(("value", "beside"), [(-1.5, "np.zeros(1, dtype=bool)"), (-1, "[]")])
def test_an_interrupt_while_columns_are_handed_over_is_not_lost(value, beside):
    script = INTERRUPTED.format(value=value, beside=beside)
    said = subprocess.check_output([sys.executable, "-c", script], text=True, timeout=60)
    assert said == "interrupted\n"
