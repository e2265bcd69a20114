"""Write docs/tables.md from the schema, docs/findings.md from codes, and docs/causes.md from the declared limits."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING

from bdpcap import tables
from bdpcap.comparing import comparison
from bdpcap.diagnosis.kinds import ALL
from bdpcap.explain.findings import Code
from bdpcap.pairing import delays, ends, losses, options, views

if TYPE_CHECKING:
    from bdpcap.diagnosis.model import Cause, Limit

DOCS = Path(__file__).parents[1] / "docs"
TABLES = {
    "flows": (tables.FLOWS, "One row for each direction of a stream that carried payload."),
    "rtts": (tables.RTTS, "One row for each round trip of a flow. Rows of a flow tile its life."),
    "events": (tables.EVENTS, "One row for each segment, as the sender saw it."),
    "connections": (tables.CONNECTIONS, "One row for each stream, with or without payload."),
    "exchanges": (tables.EXCHANGES, "One row for each request with its response."),
    "datagrams": (tables.DATAGRAMS, "One row for each UDP flow."),
    "compare": (comparison.COMPARISON, "One row for each capture that was compared."),
    "pair: streams": (ends.STREAMS, "One row for each connection that both captures of `pair` hold."),
    "pair: delays": (delays.DELAYS, "One row for each flow in both captures."),
    "pair: losses": (losses.LOSSES, "One row for what one packet lost. Times are the sender's clock's."),
    "pair: options": (
        options.OPTIONS,
        "One row for each field of a handshake segment in both captures.",
    ),
    "pair: views": (views.VIEWS, "One row for each flow in both captures."),
}


def tables_page() -> str:
    """Return the page of tables."""
    head = (
        "# Tables\n\nGenerated from `bdpcap/tables/schema.py`. Columns keep their names; new ones may come. "
        "Times are integer nanoseconds since\nthe epoch, units end the names, "
        "and sequence numbers are relative and unwrapped. Missing is "
        "null, never 0 or -1.\n`Int64` and `Float64` may be null."
    )
    return "\n\n".join([head, *(_table(name, *told) for name, told in TABLES.items())]) + "\n"


def _table(name: str, schema: dict[str, tables.Column], says: str) -> str:
    rows = [
        f"| `{column}` | {told.dtype} | {tables.unit_of(column) or ' '} | {told.meaning.replace('|', chr(92) + '|')} |"
        for column, told in schema.items()
    ]
    return "\n".join(
        [f"## {name}", "", says, "", "| column | type | unit | meaning |", "|---|---|---|---|", *rows]
    )


def findings_page() -> str:
    """Return the page of findings: every code, and when it fires."""
    said = (DOCS / "explanations.md").read_text(encoding="utf-8")
    fires = dict(re.findall(r"^## ([\w-]+)\n\n- Fires: (.*?)(?=\n- )", said, flags=re.MULTILINE | re.DOTALL))
    rows = [f"| [`{code}`](explanations.md#{code}) | {' '.join(fires[code].split())} |" for code in Code]
    head = (
        "# Findings\n\nGenerated from the codes in `bdpcap/explain/findings/finding.py`. Codes keep their names; "
        "new ones may come.\n\n| code | fires |\n|---|---|"
    )
    return "\n".join([head, *rows]) + "\n"


def causes_page() -> str:
    """Return the page of causes: every limit, and for each of its details the headline, the place and the advice."""
    head = (
        "# Causes\n\nGenerated from `bdpcap/diagnosis/kinds/`. A verdict names the limit of a flow, and begins with the "
        "headline of the detail that\nheld for the longest time. The place is where to act; the advice is given where no "
        "[finding](findings.md) has a better one.\n"
        "[How limits are inferred](how-limits-are-inferred.md) has the rules of limits and details."
    )
    return "\n\n".join([head, *map(_limit, ALL.values())]) + "\n"


def _limit(limit: Limit) -> str:
    details: dict[int, list[str]] = {}
    causes = {id(cause): cause for cause in (*limit.causes.values(), limit.usual) if cause is not None}
    for detail, cause in limit.causes.items():
        details.setdefault(id(cause), []).append(f"`{detail}`")
    rows = [_cause(details.get(key, ["any"]), cause) for key, cause in causes.items()]
    table = ["", "| detail | headline | where to act | advice |", "|---|---|---|---|", *rows] if rows else []
    return "\n".join([f"## {limit.name.capitalize()} (`{limit.code}`)", "", limit.meaning, *table])


def _cause(details: list[str], cause: Cause) -> str:
    where = (inspect.getdoc(cause.where) or "").removeprefix("Return ").rstrip(".")
    return f"| {', '.join(details)} | {cause.headline} | {where} | {cause.action} |"


PAGES = {"tables.md": tables_page, "findings.md": findings_page, "causes.md": causes_page}
