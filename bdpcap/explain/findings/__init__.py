"""Findings on a flow: each module makes those of one theme."""

from bdpcap.explain.findings.finding import Certainty, Code, Finding, Findings, Weight

__all__ = ["Certainty", "Code", "Finding", "Findings", "Weight"]
