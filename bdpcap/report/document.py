"""The report as data, for the JSON file."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

import bdpcap
from bdpcap.diagnosis import silence
from bdpcap.diagnosis.decide import weights
from bdpcap.diagnosis.natures import of_packets
from bdpcap.diagnosis.remedy import remedy
from bdpcap.explain import trust
from bdpcap.report import host, ranking, verdict
from bdpcap.report.part import part
from bdpcap.tables.rows import records, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from bdpcap.capture import Capture
    from bdpcap.diagnosis.outlook import Outlook

SCHEMA_VERSION: Final = 3
"""Increased when a key changes its meaning or is removed; new keys do not increase it."""
MOST_FLOWS: Final = 100
"""Most flows that the document has in full, a choice: as many as a person or a program looks through."""

_FLOW: Final = ["stream", "sender", "receiver"]


def capture_document(capture: Capture) -> dict[str, Any]:
    """Return the facts of a capture: its counts, the damage if any, the list of flaws, and the caveats in words."""
    damage = dataclasses.asdict(capture.damages[0]) if capture.damages else None
    return {
        **dataclasses.asdict(capture.info),
        "damage": damage,
        "quality": [dataclasses.asdict(flaw) for flaw in capture.quality],
        "caveats": trust.caveats(capture),
    }


def document(capture: Capture) -> dict[str, Any]:
    """
    Return the report: capture, flows with their rounds and exchanges, connections, and UDP flows.

    Returns
    -------
    Values for strict JSON: keys are the tables' columns, integers are exact, missing values are None. The flows are in
    order of importance: the first `MOST_FLOWS` in full, the others as a sum.
    """
    ranked = ranking.ranked(capture)
    rest = ranked.iloc[MOST_FLOWS:]
    return {
        "schema_version": SCHEMA_VERSION,
        "generator": f"bdpcap {bdpcap.__version__}",
        "capture": capture_document(capture),
        "flows": list(_in_full(capture, ranked.head(MOST_FLOWS))),
        "flows_left_out": {
            "flows": len(rest),
            "payload_bytes": int(rest["payload_bytes"].sum()),
            "active_ns": int(rest["active_ns"].sum()),
        },
        "connections": records(capture.connections),
        "datagrams": records(capture.datagrams),
        "host": host.document(capture),
    }


def lines(capture: Capture) -> Iterator[str]:
    """Yield every flow in full as a line of JSON, as `document` has it, in order of importance."""
    ranked = ranking.ranked(capture)
    for first in range(0, len(ranked), MOST_FLOWS):
        yield from map(text, _in_full(capture, ranked.iloc[first : first + MOST_FLOWS]))


def _in_full(capture: Capture, summaries: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the flows of rows of the ``flows`` table; their rounds are forgotten at the end."""
    with capture._contents.verdicts.loaded(summaries["stream"].tolist()):
        rows = records(summaries)
        flows = [capture.flow(row["stream"], row["sender"]) for row in rows]
        part("the packets", lambda: silence.load(of_packets(flows)), lambda _: None)
        for summary, flow in zip(rows, flows, strict=True):
            yield {
                **summary,
                "verdict": verdict.sentence(flow),
                "action": str(remedy(flow)),
                "expected": _expected(remedy(flow).outlook),
                "vantage_evidence": flow.vantage_evidence,
                "findings": [
                    {**dataclasses.asdict(finding), "weight": weight} for finding, weight in weights(flow)
                ],
                "rounds": records(flow.rtts.drop(columns=_FLOW)),
                "exchanges": records(flow.exchanges.drop(columns="stream")),
                "host": host.flow_document(flow),
            }


def _expected(outlook: Outlook) -> dict[str, Any]:
    """Return an outlook in words, and as rates with the limit that follows where these are known."""
    rate = outlook.rate
    return {
        "words": str(outlook),
        "before_bps": None if rate is None else rate.before_bps,
        "rate_bps": None if rate is None else rate.bps,
        "follows": None if rate is None else rate.follows,
    }
