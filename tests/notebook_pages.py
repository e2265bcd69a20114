"""Run every notebook of notebooks/, a percent script whose diffs are readable, and keep it with its outputs as .ipynb."""

from __future__ import annotations

import sys
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
        notebook, timeout=300, kernel_name="python3", resources=folder, coalesce_streams=True
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


if __name__ == "__main__":
    for script in [Path(name) for name in sys.argv[1:]] or SCRIPTS:
        nbformat.write(executed(script), page(script))
        print(page(script))  # noqa: T201
