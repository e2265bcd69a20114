"""The sending host's own account of its connections: what its kernel counted, beside what the capture shows."""

from bdpcap.host.account import Account, read, samples_of
from bdpcap.host.against_capture import Comparison, compare

__all__ = ["Account", "Comparison", "compare", "read", "samples_of"]
