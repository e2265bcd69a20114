"""The report: one HTML file, the same verdict as text, the same as JSON, and all of it in one archive."""

from bdpcap.report.bundle import write_bundle
from bdpcap.report.document import document
from bdpcap.report.page import write_html
from bdpcap.report.text import text

__all__ = ["document", "text", "write_bundle", "write_html"]
