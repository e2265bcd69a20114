"""``bdpcap info``: describe the capture, and how far it can be trusted."""

from __future__ import annotations

import dataclasses
import json
import textwrap
from typing import IO, TYPE_CHECKING, Any

from bdpcap.cli import opening, options, output, privacy, terminal
from bdpcap.explain import trust
from bdpcap.read.facts import CaptureInfo
from bdpcap.words import units

if TYPE_CHECKING:
    import pandas as pd

    from bdpcap.capture import Capture


def command(
    captures: options.Captures = None,
    *,
    read: options.Read = None,
    filter_: options.Filter = None,
    jobs: options.Jobs = None,
    budget: options.Budget = None,
    format_: options.OutputFormat = None,
    output_: options.Output = None,
    anonymize: options.Anonymize = False,
    anonymize_key: options.AnonymizeKey = None,
) -> int:
    """Describe the capture, and how far it can be trusted.

    Shows format, link types, drops, frames that could not be decoded, the place of capture, and caveats.
    """
    names = privacy.pseudonyms(anonymize, anonymize_key)
    chosen = output.chosen(format_, output_)
    capture = opening.capture(
        captures,
        read,
        filter_,
        names,
        outputs=[output_],
        jobs=jobs,
        budget=budget,
        summarize=True,
    )
    if chosen is options.Format.TABLE:
        with output.opened(output_) as file:
            _human(capture, file)
    elif chosen is options.Format.JSON:
        from bdpcap.tables import rows  # noqa: PLC0415 - needed for JSON only

        with output.opened(output_) as file:
            file.write(rows.text(_document(capture), indent=1))
    else:
        table = _table(capture, nested=chosen is options.Format.JSONL)
        output.write("info", [table], chosen, output_, lambda _frames, _file: None)
    return opening.exit_code(capture.damages)


def _document(capture: Capture) -> dict[str, Any]:
    from bdpcap.report.document import capture_document  # noqa: PLC0415 - the report is slow to import
    from bdpcap.tables.rows import records  # noqa: PLC0415

    return {
        "schema_version": output.SCHEMA_VERSION,
        "capture": capture_document(capture),
        "datagrams": records(capture.datagrams),
    }


def _table(capture: Capture, *, nested: bool) -> pd.DataFrame:
    """Return the JSON values of the capture as one row; if not `nested`, lists and mappings are JSON texts."""
    import pandas as pd  # noqa: PLC0415 - pandas is slow to import

    from bdpcap.report.document import capture_document  # noqa: PLC0415

    numbers = {field.name for field in dataclasses.fields(CaptureInfo) if str(field.type).startswith("int")}
    row = {
        name: value if nested or value is None or name in numbers else json.dumps(value)
        for name, value in capture_document(capture).items()
    }
    return pd.DataFrame([row]).astype(dict.fromkeys(numbers, "Int64"))


def _human(capture: Capture, file: IO[str]) -> None:
    terminal.grid([(name, units.printable(value)) for name, value in trust.facts(capture)], file)
    if capture.info.datagrams:
        from bdpcap.cli import udp  # noqa: PLC0415 - pandas is slow to import, and few captures have UDP

        udp.write(capture.datagrams, file)
    caveats = trust.caveats(capture)
    file.write(f"\n{terminal.bold('caveats' if caveats else 'no caveat', file)}\n")
    for caveat in caveats:
        lines = textwrap.wrap(
            units.printable(caveat), terminal.width(), initial_indent="  - ", subsequent_indent=" " * 4
        )
        file.writelines(f"{line}\n" for line in lines)
