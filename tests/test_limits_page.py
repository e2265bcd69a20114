"""docs/how-limits-are-inferred.md says what the rules are."""

import re

import pytest
from limits_page import MARKED, PAGE, SECTIONS, with_rules

from bdpcap.limits import STATES
from bdpcap.limits.rules import PRECEDENCE, RULES

TEXT = PAGE.read_text(encoding="utf-8")


def test_making_it_anew_reaches_every_section():
    assert [name for name, _ in MARKED.findall(TEXT)] == list(SECTIONS)
    assert with_rules(MARKED.sub(r"\1\2", TEXT)) == TEXT


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_has_its_heading(rule):
    assert f"\n#### {rule.id}\n" in TEXT


def test_every_limit_that_a_rule_claims_has_a_place_in_the_precedence():
    assert {rule.limit for rule in RULES} == set(PRECEDENCE) == set(STATES) - {"unknown"}


def test_its_links_lead_somewhere():
    headings = re.findall(r"^#+ (.+)$", TEXT, flags=re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    links = re.findall(r"\]\(#([^)]+)\)", TEXT)
    assert links
    assert set(links) <= anchors
    assert all((PAGE.parent / name).exists() for name in re.findall(r"\]\(([\w./-]+)\)", TEXT))
