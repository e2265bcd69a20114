"""Replace a part of a report that fails by a notice, so that the rest of the report is still written."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Made = TypeVar("Made")


def part(name: str, make: Callable[[], Made], replace: Callable[[str], Made]) -> Made:
    """
    Make a part of a report; if that fails, make a replacement with a notice.

    Parameters
    ----------
    name
        Name of the part for the notice, such as "the rtt picture of stream 3".
    make
        Makes the part.
    replace
        Makes the replacement from the notice, which is one sentence.
    """
    try:
        return make()
    except Exception as error:  # noqa: BLE001 - no defect of one part may lose the other parts
        reason = f"{type(error).__name__}: {error}".strip(": ")
        return replace(f"Left out: {name} ({reason}). This is a defect of bdpcap; please report it.")
