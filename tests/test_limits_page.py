"""The pages on limits show what the rules are."""

import pytest
from limits_page import DOCS, MARKED, SECTIONS, marked, pages, with_declarations

from bdpcap.limits import STATES
from bdpcap.limits.rules import PRECEDENCE, RULES, kernel

TEXTS = {path: path.read_text(encoding="utf-8") for path in marked()}


def test_making_them_anew_reaches_every_section():
    assert {name for text in TEXTS.values() for name, _ in MARKED.findall(text)} == set(SECTIONS)
    for text in TEXTS.values():
        assert with_declarations(MARKED.sub(r"\1\2", text)) == text


@pytest.mark.parametrize("rule", [*RULES, *kernel.RULES], ids=lambda rule: rule.id)
def test_every_rule_has_its_page_and_its_limit_leads_there(rule):
    home = "account" if rule in kernel.RULES else rule.limit
    assert pages()[f"rules/{rule.id}.md"].startswith(f"# Rule {rule.id}\n")
    assert f"](../rules/{rule.id}.md)" in pages()[f"limits/{home}.md"]


def test_no_page_of_a_former_rule_is_left():
    assert {path.stem for path in (DOCS / "rules").glob("*.md")} == {
        rule.id for rule in (*RULES, *kernel.RULES)
    }


def test_every_limit_that_a_rule_claims_has_a_place_in_the_precedence():
    assert {rule.limit for rule in RULES} == set(PRECEDENCE) == set(STATES) - {"unknown"}
