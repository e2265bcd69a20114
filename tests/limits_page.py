"""Write the pages on limits from the declarations of bdpcap/limits: a page for each rule, and marked parts of others."""

import inspect
import re
import sys
from collections import defaultdict
from functools import cached_property
from importlib import import_module, resources
from pathlib import Path

from named_numbers import numbers

from bdpcap.limits.confidence import ACCOUNT, DISTANCES, LEAST, MANY, NEAR, OBSERVED, VANTAGES
from bdpcap.limits.decision import NO_RULE
from bdpcap.limits.evidence import CONCEPTS
from bdpcap.limits.evidence.field import Field
from bdpcap.limits.rule import Named
from bdpcap.limits.rules import DETAILS, PRECEDENCE, RULES, kernel
from bdpcap.words import units

DOCS = Path(__file__).parents[1] / "docs"
OVERVIEW = DOCS / "how-limits-are-inferred.md"
SHARED = "../limits/shared-conditions.md"
"""Where conditions with a name stand, seen from the pages of rules and limits."""
NO_JUDGES = {"classify", "stripes"}
"""Modules of `bdpcap.limits` whose numbers decide no limit."""
MARKED = re.compile(r"(?<=^<!-- generated: )(\w+)( -->\n).*?(?=^<!-- end -->$)", re.MULTILINE | re.DOTALL)


def with_declarations(page):
    """Return the page with the text between every ``<!-- generated: ... -->`` and the next end made anew."""
    return MARKED.sub(lambda found: f"{found[1]}{found[2]}\n{SECTIONS[found[1]]().strip()}\n\n", page)


def pages():
    """Return the content of every page that is generated as a whole, by its path below docs/."""
    made = {f"rules/{rule.id}.md": _rule(rule) for rule in (*RULES, *kernel.RULES)}
    made |= {f"limits/{limit}.md": _limit(limit) for limit in PRECEDENCE}
    made["limits/account.md"] = _account()
    made["limits/shared-conditions.md"] = _shared()
    return {name: f"{content.strip()}\n" for name, content in made.items()}


def marked():
    """Return the pages that have marked parts."""
    return [OVERVIEW, *(DOCS / "limits" / f"{name}.md" for name in ("evidence", "numbers", "confidence"))]


def rules():
    """Return a table of the rules of every limit, in order of precedence."""
    own = [(limit, rule) for limit in PRECEDENCE for rule in RULES if rule.limit == limit]
    rows = [
        (f"[`{limit}`](limits/{limit}.md)", f"[`{rule.id}`](rules/{rule.id}.md)", _placeholders(rule.says))
        for limit, rule in own
    ]
    account = [
        ("[account](limits/account.md)", f"[`{rule.id}`](rules/{rule.id}.md)", _placeholders(rule.says))
        for rule in kernel.RULES
    ]
    return _table(("limit", "rule", "evidence"), rows + account)


def evidence():
    """Return every quantity with its unit and what it means, a table a concept."""
    return "\n\n".join(_concept(name, concept) for name, concept in CONCEPTS.items())


def no_rule():
    """Return what is said where no rule decides."""
    return _table(("`rule`", "what is said"), [(f"`{name}`", says) for name, says in NO_RULE.items()])


def _account():
    """Return the page of the sending kernel's account."""
    return "\n\n".join(
        ["# The sending kernel's account", _prose(inspect.getdoc(kernel)), _listing(kernel.RULES, "last")]
    )


def _shared():
    """Return the page of conditions that have a name, in the order in which rules refer to them."""
    head = ["# Shared conditions", "Rules refer to these conditions by name."]
    return "\n\n".join(
        head
        + [
            f"## {condition.name.capitalize()}\n\n{condition.means}\n\n{_listed(condition.inner)}"
            for condition in _named()
        ]
    )


def confidence():
    """Return where the table of confidence comes from, and a row a rule."""
    lines = resources.files("bdpcap.limits").joinpath("confidence.csv").read_text("utf-8").splitlines()
    origin = "\n".join(line.removeprefix("#").strip() for line in lines if line.startswith("#"))
    _, *rows = [line.split(",") for line in lines if not line.startswith("#")]
    right = defaultdict(dict)
    for place, rule, distance, value, *_ in rows:
        right[rule, place][distance] = f"{float(value):.2f}"
    names = [(rule.id, place) for rule in RULES for place in VANTAGES]
    names += [(name, place) for name in NO_RULE for place in VANTAGES]
    names = [name for name in names if name in right]
    table = _table(
        ("rule", "captured", *DISTANCES),
        [
            (f"`{name}`", place, *(right[name, place].get(distance, "") for distance in DISTANCES))
            for name, place in names
        ],
    )
    explained = (
        "The capture is at the *sender* or *away* from it. "
        "A round next to one with another limit is at an *edge*, as are the first and the last of a flow. "
        f"A round is *near* with an edge at most {units.number(NEAR, 'round')} away, else *inside*. "
        f"It is *wavering* where the limit changes {MANY} times or more within {units.number(NEAR, 'round')} on either "
        "side. "
        f"Where the table has no entry, the confidence is {LEAST:g}. Idle rounds have {OBSERVED:g}, since the packets "
        "themselves show them; labels call them `app`. "
        f"Rounds that the sending kernel's account decides have {ACCOUNT:g}."
    )
    return "\n\n".join(filter(None, [origin, explained, table if names else "Nothing is measured yet."]))


