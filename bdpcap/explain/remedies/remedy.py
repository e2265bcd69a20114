"""Advice with the commands that carry it out, and guards under which no command lowers a value."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Remedy", "guarded", "joined", "raised", "third_raised"]


@dataclass(frozen=True, slots=True)
class Remedy:
    """Advice, and the commands that carry it out."""

    words: str
    commands: tuple[str, ...] = ()


def joined(*remedies: Remedy) -> Remedy:
    """Return several pieces of advice as one, in their order; a command that occurs twice is given once."""
    words = " ".join(one.words for one in remedies if one.words)
    return Remedy(words, tuple(dict.fromkeys(command for one in remedies for command in one.commands)))


def guarded(read: str, value: int, write: str, comment: str) -> str:
    """Return a shell line that runs `write` only if the number that `read` prints is smaller."""
    return f"[ $({read}) -ge {value} ] || {write}   # {comment}"


def raised(name: str, value: int, comment: str, *, write: str = " -w") -> str:
    """Return a shell line that sets a sysctl only if its value is smaller; BSD's sysctl needs no option to write."""
    return guarded(f"sysctl -n {name}", value, f"sysctl{write} {name}={value}", comment)


def third_raised(name: str, value: int, end: str) -> str:
    """Return a shell line that raises the third value of a sysctl if it is smaller, and keeps the first two."""
    line = f'set -- $(sysctl -n {name}); [ $3 -ge {value} ] || sysctl -w {name}="$1 $2 {value}"'
    return f"{line}   # {end}: raises the third value only if it is smaller"
