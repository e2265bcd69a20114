"""What a user holds: a capture that was read, and the flows in it."""

from bdpcap.capture.capture import TABLES, Capture, Table
from bdpcap.capture.flow import Flow

__all__ = ["TABLES", "Capture", "Flow", "Table"]
