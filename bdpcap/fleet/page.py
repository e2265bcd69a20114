"""The summary of a dataset as one self-contained HTML page with figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import jinja2
import plotly.graph_objects as go
from markupsafe import Markup

import bdpcap
from bdpcap.diagnosis import LIMIT_NAMES, STATE_COLOURS
from bdpcap.fleet.questions import DISTRIBUTED
from bdpcap.report.scripts import asset
from bdpcap.words import palette, units

if TYPE_CHECKING:
    import pandas as pd

    from bdpcap.fleet.questions import Answers

__all__ = ["html"]

_TITLES: Final = {
    "active_throughput_bps": "Throughput (bit/s)",
    "rtt_median_ns": "Median RTT (s)",
    "window_max_bytes": "Largest window (bytes)",
    "retransmitted": "Part of the bytes retransmitted",
}
_PERIODS: Final = {"all": palette.INK, "before": palette.SENT, "after": palette.RETRANSMITTED}


def html(answers: Answers, hundredths: dict[str, pd.DataFrame]) -> str:
    """Return the page; `hundredths` has the quantiles of flows at every hundredth, by period."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.filters.update(
        duration=units.duration,
        rate=units.rate,
        share=units.share,
        count=units.count,
        size=units.data_size,
        plain=units.printable,
    )
    figures = [
        _stacked(answers.hosts, "host", "Time lost by host"),
        _stacked(answers.paths, "path", "Time lost by path"),
        *(_distribution(name, hundredths) for name in DISTRIBUTED),
    ]
    if answers.since is not None:
        figures.insert(0, _changes(answers.since))
    template = environment.from_string(Path(__file__).with_name("page.html.j2").read_text(encoding="utf-8"))
    return template.render(
        answers=answers,
        figures=[
            Markup(one.to_html(full_html=False, include_plotlyjs=False, config={"displaylogo": False}))  # noqa: S704
            for one in figures
        ],
        plotly=Markup(asset("plotly-basic.min.js")),  # noqa: S704 - a file of the package
        version=bdpcap.__version__,
        names=LIMIT_NAMES,
    )


def _figure(title: str, **layout: object) -> go.Figure:
    return go.Figure(
        layout={
            "template": "none",
            "title": {"text": title, "x": 0, "xref": "paper", "font": {"size": 15}},
            "font": {"family": "system-ui, sans-serif", "size": 12, "color": palette.INK},
            "height": 340,
            "legend": {"orientation": "h", "y": -0.4},
            **layout,
        }
    )


def _stacked(table: pd.DataFrame, of: str, title: str) -> go.Figure:
    """Return a figure with a bar for each host or path: the time lost, stacked by limit."""
    # Names may be hostile text, so characters that plotly would read as HTML are escaped.
    named = table.assign(name=[str(Markup.escape(units.printable(one))) for one in table[of]])
    figure = _figure(
        title,
        barmode="stack",
        xaxis={"title": {"text": "time lost (s)"}, "gridcolor": palette.GRID},
        yaxis={"automargin": True, "autorange": "reversed", "type": "category"},
    )
    for limit, own in named.groupby("limit", sort=False):
        figure.add_bar(
            x=(own["lost_ns"] / 1e9).tolist(),
            y=own["name"].tolist(),
            orientation="h",
            name=LIMIT_NAMES[str(limit)],
            marker={"color": STATE_COLOURS[str(limit)]},
        )
    return figure


def _distribution(name: str, hundredths: dict[str, pd.DataFrame]) -> go.Figure:
    """Return a figure of the cumulative distribution of a quantity over flows."""
    form = ".1%" if name == "retransmitted" else "~s"
    figure = _figure(
        f"{_TITLES[name]}, over flows",
        xaxis={"title": {"text": _TITLES[name]}, "tickformat": form, "gridcolor": palette.GRID},
        yaxis={"title": {"text": "part of the flows below"}, "range": [0, 1], "gridcolor": palette.GRID},
        showlegend=True,
    )
    for period, quantiles in hundredths.items():
        if name in quantiles.index:
            values: list[float] = [*quantiles["percentiles"][name]]
            scale = 1e9 if name.endswith("_ns") else 1.0
            figure.add_scatter(
                x=[value / scale for value in values],
                y=[place / (len(values) - 1) for place in range(len(values))],
                mode="lines",
                name=f"{period} ({units.number(quantiles['flows'][name], 'flow')})",
                line={"color": _PERIODS[period]},
            )
    return figure


def _changes(since: pd.DataFrame) -> go.Figure:
    """Return a figure with the share of time of every limit before and after the date."""
    figure = _figure(
        "Share of time by limit",
        barmode="group",
        yaxis={"title": {"text": "share of time"}, "tickformat": ".0%", "gridcolor": palette.GRID},
    )
    for period in ("before", "after"):
        own = since[since["period"] == period].set_index("limit")["share"]
        figure.add_bar(
            x=list(LIMIT_NAMES.values()),
            y=[float(own.get(limit, 0.0)) for limit in LIMIT_NAMES],
            name=period,
            marker={"color": _PERIODS[period]},
        )
    return figure
