"""Write the manual page bdpcap(1) from the declarations that ``--help`` prints, as ``command_line_page`` does."""

import re
from pathlib import Path

from typer.main import get_command

import bdpcap
from bdpcap.cli import application, exits, options
from bdpcap.cli.commands import COMMANDS, loaded

PAGE = Path(__file__).parents[1] / "packaging" / "data" / "share" / "man" / "man1" / "bdpcap.1"

ENVIRONMENT = {
    "BDPCAP_ANONYMIZE_KEY": "The key of --anonymize, as 64 hexadecimal digits; see --anonymize-key.",
    "BDPCAP_DEBUG": "If set, an internal error shows its traceback.",
    "COLUMNS": "Width of tables, instead of the terminal's width.",
    "NO_COLOR": "If set, output has no colours.",
}

EXAMPLES = {
    "bdpcap trace.pcap": "Print the verdict as text.",
    "bdpcap report trace.pcap": "Write the verdict as a page with figures, report.html.",
    "bdpcap flows trace.pcap --sort throughput --top 5": "List the five fastest flows.",
    "bdpcap rtts trace.pcap --stream 3 -o rtts.csv": "Write every round trip of a stream, with limit and evidence.",
    "tcpdump -r trace.pcap -w - | bdpcap info -": "Describe a capture that is read from a pipe.",
}


def page():
    """Return the manual page in the macros of man(7)."""
    root = get_command(application())
    context = root.make_context("bdpcap", [], resilient_parsing=True)
    return "\n".join(
        [
            '.\\" Made from the declarations of the command line by tests/man_page.py.',
            f'.TH BDPCAP 1 "" "bdpcap {bdpcap.__version__}" "User Commands"',
            ".SH NAME",
            rf"bdpcap \- {_text('what kept a TCP sender from sending more')}",
            ".SH SYNOPSIS",
            r".B bdpcap",
            r".I CAPTURE",
            ".br",
            r".B bdpcap",
            r".I COMMAND",
            r".RI [ OPTION ...] \ [ CAPTURE ...]",
            ".SH DESCRIPTION",
            *_paragraphs(root.help),
            ".PP",
            _text(options.CAPTURES),
            ".SH OPTIONS",
            *_options(root, context),
            ".SH COMMANDS",
            *(line for name in COMMANDS for line in _command(name, context)),
            ".SH EXIT STATUS",
            *(
                line
                for code, meaning in exits.MEANINGS.items()
                for line in (".TP", f".B {code}", _text(meaning))
            ),
            ".SH ENVIRONMENT",
            *(line for name, said in ENVIRONMENT.items() for line in (".TP", f".B {name}", _text(said))),
            ".SH EXAMPLES",
            *(
                line
                for typed, said in EXAMPLES.items()
                for line in (".TP", f".B {_text(typed)}", _text(said))
            ),
            ".SH SEE ALSO",
            ".BR tcpdump (8),",
            ".BR pcap-filter (7),",
            ".BR tc (8)",
            "",
        ]
    )


def _command(name, parent):
    command = loaded(name)
    context = command.make_context(name, [], parent=parent, resilient_parsing=True)
    yield f".SS {name}"
    yield from _paragraphs(command.help)
    yield from _options(command, context)
    if command.epilog != options.CAPTURES:
        yield from (".PP", _text(command.epilog))


def _options(command, context):
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            names, said = record
            yield from (".TP", f".B {_text(names)}", _text(said))


def _paragraphs(text):
    for number, paragraph in enumerate(text.split("\n\n")):
        if number:
            yield ".PP"
        yield _text(paragraph)


def _text(words):
    """Escape what roff would take for its own; one line of running text."""
    line = re.sub(r"\s+", " ", words).strip()
    for plain, escaped in (
        ("\\", r"\e"),
        ("-", r"\-"),
        ("`", r"\(ga"),
        ("'", r"\(aq"),
        ("^", r"\(ha"),
        ("~", r"\(ti"),
    ):
        line = line.replace(plain, escaped)
    return line
