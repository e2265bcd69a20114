"""Captures set side by side."""
