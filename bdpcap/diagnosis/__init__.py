"""The diagnosis of a flow: its limits by name, the cause of the main one, and the weight of each finding."""

from bdpcap.diagnosis.kinds import ALL, LIMIT_NAMES, MEANING, STATE_COLOURS, STATE_NAMES
from bdpcap.diagnosis.model import Cause, Limit
from bdpcap.explain.findings import Weight

__all__ = ["ALL", "LIMIT_NAMES", "MEANING", "STATE_COLOURS", "STATE_NAMES", "Cause", "Limit", "Weight"]
