"""Write one figure to a file: as an HTML page without dependencies, or as an image drawn by an installed browser."""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING, Any, Final

from bdpcap import plots
from bdpcap.plots.drawing import Drawing
from bdpcap.plots.heading import room
from bdpcap.plots.svg import svg
from bdpcap.report.scripts import asset, data, policy_hash
from bdpcap.tables import files
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd
    import plotly.graph_objects as go

    from bdpcap.capture import Flow

SUFFIXES: Final = (".html", ".svg", ".png")

_WIDTH: Final = 1000
"""Width of a picture in pixels."""
_PNG_SCALE: Final = 2

_DRAW: Final = """const {data, layout, config} = JSON.parse(document.getElementById("figure").textContent);
fitPhone(document.getElementById("plot"), layout);
Plotly.newPlot("plot", data, layout, config).then((plot) => {
  const paint = () => Plotly.relayout(plot, theme());
  plot.on("plotly_relayout", (change) => follow(plot, change));
  // As wide as A4 between the usual margins.
  addEventListener("beforeprint", () => Plotly.relayout(plot, {width: 690}));
  addEventListener("afterprint", () => Plotly.relayout(plot, {width: null, autosize: true}));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  fitHead(plot);
  paint().then(() => (document.documentElement.dataset.drawn = "1"));
});
"""
_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src {hashes}; \
style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
<noscript><style>#plot {{ display: none; }}</style></noscript>
</head>
<body>
<main>
<h1>{title}</h1>
<div id="plot"{size}></div>
<noscript>{still}</noscript>
</main>
<script type="application/json" id="figure">{figure}</script>
{scripts}
</body>
</html>
"""


class NoImageWriterError(RuntimeError):
    """No image can be drawn; the message names the missing extra or browser."""


def write(
    flow: Flow, kind: plots.Kind, path: Path, *, start: float | None = None, end: float | None = None
) -> None:
    """
    Draw a flow into a file.

    Parameters
    ----------
    flow, kind, start, end
        Flow, figure and time to draw: see `bdpcap.plots.figure`.
    path
        File to write; its suffix, one of `SUFFIXES`, selects the format.

    Raises
    ------
    ValueError
        No figure has that name, or the flow does not overlap that time.
    NoImageWriterError
        An image was requested, and the extra is not installed or no browser works.
    """
    drawing = plots.drawing(flow, kind, start=start, end=end)
    if path.suffix.lower() == ".html":
        ends = f"{flow.sender} → {flow.receiver}"
        filling = {name: value for name, value in drawing.layout.items() if name != "height"}
        document = Drawing(drawing.traces, filling).document()
        title = f"{kind}, stream {flow.stream}: {ends}"
        _write_page(document, title, path, svg(drawing, title))
    else:
        with files.replacing(path) as part:
            write_images({part: drawing.figure()})


def write_comparison(table: pd.DataFrame, path: Path) -> None:
    """Draw the table of `bdpcap.comparing` into an HTML page: throughput by window."""
    document = json.loads(plots.comparison_figure(table).to_json())
    title = f"Throughput by window of {units.number(len(table), 'capture')}"
    _write_page(
        document, title, path, f"{title}: the figure needs JavaScript. The command also printed its numbers."
    )


def write_images(figures: Mapping[Path, go.Figure]) -> None:
    """
    Draw figures into images; the browser is started once for all of them.

    Parameters
    ----------
    figures
        Figures by path; the suffix of a path is ``.png`` or ``.svg``.

    Raises
    ------
    NoImageWriterError
        The extra is not installed, or no browser works.
    """
    try:
        import kaleido  # noqa: PLC0415 - part of an extra, may be missing
        from kaleido.errors import BrowserFailedError, ChromeNotFoundError  # noqa: PLC0415
    except ModuleNotFoundError:
        raise NoImageWriterError("an image needs the extra: pip install 'bdpcap[png]'") from None
    orders = [
        {
            "fig": _fitted(figure),
            "path": path,
            "opts": {
                "width": _WIDTH,
                "height": figure.layout.height,
                "format": path.suffix.lower().removeprefix("."),
                "scale": _PNG_SCALE if path.suffix.lower() == ".png" else 1,
            },
        }
        for path, figure in figures.items()
    ]
    try:
        # No figure needs MathJax, and kaleido would load it from the network.
        kaleido.write_fig_from_object_sync(orders, cancel_on_error=True, kopts={"mathjax": False})
    except ChromeNotFoundError:
        raise NoImageWriterError(
            "an image needs a browser to draw it: install Chromium or Chrome, or name one in BROWSER_PATH"
        ) from None
    except BrowserFailedError as error:
        raise NoImageWriterError(f"the browser that draws images failed: {error}") from None


def _fitted(figure: go.Figure) -> go.Figure:
    """Return a figure with as much room above its plot as a picture's legend takes."""
    drawing, layout = Drawing.of(figure), figure.layout
    legend_width = _WIDTH - layout.margin.l - layout.margin.r
    return figure.update_layout(margin_t=room(drawing.layout, drawing.traces, legend_width))


def _write_page(document: dict[str, Any], title: str, path: Path, still: str) -> None:
    """Write plotly's data and layout as an HTML page; its policy lets only its own two scripts run.

    A figure without a height fills the page. `still` is HTML that stands there without scripts.
    """
    height = document["layout"].get("height")
    scripts = [asset("plotly-basic.min.js"), asset("figures.js") + _DRAW]
    page = _PAGE.format(
        hashes=" ".join(f"'{policy_hash(script)}'" for script in scripts),
        title=html.escape(units.printable(title)),
        style=asset("figure.css"),
        size="" if height is None else f' style="height: {height}px"',
        still=still,
        figure=data({**document, "config": plots.CONFIG}),
        scripts="\n".join(f"<script>{script}</script>" for script in scripts),
    )
    with files.replacing(path) as part:
        part.write_text(page, encoding="utf-8")
