"""``bdpcap view``: show the linked figures of the flows in a browser."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from bdpcap.cli import opening, options, privacy
from bdpcap.cli.chosen_flow import chosen_flow

_Stream = Annotated[
    int | None,
    typer.Option(
        "--stream",
        min=0,
        metavar="N",
        help="Stream to show first, as tcp.stream in Wireshark. Default: that of the most important flow.",
        show_default=False,
    ),
]
_Port = Annotated[
    int,
    typer.Option(
        "--port",
        min=0,
        max=65_535,
        metavar="N",
        help="Port to listen on, at 127.0.0.1 alone. Default: a free one.",
        show_default=False,
    ),
]
_Browser = Annotated[
    bool,
    typer.Option(
        "--browser/--no-browser", help="Open the page in a browser. The address is printed in any case."
    ),
]


def command(
    captures: options.Captures = None,
    *,
    read: options.Read = None,
    filter_: options.Filter = None,
    jobs: options.Jobs = None,
    budget: options.Budget = None,
    stream: _Stream = None,
    port: _Port = 0,
    browser: _Browser = True,
    anonymize: options.Anonymize = False,
    anonymize_key: options.AnonymizeKey = None,
) -> int:
    """Show the figures of the flows in a browser, from the whole capture down to single segments.

    The page is served on this host alone, at an address that nobody can guess; Ctrl-C ends it. Needs the extra
    bdpcap[view].
    """
    names = privacy.pseudonyms(anonymize, anonymize_key)
    try:
        from bdpcap.view.server import serve  # noqa: PLC0415 - part of an extra, may be missing
        from bdpcap.view.viewer import Viewer  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise typer.BadParameter(f"{error.name} is missing: pip install 'bdpcap[view]'") from None
    capture = opening.capture(captures, read, filter_, names, outputs=[], jobs=jobs, budget=budget)
    viewer = Viewer(capture, chosen_flow(capture, stream))
    viewer.draw(viewer.first)
    code = opening.exit_code(capture.damages)
    try:
        serve(viewer, port=port, browser=browser, say=_say)
    except OSError as error:
        raise typer.BadParameter(f"cannot listen: {error.strerror}", param_hint="--port") from None
    return code


def _say(address: str) -> None:
    sys.stderr.write(f"view: {address} (Ctrl-C ends it)\n")
    sys.stderr.flush()
