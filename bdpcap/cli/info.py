"""``bdpcap info``: what was captured, and how far to trust it."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING

import pandas as pd
from rich.table import Table
from rich.text import Text

from bdpcap import units
from bdpcap.cli import options, output, privacy, source, terminal
from bdpcap.report import trust
from bdpcap.report.document import capture_document

if TYPE_CHECKING:
    from bdpcap.analysis import Capture


def command(
    captures: options.Captures = None,
    *,
    read: options.Read = None,
    filter_: options.Filter = None,
    format_: options.OutputFormat = None,
    output_: options.Output = None,
    anonymize: options.Anonymize = False,
    anonymize_key: options.AnonymizeKey = None,
) -> int:
    """Say what was captured, and how far to trust it.

    Format, link types, drops, what could not be decoded, where it was captured, and what is odd about it.
    """
    capture = source.capture(captures, read, filter_, privacy.pseudonyms(anonymize, anonymize_key))
    chosen = output.chosen(format_, output_)
    if chosen is options.Format.TABLE:
        with output.opened(output_) as file:
            _human(capture, file)
    elif chosen is options.Format.JSON:
        with output.opened(output_) as file:
            whole = {"schema_version": output.SCHEMA_VERSION, "capture": capture_document(capture)}
            file.write(json.dumps(whole, indent=1) + "\n")
    else:
        facts = pd.DataFrame(trust.facts(capture), columns=["name", "value"], dtype="str")
        output.write("info", [facts], chosen, output_, lambda _frames, _file: None)
    return source.exit_code(capture.damage)


def _human(capture: Capture, file: IO[str]) -> None:
    console = terminal.console(file)
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in trust.facts(capture):
        grid.add_row(name, Text(units.printable(value)))
    console.print(grid)
    caveats = trust.caveats(capture)
    console.print()
    console.print(Text("caveats" if caveats else "no caveat", style="bold"))
    for caveat in caveats:
        console.print(Text(f"  {units.printable(caveat)}"))
