"""The report as data, for the JSON file."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

import bdpcap
from bdpcap.diagnosis.decide import weights
from bdpcap.diagnosis.remedy import remedy
from bdpcap.explain import trust
from bdpcap.report import host, ranking, verdict
from bdpcap.tables.rows import records

if TYPE_CHECKING:
    from bdpcap.capture import Capture

SCHEMA_VERSION: Final = 2
"""Increased when a key changes its meaning or is removed; new keys do not increase it."""


_FLOW: Final = ["stream", "sender", "receiver"]


def capture_document(capture: Capture) -> dict[str, Any]:
    """Return the facts of a capture: its counts, the damage if any, the list of flaws, and the caveats in words."""
    damage = dataclasses.asdict(capture.damage) if capture.damage is not None else None
    return {
        **dataclasses.asdict(capture.info),
        "damage": damage,
        "quality": [dataclasses.asdict(flaw) for flaw in capture.quality],
        "caveats": trust.caveats(capture),
    }


def document(capture: Capture) -> dict[str, Any]:
    """
    Return the whole report: capture, flows with their rounds and exchanges, connections, and UDP flows.

    Returns
    -------
    Values for strict JSON: keys are the tables' columns, integers are exact, missing values are None. The flows are in
    order of importance.
    """
    rounds = {key: rows.drop(columns=_FLOW) for key, rows in capture.rtts.groupby(_FLOW, sort=False)}
    flows = []
    for summary in records(ranking.ranked(capture)):
        flow = capture.flow(summary["stream"], summary["sender"])
        flows.append(
            {
                **summary,
                "verdict": verdict.sentence(flow),
                "action": str(remedy(flow)),
                "vantage_evidence": flow.vantage_evidence,
                "findings": [
                    {**dataclasses.asdict(finding), "weight": weight} for finding, weight in weights(flow)
                ],
                "rounds": records(rounds[tuple(summary[name] for name in _FLOW)]),
                "exchanges": records(flow.exchanges.drop(columns="stream")),
                "host": host.flow_document(flow),
            }
        )
    return {
        "schema_version": SCHEMA_VERSION,
        "generator": f"bdpcap {bdpcap.__version__}",
        "capture": capture_document(capture),
        "flows": flows,
        "connections": records(capture.connections),
        "datagrams": records(capture.datagrams),
        "host": host.document(capture),
    }
