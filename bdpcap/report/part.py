"""A part of a report that fails is left out and said: the rest of the report still stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Made = TypeVar("Made")


def part(name: str, make: Callable[[], Made], said: Callable[[str], Made]) -> Made:
    """
    Make a part of a report.

    Parameters
    ----------
    name
        What is missing if it fails: "the rtt picture of stream 3".
    make
        Makes it.
    said
        Makes what stands in its place, of a sentence.
    """
    try:
        return make()
    except Exception as error:  # noqa: BLE001  a defect of one part, whatever it is, does not take the others along
        reason = f"{type(error).__name__}: {error}".strip(": ")
        return said(f"Left out: {name} ({reason}). This is a defect of bdpcap; please report it.")
