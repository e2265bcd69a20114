"""What limited the sender in each round: one rule set a file, weighed in `verdict`."""

from bdpcap.limits.judging import Judgement
from bdpcap.limits.verdict import LIMITS

__all__ = ["LIMITS", "Judgement"]
