"""The environment of the pages' templates: where they lie, filters that format quantities, and the limits' colours."""

from __future__ import annotations

from typing import Final

import jinja2

from bdpcap.diagnosis import STATE_COLOURS, STATE_NAMES
from bdpcap.explain import gate
from bdpcap.report.scripts import asset
from bdpcap.words import units

__all__ = ["environment"]

_LIGHT_INK: Final = {"rwnd", "unknown"}
"""Limits with a dark colour, on which white text is easier to read than black."""


def environment() -> jinja2.Environment:
    """Return an environment for the templates of the folder ``assets``, which escapes all text."""
    made = jinja2.Environment(
        loader=jinja2.FunctionLoader(asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        size=units.data_size,
        bytes=units.exact_bytes,
        rate=lambda bps: units.rate(gate.reached_bps(bps)),
        duration=units.duration,
        share=units.share,
        confidence=units.confidence,
        count=units.count,
        instant=lambda ns: units.instant(ns, "seconds"),
        number=units.number,
        plain=units.printable,
        told=lambda words: units.joined(units.printable(words)),
    )
    made.globals.update(limits=STATE_NAMES, colours=STATE_COLOURS, light_ink=_LIGHT_INK)
    return made
