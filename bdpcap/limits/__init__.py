"""The limit of the sender in each round: evidence, rules over the evidence, and the decision."""

from bdpcap.limits.classify import HIDDEN, Classification
from bdpcap.limits.decision import IDLE, KINDS, LIMITS, STATES

__all__ = ["HIDDEN", "IDLE", "KINDS", "LIMITS", "STATES", "Classification"]
