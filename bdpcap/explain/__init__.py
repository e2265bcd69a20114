"""Why these numbers, and what to change.

Nothing is imported here, so that the calculator starts without what the findings need.
"""
