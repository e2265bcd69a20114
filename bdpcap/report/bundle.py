"""The report as one archive for a ticket: page, text, tables, figures, and a manifest of command and versions."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import platform
import tempfile
import zipfile
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import bdpcap
from bdpcap import plots
from bdpcap.report import figure, page, ranking
from bdpcap.report.document import document
from bdpcap.report.text import text
from bdpcap.tables import cells, files, spreadsheet

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

    from bdpcap.capture import Capture

MANIFEST_VERSION: Final = 1
"""Increased when a key of the manifest changes its meaning or is removed."""

_EARLIEST: Final = (1980, 1, 1, 0, 0, 0)
"""Time stamp of every file, the earliest of the ZIP format, so that equal input gives an equal archive."""
_LIBRARIES: Final = ("numpy", "pandas", "plotly", "kaleido")


def write_bundle(capture: Capture, path: Path, command: Sequence[str]) -> str | None:
    """
    Write the archive.

    Parameters
    ----------
    capture
        The capture to report on.
    path
        File to write; an existing file is replaced.
    command
        The command line, for the manifest. For an anonymized capture only the names of options are kept, since
        their values may contain real names.

    Returns
    -------
    The reason why the archive has no images; None if it has images.
    """
    contents = {
        "report.html": page.html(capture).encode(),
        "summary.txt": text(capture).encode(),
        "flows.csv": _csv(capture.flows),
        "rtts.csv": _csv(capture.rtts),
        "exchanges.csv": _csv(capture.exchanges),
        "connections.csv": _csv(capture.connections),
        "report.json": json.dumps(document(capture), allow_nan=False, indent=1).encode(),
    }
    missing = None
    try:
        contents |= _images(capture)
    except figure.NoImageWriterError as error:
        missing = str(error)
    manifest = _manifest(capture, contents, command, missing)
    contents["manifest.json"] = json.dumps(manifest, allow_nan=False, indent=1).encode()
    with files.replacing(path) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(zipfile.ZipInfo(name, _EARLIEST), content, zipfile.ZIP_DEFLATED)
    return missing


def _manifest(
    capture: Capture, contents: dict[str, bytes], command: Sequence[str], missing: str | None
) -> dict[str, Any]:
    if capture._contents.pseudonyms is not None:
        command = [word.partition("=")[0] for word in command if word.startswith("--")]
    return {
        "manifest_version": MANIFEST_VERSION,
        "generator": f"bdpcap {bdpcap.__version__}",
        "versions": {"python": platform.python_version(), **_versions()},
        "command": ["bdpcap", *command],
        "anonymized": capture._contents.pseudonyms is not None,
        "inputs": [dataclasses.asdict(one) for one in capture.fingerprints()],
        "files": [
            {"name": name, "size_bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in contents.items()
        ],
        "images": missing or "drawn",
    }


def _versions() -> dict[str, str | None]:
    found: dict[str, str | None] = dict.fromkeys(_LIBRARIES)
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _csv(frame: pd.DataFrame) -> bytes:
    file = io.BytesIO()
    spreadsheet.write_csv(cells.of_frame(frame), file)
    return file.getvalue()


def _images(capture: Capture) -> dict[str, bytes]:
    """Draw every figure of the first flow, and the window figure of the other detailed flows; return PNG files."""
    drawn = {}
    for rank, flow in enumerate(ranking.that_matter(capture), start=1):
        kinds: Iterable[plots.Kind] = plots.FIGURES if rank == 1 else ("window",)
        for kind in kinds:
            drawn[f"{rank}-stream-{flow.stream}-{kind}.png"] = plots.figure(flow, kind)
    if not drawn:
        return {}
    with tempfile.TemporaryDirectory(prefix="bdpcap-") as scratch:
        paths = {name: Path(scratch, name) for name in drawn}
        figure.write_images({paths[name]: chart for name, chart in drawn.items()})
        return {name: path.read_bytes() for name, path in paths.items()}
