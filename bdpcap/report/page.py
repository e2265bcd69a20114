"""The report as one HTML file, which loads nothing from a network and can be read without scripts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

import bdpcap
from bdpcap import plots
from bdpcap.diagnosis import MEANING, Weight, silence
from bdpcap.diagnosis.decide import weights
from bdpcap.diagnosis.natures import of_packets
from bdpcap.diagnosis.remedy import remedy
from bdpcap.diagnosis.why import why
from bdpcap.explain import trust
from bdpcap.limits.stripes import stripes
from bdpcap.plots import decimate
from bdpcap.plots.svg import svg
from bdpcap.report import (
    cards,
    common_stalls,
    connections,
    error_responses,
    exchanges,
    headline,
    oversized,
    ranking,
    screen,
    sections,
    verdict,
)
from bdpcap.report.overview import overview
from bdpcap.report.part import part
from bdpcap.report.scripts import asset, data, policy_hash
from bdpcap.report.template import environment
from bdpcap.report.text import sources
from bdpcap.tables import files
from bdpcap.words import units

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from bdpcap.capture import Capture, Flow
    from bdpcap.explain.findings import Finding
    from bdpcap.report.ranking import Group

BRIEF_FLOWS: Final = 40
"""Maximum number of flows after the detailed ones whose row of the table opens with their findings."""

TABLE_ROWS: Final = (10, 1000)
"""Maximum number of flows in the page's table: shown at first, and in all."""

FAILURES: Final = 3
"""Maximum number of lines on failed connections that are not folded, the gravest, and of lines on late ones."""

ROUNDS: Final = (300, 100)
"""Maximum number of rounds in the table of the first flow, and in that of every other flow."""

COLUMNS: Final = (decimate.COLUMNS, 300)
"""Time columns in the figures of the first flow, and of every other flow; stills always use the second number."""

HEAD: Final = "window"
"""The figure next to the verdict."""

_STRIPES: Final = 300
"""Most stripes of a flow's strip."""
_STRIP: Final = 1000
"""Width of a flow's strip in units of its picture."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure of a flow: still SVG for print, and data for scripts; or a notice and None if drawing failed."""

    kind: str
    still: Markup
    drawn: dict[str, Any] | None


def write_html(capture: Capture, path: str | os.PathLike[str], about: Flow | None = None) -> Path:
    """
    Write the report as an HTML file.

    Parameters
    ----------
    capture
        The capture to report on.
    path
        File to write; an existing file is replaced.
    about
        The only flow to report on; None is those that matter.

    Returns
    -------
    The path.
    """
    target = Path(path)
    page = html(capture, about)
    with files.replacing(target) as part:
        part.write_text(page, encoding="utf-8")
    return target


def html(capture: Capture, about: Flow | None = None) -> str:
    """Return the HTML page. Text from the capture is escaped, and only the page's own scripts may run."""
    pages = environment()
    pages.globals.update(
        span=units.span, part=_part, verdict=verdict, screen=screen, why=why, remedy=remedy, trust=trust
    )
    groups = ranking.groups(capture) if about is None else [ranking.alone(about)]
    flows = [group.flow for group in groups]
    part(
        "the packets", partial(_read, flows), lambda _: None
    )  # a picture without them reads again, and says why
    pictures = [_pictures(number, flow) for number, flow in enumerate(flows)]
    table = ranking.ranked(capture) if about is None else groups[0].flows
    first = ranking.listed(capture, table.head(len(flows) + BRIEF_FLOWS))
    shown = {_anchor(flow) for flow in flows}
    brief = [flow for flow in first if _anchor(flow) not in shown][:BRIEF_FLOWS]
    entries = screen.entries(groups)
    own = "".join(map(asset, ("figures.js", "page.js", "copy.js")))
    scripts = [asset("plotly-basic.min.js"), own] if flows else []
    extras = [] if about else sections.tables(capture)
    scripts += [asset("tables.js")] if len(table) > 1 or extras else []
    return pages.get_template("page.html.j2").render(
        version=bdpcap.__version__,
        capture=capture,
        info=capture.info,
        groups=groups,
        flows=flows,
        entries=entries,
        cards=cards.cards(capture, entries),
        width=cards.WIDTH,
        height=cards.HEIGHT,
        folded=len(groups) > 1 or len(table) > TABLE_ROWS[0],
        told=[_flow(number, flow) for number, flow in enumerate(flows)],
        pictures=pictures,
        head=HEAD,
        brief={(flow.stream, flow.sender): flow for flow in brief},
        anchor=_anchor,
        weighed=_by_weight,
        sources=sources,
        exchanges=exchanges.section,
        all_of_it="" if about else headline.summary(capture, groups),
        rest="" if about else _rest(capture, groups, entries.shown),
        stalls="" if about else str(common_stalls.shared(capture) or ""),
        sections={(flow.stream, flow.sender): _anchor(flow) for flow in (*flows, *brief)},
        table=table.assign(lost_ns=ranking.lost_ns(table)).head(TABLE_ROWS[1]).to_dict("records"),
        at_once=TABLE_ROWS[0],
        total=len(table),
        overview=(lambda: overview(capture, table)) if len(set(table["stream"])) > 1 else None,
        failed_title=part("the failed connections", lambda: connections.title(capture), lambda _: "Failed"),
        failures=lambda: [] if about else connections.sentences(capture),
        failures_at_once=FAILURES,
        late=lambda: [] if about else [sentence for sentence, _ in connections.late(capture)],
        errors_title=error_responses.TITLE,
        errors=lambda: [] if about else [sentence for sentence, _ in error_responses.sentences(capture)],
        resets=lambda: [] if about else connections.ends(capture),
        extras=extras,
        held={limit for flow in flows for limit in flow.rtts["limit"].unique()},
        meaning=MEANING,
        style=Markup(asset("page.css")),  # noqa: S704 - a file of this package
        scripts=[Markup(script) for script in scripts],  # noqa: S704 - files of this package
        script_hashes=[policy_hash(script) for script in scripts],
        figures=_figures(pictures),
    )


