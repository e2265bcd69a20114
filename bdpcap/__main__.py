"""The process that ``bdpcap`` and ``python -m bdpcap`` start: what is set for it as a whole."""

import gc
import os
import sys

# Before anything imports numpy: its linear algebra is not used, and the threads for it spin while they wait.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Before typer imports pydantic, which would search every installed package for plugins.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")

# What is imported stays: to look for garbage among it takes a fifth of the start.
gc.disable()
from bdpcap.cli import main  # noqa: E402

gc.freeze()
gc.enable()

if __name__ == "__main__":
    sys.exit(main())
