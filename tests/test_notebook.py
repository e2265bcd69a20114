"""The notebook runs from top to bottom in a kernel of its own, and says what its prose promises."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import bdpcap

NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "from_capture_to_verdict.ipynb"


@pytest.fixture(scope="module")
def cells():
    """Return the code cells as they ran; an error in one of them, or a warning, fails here."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell("import warnings; warnings.simplefilter('error')"))
    folder = {"metadata": {"path": str(NOTEBOOK.parent)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=folder).execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs(cells, kind):
    """Return what cells put out as one MIME type."""
    return [
        output["data"][kind] for cell in cells for output in cell.outputs if kind in output.get("data", {})
    ]


def printed(cells, name):
    return "".join(output["text"] for cell in cells for output in cell.outputs if output.get("name") == name)


def test_it_is_kept_without_outputs():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)


def test_it_runs_without_error_or_warning(cells):
    assert all(cell.outputs for cell in cells[2:])
    assert printed(cells, "stderr") == ""


def test_it_shows_the_numbers_that_its_prose_explains(cells):
    assert "73,552 bytes" in printed(cells, "stdout")
    shown = "".join(outputs(cells, "text/html"))
    assert "73552" in shown
    assert "rwnd" in shown


def test_its_prose_fits_the_capture():
    """One packet in six thousand sent again; no queue that stands; half of the link's rate."""
    flow = bdpcap.analyze(
        NOTEBOOK.parents[1] / "sample_captures" / "linux61_advwinscale2_w50000.pcap.zst"
    ).flow(0)
    prose = NOTEBOOK.read_text(encoding="utf-8")
    assert "One packet in" in prose
    assert (flow.rtts["retransmits"].sum(), flow.summary["packets"] // 1000) == (1, 6)
    assert "40.4 ms: half of the rounds took less than 43 ms" in prose
    assert flow.summary["rtt_min_ns"] == pytest.approx(40.4e6, abs=0.05e6)
    assert flow.rtts["rtt_ns"].median() < 43e6
    assert flow.summary["throughput_bps"] == pytest.approx(25e6 / 2, rel=0.02)


def test_its_figures_ask_no_network(cells):
    figures = [html for html in outputs(cells, "text/html") if "Plotly.newPlot" in html]
    assert len(figures) == 3
    assert not any(re.search("<(script|link|iframe|img)[^>]+(src|href)=", html) for html in figures)
