"""The report as one HTML file that asks no network for anything, and reads without scripts too."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import jinja2
from markupsafe import Markup

import bdpcap
from bdpcap import palette, plots, units
from bdpcap.explain.capacity import word
from bdpcap.plots import ribbon
from bdpcap.plots.svg import svg
from bdpcap.report import exchanges, trust, verdict
from bdpcap.report.overview import overview

if TYPE_CHECKING:
    import os

    from bdpcap.analysis import Capture, Flow

BRIEF_FLOWS: Final = 40
"""Most flows that follow the detailed ones, each folded into a line."""

TABLE_ROWS: Final = (30, 1000)
"""Most flows in the page's table: at first sight, and in all."""

ROUNDS: Final = (300, 100)
"""Most rounds in the table of the first flow, and of every other one."""

COLUMNS: Final = (800, 300)
"""Time columns of the first flow's figures, and of every other one's."""

_STILL_COLUMNS: Final = 250
_STRIPES: Final = 300

_LIGHT_INK: Final = {"rwnd"}
"""Limits on whose colour white reads better than black."""

_ASSETS: Final = resources.files("bdpcap.report") / "assets"


def write_html(capture: Capture, path: str | os.PathLike[str]) -> Path:
    """
    Write the report.

    Parameters
    ----------
    capture
        What to report on.
    path
        Where; an existing file is replaced.

    Returns
    -------
    The path.
    """
    target = Path(path)
    target.write_text(html(capture), encoding="utf-8")
    return target


def html(capture: Capture) -> str:
    """Return the page. Text of the capture is escaped, and only the page's own two scripts may run."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        size=units.data_size,
        bytes=units.exact_bytes,
        rate=units.rate,
        duration=units.duration,
        share=units.share,
        confidence=units.confidence,
        count=units.count,
        plain=units.printable,
        instant=units.instant,
    )
    environment.globals["span"] = units.span
    flows = verdict.that_matter(capture)
    table = verdict.ranked(capture)
    brief = verdict.listed(capture, table.iloc[len(flows) : len(flows) + BRIEF_FLOWS])
    scripts = [_asset("plotly-basic.min.js"), _asset("follow.js") + _asset("page.js")] if flows else []
    return environment.get_template("page.html.j2").render(
        version=bdpcap.__version__,
        info=capture.info,
        facts=trust.facts(capture),
        caveats=trust.caveats(capture),
        vantage=dict(trust.facts(capture))["vantage"],
        flows=[_flow(number, flow, capture) for number, flow in enumerate(flows)],
        brief=[_brief(flow) for flow in brief],
        sections={(flow.stream, flow.sender): _id(flow) for flow in (*flows, *brief)},
        table=table.assign(lost_ns=verdict.lost_ns(table)).head(TABLE_ROWS[1]).to_dict("records"),
        at_once=TABLE_ROWS[0],
        total=len(table),
        overview=overview(capture, table) if table["stream"].nunique() > 1 else None,
        limits=palette.LIMIT_NAMES,
        held={limit for flow in flows for limit, _ in verdict.shares(flow.summary)},
        colours=palette.LIMIT_COLOURS,
        light_ink=_LIGHT_INK,
        meaning=verdict.MEANING,
        style=Markup(_asset("page.css")),  # noqa: S704  ours
        scripts=[Markup(script) for script in scripts],  # noqa: S704  ours
        script_hashes=[_hash(script) for script in scripts],
        figures=_figures(flows),
    )


def _id(flow: Flow) -> str:
    """Return the anchor of a flow; its stream's number, marked where it is the direction that carried less."""
    main = flow.capture.flow(flow.stream).sender == flow.sender
    return f"flow-{flow.stream}{'' if main else '-back'}"


def _brief(flow: Flow) -> dict[str, Any]:
    """Return what the template shows of any flow."""
    return {
        "id": _id(flow),
        "flow": flow,
        "summary": flow.summary,
        "sentence": verdict.sentence(flow.summary),
        "numbers": verdict.numbers(flow.summary),
        "shares": verdict.shares(flow.summary),
        "findings": flow.findings,
    }


def _flow(number: int, flow: Flow, capture: Capture) -> dict[str, Any]:
    """Return what the template shows of a flow with a section of its own."""
    rtts = flow.rtts
    start, end = int(flow.summary["start_ns"]), int(flow.summary["end_ns"])
    scale = 1000 / max(1, end - start)
    most = ROUNDS[min(number, 1)]
    return {
        **_brief(flow),
        "number": number,
        "about": word(flow.summary),
        "arithmetic": verdict.arithmetic(flow.summary),
        "held": verdict.held(flow),
        "vantage": flow.vantage_evidence,
        "exchanges": exchanges.section(flow),
        "span": verdict.best_span(flow),
        "strip": [
            (
                part.limit,
                round((part.start_ns - start) * scale, 2),
                round((part.end_ns - part.start_ns) * scale, 2),
            )
            for part in ribbon.stripes(rtts, _STRIPES)
        ],
        "stills": {kind: _still(flow, kind) for kind in plots.FIGURES},
        "rounds": rtts.head(most).to_dict("records"),
        "rounds_left": max(0, len(rtts) - most),
        "start_ns": capture.info.first_ns if capture.info.first_ns is not None else start,
    }


def _still(flow: Flow, kind: str) -> Markup:
    """Return the figure as it stands in print, and where no script runs."""
    figure = plots.figure(flow, kind, _STILL_COLUMNS)
    said = f"{figure.layout.title.text} of stream {flow.stream}: {verdict.sentence(flow.summary)}"
    return Markup(svg(figure, said))  # noqa: S704  escaped there


def _figures(flows: list[Flow]) -> Markup:
    """Return the figures as JSON that cannot end the element it stands in."""
    drawn = [
        {
            kind: json.loads(plots.figure(flow, kind, COLUMNS[min(number, 1)]).to_json())
            for kind in plots.FIGURES
        }
        for number, flow in enumerate(flows)
    ]
    text = json.dumps({"config": plots.CONFIG, "flows": drawn}, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704  no markup is left in it


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """Return what a content security policy calls a script by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