def _rest(capture: Capture, groups: list[Group], named: list[Group]) -> str:
    """Return sentences on the flows that have no section."""
    rest = headline.rest(capture, named, "the table below lists them")
    return " ".join(filter(None, [rest, oversized.sentence(capture, groups)]))


def _read(flows: list[Flow]) -> None:
    """Read the packets once for pictures, verdicts and notes."""
    with silence.reading(of_packets(flows)) as quiet, plots.reading(flows) as drawn:
        if quiet or drawn:
            flows[0].capture._contents.events.give([*quiet, *drawn])


def _part(name: str, caller: Callable[[], str]) -> str:
    """Return a part of the page as the template renders it; if that fails, a notice that the part is left out."""
    return part(name, caller, _left_out)


def _left_out(notice: str) -> Markup:
    return Markup('<p class="left-out">{}</p>').format(notice)


def _anchor(flow: Flow) -> str:
    """Return the anchor of a flow: its stream number, with a suffix for the direction that carried less."""
    main = flow.capture.flow(flow.stream).sender == flow.sender
    return f"flow-{flow.stream}{'' if main else '-back'}"


def _by_weight(flow: Flow) -> dict[Weight, list[Finding]]:
    """Return a flow's findings by weight, the root cause first."""
    found = weights(flow)
    return {weight: [finding for finding, own in found if own is weight] for weight in Weight}


def _flow(number: int, flow: Flow) -> dict[str, Any]:
    """Return values for the template's section on a detailed flow; the template reads others from the flow."""
    start, end = int(flow.summary["start_ns"]), int(flow.summary["end_ns"])
    scale = _STRIP / max(1, end - start)
    most = ROUNDS[min(number, 1)]
    first = flow.capture.info.first_ns
    return {
        "strip": [
            (
                stripe.limit,
                round((stripe.start_ns - start) * scale, 2),
                round((stripe.end_ns - stripe.start_ns) * scale, 2),
            )
            for stripe in stripes(flow.rtts, _STRIPES)
        ],
        "rounds": flow.rtts.head(most).to_dict("records"),
        "rounds_left": max(0, len(flow.rtts) - most),
        "start_ns": start if first is None else first,
    }


def _pictures(number: int, flow: Flow) -> dict[str, Picture]:
    """Return the figures of a flow by kind; ``number`` 0 is the first flow of the page."""
    return {kind: _picture(number, flow, kind) for kind in plots.FIGURES}


def _picture(number: int, flow: Flow, kind: plots.Kind) -> Picture:
    def drawn() -> Picture:
        columns = COLUMNS[min(number, 1)]
        drawing = plots.drawing(flow, kind, columns)
        still = drawing if columns == COLUMNS[1] else plots.drawing(flow, kind, COLUMNS[1])
        label = f"{still.layout['title']['text']} of stream {flow.stream}: {verdict.sentence(flow)}"
        return Picture(kind, Markup(svg(still, label)), drawing.document())  # noqa: S704 - svg() escapes text

    def missing(notice: str) -> Picture:
        return Picture(kind, _left_out(notice), None)

    return part(f"the {kind} picture of stream {flow.stream}", drawn, missing)


def _figures(pictures: list[dict[str, Picture]]) -> Markup:
    """Return the figures as JSON that cannot close its script element."""
    flows = [
        {kind: picture.drawn for kind, picture in own.items() if picture.drawn is not None}
        for own in pictures
    ]
    return Markup(data({"config": plots.CONFIG, "flows": flows}))  # noqa: S704 - data() escapes "<"