def _limit(limit):
    own = [rule for rule in RULES if rule.limit == limit]
    about = inspect.getdoc(import_module(f"bdpcap.limits.rules.{limit}"))
    parts = [f"# The limit {limit}", _prose(about), _listing(own)]
    if limit in DETAILS:
        kinds = "\n".join(_kind(*item) for item in DETAILS[limit].items())
        parts += ["## Details", "Unless the rule has a detail, the first of these counts:", kinds]
    return "\n\n".join(parts)


def _listing(own, deciding="first"):
    """Return the rules of a page as a table, in their order."""
    rows = [(f"[`{rule.id}`](../rules/{rule.id}.md)", _placeholders(rule.says)) for rule in own]
    return f"## Rules\n\nThe {deciding} rule that holds decides.\n\n{_table(('rule', 'evidence'), rows)}"


def _rule(rule):
    """Return the page of a rule."""
    home = "account" if rule in kernel.RULES else rule.limit
    parts = [
        f"# Rule {rule.id}",
        f"> {_placeholders(rule.says)}",
        f"Limit: [`{rule.limit}`](../limits/{home}.md). Quantities: [evidence](../limits/evidence.md).",
        _if("It holds", rule.holds),
    ]
    if rule.unless is not None:
        parts.append(_if("It does not hold", rule.unless))
    parts.append(f"**Why**: {rule.why}")
    if rule.source:
        parts.append(f"**Source**: {rule.source}.")
    if rule.blind:
        parts.append(f"**Where it is blind**: {rule.blind}")
    if rule.detail:
        parts.append(f"**Detail**: always `{rule.detail}`.")
    parts += [_if(f"Alternative `{other}`,", condition) for other, condition in rule.alternatives.items()]
    return "\n\n".join(parts)


def _if(what, condition):
    """Return a sentence that ends in the condition, or leads to the list of its parts."""
    first, *rest = _linked(condition.lines())
    first = first.removeprefix("- ")
    if not rest:
        return f"**{what} if** {first}."
    return f"**{what} if {first}**\n\n{_dedented(rest)}"


def _kind(kind, condition):
    if condition is None:
        return f"- `{kind}` otherwise."
    first, *rest = _linked(condition.lines())
    return "\n".join([f"- `{kind}` if {first.removeprefix('- ')}", *rest])


def _listed(condition):
    first, *rest = _linked(condition.lines())
    return f"{first.removeprefix('- ').capitalize()}\n\n{_dedented(rest)}" if rest else first


def _dedented(lines):
    return "\n".join(line.removeprefix("  ") for line in lines)


def _linked(lines):
    """Let names of conditions lead to where these stand."""
    return [
        re.sub(r"\*([^*]+)\*", lambda name: f"[{name[1]}]({SHARED}#{_anchor(name[1])})", line)
        for line in lines
    ]


def _anchor(heading):
    """Return what GitHub calls a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _named():
    """Every named condition once; what one refers to comes after it."""
    found = {}

    def walk(condition):
        if isinstance(condition, Named):
            found.setdefault(condition.name, condition)
        for part in condition.parts():
            walk(part)

    for rule in RULES:
        for condition in (rule.holds, rule.unless, *rule.alternatives.values()):
            if condition is not None:
                walk(condition)
    for kinds in DETAILS.values():
        for condition in filter(None, kinds.values()):
            walk(condition)
    return found.values()


def _concept(name, concept):
    rows = [
        (f"`{name}.{quantity}`", declared.unit, _prose(inspect.getdoc(declared.func), "<br>"))
        for quantity, declared in vars(concept).items()
        if isinstance(declared, Field)
    ]
    bases = [
        f"- `{name}.{quantity}`: {_prose(inspect.getdoc(found.func), ' ')}"
        for quantity, found in vars(concept).items()
        if isinstance(found, cached_property) and not isinstance(found, Field) and quantity[0] != "_"
    ]
    about = inspect.getdoc(sys.modules[concept.__module__])
    parts = [f"### {name}", _prose(about), _prose(inspect.getdoc(concept))]
    parts.append(_table(("quantity", "unit", "meaning"), rows))
    if bases:
        parts += ["No rule refers to these, but quantities are made of them:", "\n".join(bases)]
    return "\n\n".join(parts)


def _prose(docstring, between="\n\n"):
    """Return a docstring's paragraphs, a line each, in Markdown."""
    paragraphs = [" ".join(paragraph.split()) for paragraph in docstring.split("\n\n")]
    return between.join(paragraphs).replace("``", "`")


def _placeholders(says):
    return re.sub(r"\{([\w.]+)\}", r"`\1`", says)


def _table(head, rows):
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def numbers_():
    """Return every named number of evidence, doubts and tables: its module, value and source."""
    rows = [
        (f"`{one.name}`", f"{one.value:g}", one.means) for one in numbers() if one.module not in NO_JUDGES
    ]
    return _table(("number", "value", "meaning and source"), rows)


SECTIONS = {
    "rules": rules,
    "no_rule": no_rule,
    "confidence": confidence,
    "evidence": evidence,
    "numbers": numbers_,
}
