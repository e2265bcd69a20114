"""
Verdicts of rules as JUnit XML, which CI systems read: a suite for each rule, a test case for each flow.

Elements and attributes are those that the schemas of Ant's and of Jenkins' reports have in common, and all that Ant's
requires.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from bdpcap.words import units

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bdpcap.capture import Capture

_PACKAGE: Final = "bdpcap"


@dataclass(frozen=True, slots=True)
class Case:
    """A flow under a rule."""

    name: str
    seconds: float
    """How long the flow lasted."""
    failure: str | None
    """How it breaks the rule."""


def document(suites: Mapping[str, Sequence[Case]], capture: Capture) -> str:
    """Return the file: `suites` are the cases by rule. A capture that broke is an error, in a suite of its own."""
    root = ET.Element("testsuites")
    names = "+".join(Path(file).stem for file in capture.info.files)
    for rule, cases in suites.items():
        suite = _suite(root, rule, capture, cases)
        for case in cases:
            element = _case(suite, case, names)
            if case.failure is not None:
                ET.SubElement(element, "failure", message=case.failure, type="limited").text = case.failure
        if not cases:
            element = _case(suite, Case("no flow carried enough to be tested", 0, None), names)
            ET.SubElement(element, "skipped")
            suite.set("tests", "1")
            suite.set("skipped", "1")
        _close(suite)
    if capture.damage is not None:
        said = units.printable(capture.damage)
        suite = _suite(root, "capture", capture, [Case("", 0, None)])
        suite.set("errors", "1")
        element = _case(suite, Case("is read to its end", 0, None), names)
        ET.SubElement(element, "error", message=said, type="damaged").text = said
        _close(suite)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _suite(root: ET.Element, name: str, capture: Capture, cases: Sequence[Case]) -> ET.Element:
    begun = datetime.fromtimestamp((capture.info.first_ns or 0) // 10**9, UTC)
    suite = ET.SubElement(
        root,
        "testsuite",
        name=units.printable(name),
        package=_PACKAGE,
        id=str(len(root)),
        timestamp=f"{begun:%Y-%m-%dT%H:%M:%S}",
        hostname="localhost",
        tests=str(len(cases)),
        failures=str(sum(case.failure is not None for case in cases)),
        errors="0",
        skipped="0",
        time=f"{sum(case.seconds for case in cases):.3f}",
    )
    ET.SubElement(suite, "properties")
    return suite


def _case(suite: ET.Element, case: Case, names: str) -> ET.Element:
    of = f"{_PACKAGE}.{units.printable(names)}"
    return ET.SubElement(suite, "testcase", classname=of, name=case.name, time=f"{case.seconds:.3f}")


def _close(suite: ET.Element) -> None:
    ET.SubElement(suite, "system-out")
    ET.SubElement(suite, "system-err")
