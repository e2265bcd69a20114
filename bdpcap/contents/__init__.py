"""The contents of a capture: streams, paths, verdicts, events, files. `Capture` and `Flow` show it to users."""

from bdpcap.contents.contents import Contents
from bdpcap.contents.event_reader import Taker

__all__ = ["Contents", "Taker"]
