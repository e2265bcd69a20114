"""What limited the sender in each round: evidence, rules over it, and where they decide."""

from bdpcap.limits.classify import Classification
from bdpcap.limits.decision import KINDS, LIMITS

__all__ = ["KINDS", "LIMITS", "Classification"]
