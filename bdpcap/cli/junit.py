"""
Results of ``--fail-on`` rules as JUnit XML for CI systems: a suite for each rule, a test case for each flow.

Only elements and attributes that are in both schemas, of Ant's and of Jenkins' reports, are used. All elements and
attributes that Ant's schema requires are present.
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
    """Result of a rule for one flow."""

    name: str
    seconds: float
    """Duration of the flow."""
    failure: str | None
    """Message if the flow breaks the rule; None if it does not."""


def document(suites: Mapping[str, Sequence[Case]], capture: Capture) -> str:
    """Return the XML document; `suites` are the cases by rule. A damaged capture adds a suite with an error."""
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
    if capture.damages:
        message = units.printable(capture.damages[0])
        suite = _suite(root, "capture", capture, [Case("", 0, None)])
        suite.set("errors", "1")
        element = _case(suite, Case("is read to its end", 0, None), names)
        ET.SubElement(element, "error", message=message, type="damaged").text = message
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
