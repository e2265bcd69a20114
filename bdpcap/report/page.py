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
from bdpcap import plots, units
from bdpcap.plots import palette, ribbon
from bdpcap.plots.canvas import at_least
from bdpcap.report import trust, verdict

if TYPE_CHECKING:
    import os

    from bdpcap.analysis import Capture, Flow

ROUNDS: Final = 300
"""Most rounds of a flow in the page's table."""

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
    )
    flows = verdict.that_matter(capture)
    scripts = [_asset("plotly-basic.min.js"), _asset("page.js")] if flows else []
    return environment.get_template("page.html.j2").render(
        version=bdpcap.__version__,
        info=capture.info,
        facts=trust.facts(capture),
        caveats=trust.caveats(capture),
        flows=[_flow(number, flow, capture) for number, flow in enumerate(flows)],
        table=verdict.ranked(capture).to_dict("records"),
        limits=palette.LIMIT_NAMES,
        held={limit for flow in flows for limit, _ in verdict.shares(flow.summary)},
        colours=palette.LIMIT_COLOURS,
        light_ink={"rwnd", "link"},
        meaning=verdict.MEANING,
        style=Markup(_asset("page.css")),  # noqa: S704  ours
        scripts=[Markup(script) for script in scripts],  # noqa: S704  ours
        script_hashes=[_hash(script) for script in scripts],
        figures=_figures(flows),
    )


def _flow(number: int, flow: Flow, capture: Capture) -> dict[str, Any]:
    """Return what the template shows of a flow."""
    rtts = flow.rtts
    parts = ribbon.stripes(rtts)
    start, end = int(flow.summary["start_ns"]), int(flow.summary["end_ns"])
    scale = 1000 / max(1, end - start)
    return {
        "number": number,
        "id": f"flow-{number}",
        "flow": flow,
        "summary": flow.summary,
        "sentence": verdict.sentence(flow.summary),
        "numbers": verdict.numbers(flow.summary),
        "at_least": at_least(flow.summary),
        "arithmetic": verdict.arithmetic(flow.summary),
        "shares": verdict.shares(flow.summary),
        "vantage": flow.vantage_evidence,
        "span": verdict.best_span(flow),
        "strip": [
            (
                part.limit,
                round((part.start_ns - start) * scale, 2),
                round((part.end_ns - part.start_ns) * scale, 2),
            )
            for part in parts
        ],
        "rounds": rtts.head(ROUNDS).to_dict("records"),
        "rounds_left": max(0, len(rtts) - ROUNDS),
        "start_ns": capture.info.first_ns if capture.info.first_ns is not None else start,
    }


def _figures(flows: list[Flow]) -> Markup:
    """Return the figures as JSON that cannot end the element it stands in."""
    drawn = [
        {kind: json.loads(plots.figure(flow, kind).to_json()) for kind in plots.FIGURES} for flow in flows
    ]
    text = json.dumps({"config": plots.CONFIG, "flows": drawn}, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704  no markup is left in it


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """Return what a content security policy calls a script by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
