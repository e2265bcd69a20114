"""Comparison of several captures, and the settings that no capture shows."""
