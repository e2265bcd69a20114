"""The page: a choice of flows, their linked figures, and the packet that was clicked on."""

from __future__ import annotations

import re
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, cast

from dash import ClientsideFunction, Dash, Input, Output, ctx, dcc, html, no_update

from bdpcap.plots.drawing import Drawing
from bdpcap.plots.heading import time_text
from bdpcap.report import verdict
from bdpcap.view.figure import CONFIG, FREE_AXIS, HEIGHT, Span
from bdpcap.view.packet import clicked, packet
from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bdpcap.view.viewer import Viewer

__all__ = ["application", "span_of"]

_HELP: Final = (
    "Drag over a time to zoom, double-click for the whole flow. Keys: ← and → pan, + and - zoom, 0 or Home show all. "
    "Point at a limit for its rule and evidence; click on a packet for its frame."
)
_NO_SCRIPTS: Final = (
    "<noscript><main>The figures need JavaScript. A report does not: <code>bdpcap report CAPTURE -o report.html</code>"
    "</main><style>#react-entry-point { display: none }</style></noscript>"
)
"""Text in place of the page where scripts are off."""

_FIRST: Final = "native.js"
"""The script that comes before those of Dash."""


def span_of(change: Mapping[str, Any] | None) -> Span | None:
    """Return the span of a change of the axes, named as plotly names it; None if the time axis has no new range."""
    time, sequence = (_range(change or {}, axis) for axis in ("xaxis", FREE_AXIS))
    return None if time is None else Span(*time, sequence)


def _range(change: Mapping[str, Any], axis: str) -> tuple[float, float] | None:
    ends = change.get(f"{axis}.range") or [change.get(f"{axis}.range[{end}]") for end in (0, 1)]
    if (
        any(isinstance(end, bool) or not isinstance(end, (int, float)) for end in ends)
        or not ends[0] < ends[1]
    ):
        return None
    return float(ends[0]), float(ends[1])


def application(viewer: Viewer, prefix: str) -> Dash:
    """
    Return the Dash application.

    Parameters
    ----------
    viewer
        The flows to choose from.
    prefix
        Path below which everything is served: it begins and ends with a slash.
    """
    app = Dash(
        "bdpcap.view",
        assets_folder=str(Path(__file__).parent / "assets"),
        url_base_pathname=prefix,
        serve_locally=True,
        title="bdpcap view",
        update_title="",
        add_log_handler=False,
        enable_mcp=False,
        use_pages=False,
        assets_ignore=re.escape(_FIRST),
    )
    first = f'<script src="{app.get_asset_url(_FIRST)}"></script>'
    for place, added in (("<html", ' lang="en"'), ("<body>", _NO_SCRIPTS), ("<footer>", first)):
        app.index_string = app.index_string.replace(place, f"{place}{added}")
    files = ", ".join(PurePath(name).name for name in viewer.capture.info.files)
    options = [{"label": units.printable(label), "value": place} for place, label in enumerate(viewer.labels)]
    app.layout = html.Main(
        [
            html.Header([html.H1("bdpcap view"), html.Span(units.printable(files), className="files")]),
            dcc.Dropdown(options, viewer.first, id="flow", clearable=False, maxHeight=420),
            html.P(id="verdict"),
            html.P(id="shown", role="status"),
            html.Ul(id="names"),
            dcc.Loading(
                dcc.Graph(id="figure", config=cast("Any", CONFIG), style={"height": HEIGHT}),
                delay_show=800,
                overlay_style={"visibility": "visible", "opacity": 0.5},
            ),
            dcc.Store(id="asked"),
            html.Div(id="packet", role="status"),
            html.P(_HELP, className="help"),
        ]
    )

    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("view", "asked"),
        Output("asked", "data"),
        Input("figure", "relayoutData"),
        prevent_initial_call=True,
    )

    @app.callback(
        Output("figure", "figure"),
        Output("shown", "children"),
        Output("names", "children"),
        Output("verdict", "children"),
        Input("flow", "value"),
        Input("asked", "data"),
    )
    def draw(place: int, change: dict[str, Any] | None) -> tuple[Any, ...]:
        moved = ctx.triggered_id == "asked"
        drawing, status = viewer.draw(place, span_of(change) if moved else None)
        said = no_update if moved else units.printable(verdict.sentence(viewer.flow(place)))
        return _light(drawing).document(), status, _names(drawing), said

    @app.callback(
        Output("packet", "children"),
        Input("figure", "clickData"),
        Input("flow", "value"),
        prevent_initial_call=True,
    )
    def show(click: dict[str, Any] | None, place: int) -> Any:
        frame = clicked(click["points"][0]) if click and ctx.triggered_id == "figure" else None
        if frame is None:
            return []
        found = packet(viewer.flow(place), frame)
        filters = [part for text in found.filters for part in _copied(text)]
        return [html.B(units.printable(found.where)), *filters]

    return app


def _light(drawing: Drawing) -> Drawing:
    """Return a figure for Dash: bars are lines without markers, and what a click reports is in lists.

    Each foot of a bar would be one element more; `view.css` gives the lines square ends instead, which is several times
    as fast. Dash reports nothing from packed arrays.
    """
    traces = []
    for trace in drawing.traces:
        custom = trace.get("customdata")
        light = {**trace, "customdata": None if custom is None else custom.tolist()}
        if trace.get("mode") == "lines+markers":
            light |= {
                "mode": "lines",
                "line": {**trace["line"], "simplify": False},
                "uid": f"bars-{trace['uid']}",
            }
        traces.append(light)
    return Drawing(traces, drawing.layout)


def _names(drawing: Drawing) -> list[Any]:
    """Return the time and the names of lines, which a narrow page shows instead of the heading and two legends."""
    rows = [html.Li(time_text(*drawing.layout["xaxis"]["range"]))]
    for number in (2, 3):
        names = []
        for trace in drawing.traces:
            if trace["legend"] == f"legend{number}" and trace.get("showlegend") is not False:
                line = trace.get("line") or trace["marker"]
                kind = line.get("dash", trace["mode"])
                names.append(html.Span(trace["name"], className=kind, style={"borderColor": line["color"]}))
        rows.append(html.Li([drawing.layout[f"yaxis{number}"]["title"]["text"], ": ", *names]))
    return rows


def _copied(text: str) -> list[Any]:
    return [html.Code(text), dcc.Clipboard(content=text, title=f"Copy {text}", className="copy")]
