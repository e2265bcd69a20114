"""HTML that a notebook shows for a capture or a flow: the verdict and a bar of shares, without scripts."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from bdpcap.diagnosis import LIMIT_NAMES, STATE_COLOURS
from bdpcap.diagnosis.remedy import remedy
from bdpcap.diagnosis.why import why
from bdpcap.explain import trust
from bdpcap.report import ranking, screen, verdict
from bdpcap.words import units

if TYPE_CHECKING:
    import pandas as pd

    from bdpcap.capture import Capture, Flow

__all__ = ["of_capture", "of_flow"]


def of_capture(capture: Capture) -> str:
    """Return one line about the capture, and the card of every flow that the report shows in detail."""
    line = html.escape(units.printable(trust.line(capture)))
    shown = [of_flow(flow) for flow in ranking.that_matter(capture)]
    rest = len(capture) - len(shown)
    more = (
        f"<p>{units.number(rest, 'more flow' if shown else 'flow')}: see <code>flows</code>.</p>"
        if rest
        else ""
    )
    return f"<div><p><b>{line}</b></p>{''.join(shown)}{more}</div>"


def of_flow(flow: Flow) -> str:
    """Return the first screen on a flow, and the bar of its limits."""
    ends = _safe(f"{flow.sender} → {flow.receiver}")
    found, advice = why(flow), remedy(flow)
    expected = f" Expected: {advice.expected}." if advice.expected else ""
    lines = [*screen.sentences(flow), *([str(found)] if found else []), f"What to do: {advice}{expected}"]
    shown, head = "<br>".join(map(_safe, lines)), _safe(screen.head(flow))
    return f"<div><p><b>{head}</b><br>Stream {flow.stream}, {ends}</p>{bar(flow.summary)}<p>{shown}</p></div>"


def _safe(words: str) -> str:
    return html.escape(units.printable(words))


def bar(summary: pd.Series[Any]) -> str:
    """Return a bar that shows the share of a flow's time under each limit."""
    parts = "".join(
        f'<span title="{LIMIT_NAMES[limit]} {units.share(part)}" '
        f'style="display:inline-block;height:12px;width:{100 * part:.2f}%;background:{STATE_COLOURS[limit]}"></span>'
        for limit, part in verdict.shares(summary)
    )
    return f'<div style="max-width:600px;line-height:0;white-space:nowrap">{parts}</div>'
