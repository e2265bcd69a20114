"""Entry point of ``bdpcap`` and ``python -m bdpcap``, with settings of the whole process."""

import gc
import os
import signal
import sys
from types import FrameType

INTERRUPTED = 130
"""Exit code after an interrupt. :mod:`bdpcap.cli.exits` has it, too, but is too slow to import at the start."""
NEW_OBJECTS = 100_000
"""New objects after which garbage is collected, a choice: a large report makes as many a few times, a small one never."""


def leave(_number: int = signal.SIGINT, _frame: FrameType | None = None) -> None:
    """End the process at once without a message: the interrupt also ended the programs that read its output."""
    os._exit(INTERRUPTED)


# If the parent process made this process ignore interrupts, they stay ignored.
interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler
if interruptible:
    signal.signal(signal.SIGINT, leave)

# Set before numpy is imported: the threads of its linear algebra, which bdpcap does not use, spin while they wait.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Set before typer imports pydantic, which would search every installed package for plugins.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")

# With the usual 700, garbage would be looked for hundreds of times, mostly among what modules keep.
gc.set_threshold(NEW_OBJECTS)

from bdpcap import cli  # noqa: E402


def main() -> int:
    """Run the command line and return its exit code.

    The command line cleans up after an interrupt. Before and after it there is nothing to clean up, so an interrupt
    ends the process.
    """
    try:
        if interruptible:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        code = cli.main()
    except KeyboardInterrupt:  # a second interrupt, during the clean-up after the first
        code = INTERRUPTED
    if code == INTERRUPTED:
        leave()
    if interruptible:
        signal.signal(signal.SIGINT, leave)
    gc.freeze()  # The end of the process frees all: to look for garbage among it takes a fifth of a short run.
    return code


if __name__ == "__main__":
    sys.exit(main())
