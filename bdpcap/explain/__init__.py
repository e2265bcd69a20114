"""Why these numbers, and what to change."""

from bdpcap.explain.findings import Finding, findings

__all__ = ["Finding", "findings"]
