"""The notebooks use public names only, open with their answer and a picture, and show what is kept of them.

`tests/test_pages.py` runs each from top to bottom in a kernel.
"""

import ast
import re

import nbformat
import pytest
import zstandard
from notebook_pages import FOLDER, SCRIPTS, page, printed
from packets import pcap
from windows_receiver import KEPT, packets

import bdpcap

NAMES = [script.stem for script in SCRIPTS]


@pytest.fixture(scope="module", params=SCRIPTS, ids=NAMES)
def script(request):
    return request.param


@pytest.fixture(scope="module")
def kept(script):
    return nbformat.read(page(script), as_version=4)


def test_it_prints_no_error_and_no_warning(kept):
    outputs = [output for cell in kept.cells for output in cell.get("outputs", [])]
    assert outputs
    assert [output["text"] for output in outputs if output.get("name") == "stderr"] == []


def test_it_opens_with_its_answer_and_a_picture(kept):
    assert re.search(r"\*\*[^*]{30,}\.\*\*", kept.cells[0].source, re.DOTALL)
    first = next(cell for cell in kept.cells if cell.cell_type == "code")
    assert any("image/svg+xml" in output.get("data", {}) for output in first.outputs)


def test_it_uses_public_names_and_has_no_helpers(script):
    tree = ast.parse(script.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    assert not [node for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Lambda))]
    imported = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    assert {name for name in imported if name.startswith("bdpcap")} == {"bdpcap"}
    named = [node for node in nodes if isinstance(node, ast.Attribute) and not node.attr.startswith("__")]
    assert not [node.attr for node in named if node.attr.startswith("_")]
    of_package = {
        node.attr for node in named if isinstance(node.value, ast.Name) and node.value.id == "bdpcap"
    }
    assert of_package <= set(bdpcap.__all__)


def test_it_asks_no_network(kept):
    shown = [
        text
        for cell in kept.cells
        for output in cell.get("outputs", [])
        for text in map(str, output.get("data", {}).values())
    ]
    assert not any(re.search("<(script|link|iframe|img)[^>]+(src|href)=", text) for text in shown)


def test_a_clone_alone_is_enough(script):
    text = script.read_text(encoding="utf-8")
    assert not re.search(r"\.\./\.\./|[\"'](/|~)", text)
    assert all((FOLDER.parent / name).exists() for name in re.findall(r"\.\./(\w+)", text))


def test_the_list_names_every_notebook():
    listed = re.findall(r"\]\((\w+)\.ipynb\)", (FOLDER / "README.md").read_text(encoding="utf-8"))
    assert listed == NAMES


def test_the_windows_server_is_as_its_script_writes_it():
    assert zstandard.decompress(KEPT.read_bytes()) == pcap(packets(), nanoseconds=False)
    capture = bdpcap.analyze(KEPT)
    assert capture[0].systems[1].family == "windows"
    assert capture.flows["window_max_bytes"].tolist() == [65_536]


def test_theory_and_measurement_agree_on_the_window():
    kept = nbformat.read(FOLDER / "2_the_window_of_73552.ipynb", as_version=4)
    assert "by hand  73552\ncaptured 73552" in "".join(printed(kept))


def test_tshark_counts_the_same():
    kept = nbformat.read(FOLDER / "5_against_tshark_and_the_kernel.ipynb", as_version=4)
    (table,) = [text for text in printed(kept) if "share of equal frames" in text]
    assert re.findall(r"\d\.\d+$", table, flags=re.MULTILINE) == ["1.0", "1.0", "1.0"]
