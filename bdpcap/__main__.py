"""The process that ``bdpcap`` and ``python -m bdpcap`` start: what is set for it as a whole."""

import gc
import os
import signal
import sys
from types import FrameType

INTERRUPTED = 130
"""As in :mod:`bdpcap.cli.exits`, which takes too long to import for who interrupts the start."""


def leave(_number: int = signal.SIGINT, _frame: FrameType | None = None) -> None:
    """End the process at once and quietly: whoever read its output was interrupted, too."""
    os._exit(INTERRUPTED)


# Where whoever started the process has it ignore interrupts, it goes on to do so.
heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
if heeded:
    signal.signal(signal.SIGINT, leave)

# Before anything imports numpy: its linear algebra is not used, and the threads for it spin while they wait.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Before typer imports pydantic, which would search every installed package for plugins.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")

# What is imported stays: to look for garbage among it takes a fifth of the start.
gc.disable()
from bdpcap import cli  # noqa: E402

gc.freeze()
gc.enable()


def main() -> int:
    """Run the command line, which tidies up after an interrupt; before and after it there is nothing to tidy up."""
    try:
        if heeded:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        code = cli.main()
    except KeyboardInterrupt:  # a second one, while the first was dealt with
        code = INTERRUPTED
    if code == INTERRUPTED:
        leave()
    if heeded:
        signal.signal(signal.SIGINT, leave)
    return code


if __name__ == "__main__":
    sys.exit(main())
