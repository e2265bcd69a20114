"""Both ends of a path as one HTML page, which loads nothing from a network and can be read without scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

import bdpcap
from bdpcap import plots
from bdpcap.diagnosis import LIMIT_NAMES
from bdpcap.pairing import words
from bdpcap.plots import pair_figures as drawing
from bdpcap.plots.svg import svg
from bdpcap.report.part import part
from bdpcap.report.scripts import asset, data, policy_hash
from bdpcap.report.template import environment

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from bdpcap.pairing import Ends
    from bdpcap.pairing.ends import CommonFlow
    from bdpcap.plots.drawing import Drawing

__all__ = ["html"]

LOSSES: Final = 200
"""Maximum number of losses in the page's table."""
_COLUMNS: Final = 800
"""Time columns of a figure."""
_STILL_COLUMNS: Final = 250
"""Time columns of a figure's still."""


def html(both: Ends) -> str:
    """Return the HTML page. Text from the captures is escaped, and only the page's own scripts may run."""
    pictures = [_pictures(both, flow) for flow in both.flows]
    scripts = [asset("plotly-basic.min.js"), asset("figures.js") + asset("page.js")] if pictures else []
    drawn = [{kind: figure for kind, (_, figure) in own.items() if figure is not None} for own in pictures]
    return (
        environment()
        .get_template("pair.html.j2")
        .render(
            version=bdpcap.__version__,
            both=both,
            words=words,
            limits=LIMIT_NAMES,
            flows=list(
                zip(both.flows, pictures, words.rows(both.delays), words.rows(both.views), strict=True)
            ),
            losses=_records(both.losses.head(LOSSES)),
            losses_left=max(0, len(both.losses) - LOSSES),
            options=_records(both.options),
            start_ns=both.sender.info.first_ns or 0,
            style=Markup(asset("page.css")),  # noqa: S704 - a file of this package
            scripts=[Markup(script) for script in scripts],  # noqa: S704 - files of this package
            script_hashes=[policy_hash(script) for script in scripts],
            figures=Markup(data({"config": plots.CONFIG, "flows": drawn})),  # noqa: S704 - data() escapes "<"
        )
    )


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table as dictionaries; missing values are None."""
    plain = table.astype(object)
    return [
        {str(name): value for name, value in row.items()}
        for row in plain.where(table.notna(), None).to_dict("records")
    ]


def _pictures(both: Ends, flow: CommonFlow) -> dict[str, tuple[Markup, Any]]:
    """Return the figures of a flow by kind: still SVG and data for scripts; a notice and None if drawing failed."""
    own = both.losses[(both.losses["stream"] == flow.stream) & (both.losses["sender"] == flow.sender)]

    def picture(kind: str, make: Callable[[int], Drawing]) -> tuple[Markup, Any]:
        def drawn() -> tuple[Markup, Any]:
            still = svg(make(_STILL_COLUMNS), f"{kind} of stream {flow.stream}")
            return Markup(still), make(_COLUMNS).document()  # noqa: S704 - svg() escapes text

        def missing(notice: str) -> tuple[Markup, Any]:
            return Markup('<p class="left-out">{}</p>').format(notice), None

        return part(f"the {kind} picture of stream {flow.stream}", drawn, missing)

    return {
        "delays": picture("delays", lambda columns: drawing.delays(flow, own, columns)),
        "views": picture("views", lambda columns: drawing.views(flow, columns)),
    }
