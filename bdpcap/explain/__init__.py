"""Findings that explain a flow's numbers and name the settings to change; and the BDP calculator.

This package imports nothing itself, so that the calculator starts without the modules that findings need.
"""
