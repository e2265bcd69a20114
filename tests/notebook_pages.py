"""Run every notebook of notebooks/, a percent script whose diffs are readable, and keep it with its outputs as .ipynb."""

from __future__ import annotations

from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "notebooks"
SCRIPTS = sorted(FOLDER.glob("*.py"))
STRICT = "import warnings; warnings.simplefilter('error')"


def source(script: Path) -> nbformat.NotebookNode:
    """Return a script as a notebook without outputs, its cells named by their place."""
    notebook = jupytext.read(script, fmt="py:percent")
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
    return notebook


def executed(script: Path) -> nbformat.NotebookNode:
    """Return a notebook as it ran in a kernel of its own; an error or a warning in a cell raises."""
    notebook = source(script)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(STRICT))
    folder = {"metadata": {"path": str(FOLDER)}}
    client = NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        resources=folder,
        coalesce_streams=True,
        extra_arguments=["--log-level=CRITICAL"],  # the kernel warns of its own connection
    )
    client.execute()
    del notebook.cells[0]
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times of day
        if cell.cell_type == "code":
            cell.execution_count = None
            for output in cell.outputs:
                output.pop(
                    "execution_count", None
                ) if output.output_type != "execute_result" else output.update(execution_count=None)
    return notebook


def page(script: Path) -> Path:
    """Return where a script is kept as it ran."""
    return script.with_suffix(".ipynb")


def content(script: Path) -> str:
    """Return a notebook as it ran, as the file that is kept."""
    return str(nbformat.writes(executed(script))) + "\n"


def printed(notebook: nbformat.NotebookNode) -> list[str]:
    """Return the texts that cells printed and returned, without those that hold an address in memory."""
    texts = [
        output["text"] if output.output_type == "stream" else output.get("data", {}).get("text/plain", "")
        for cell in notebook.cells
        for output in cell.get("outputs", [])
    ]
    return [text for text in texts if " at 0x" not in text]
