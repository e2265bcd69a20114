"""Settings of a transfer that no capture shows: requested buffers, the link's rate, the path's RTT.

They are read from ``bdpcap.yaml`` or ``bdpcap.csv`` in the captures' folder. Values are written as on the command line::

    before.pcap:                capture,rcvbuf,link_rate
      rcvbuf: 50000             before.pcap,50000,25Mbit/s
      link_rate: 25Mbit/s       after.pcap,64KiB,25Mbit/s
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from bdpcap.errors import ArgumentError
from bdpcap.words import quantities

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction
    from pathlib import Path

__all__ = ["READERS", "Settings", "beside", "read"]

READERS: Final[dict[str, Callable[[str], Fraction]]] = {
    "link_rate": quantities.rate,
    "rtt": quantities.duration,
    "sndbuf": quantities.size,
    "rcvbuf": quantities.size,
}
"""Function that parses the text of each setting."""

_NAMES: Final = ("bdpcap.yaml", "bdpcap.csv")


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a transfer that are known from outside the capture; None if unknown."""

    link_rate: Fraction | None = None
    """Rate of the link in bits per second."""
    rtt: Fraction | None = None
    """RTT of the path without a queue, in seconds."""
    sndbuf: Fraction | None = None
    """Requested SO_SNDBUF in bytes."""
    rcvbuf: Fraction | None = None
    """Requested SO_RCVBUF (iperf -w) in bytes."""

    def updated(self, others: Mapping[str, Fraction | None]) -> Settings:
        """Return a copy in which the known values of `others` replace these settings."""
        known: dict[str, Any] = {name: value for name, value in others.items() if value is not None}
        return replace(self, **known)


def beside(capture: Path) -> Path | None:
    """Return the settings file in a capture's folder; None if there is none."""
    return next((path for name in _NAMES if (path := capture.parent / name).is_file()), None)


def read(path: Path) -> dict[str, Settings]:
    """
    Read a settings file.

    Returns
    -------
    Settings by file name of the capture.

    Raises
    ------
    ArgumentError
        The file cannot be parsed; the message names the file and the reason.
    ModuleNotFoundError
        The file is YAML, and the optional dependency that reads YAML is not installed.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            text = file.read()
        except UnicodeDecodeError:
            raise ArgumentError(f"{path} is not text") from None
    rows = _csv(text, path) if path.suffix.lower() == ".csv" else _yaml(text, path)
    return {name: _settings(values, f"{path}: {name}") for name, values in rows.items()}


def _csv(text: str, path: Path) -> dict[str, dict[str, Any]]:
    rows = csv.DictReader(text.splitlines(), restkey="too many cells")
    if "capture" not in (rows.fieldnames or ()):
        raise ArgumentError(f"{path} has no column 'capture' in its first line")
    try:
        return {row.pop("capture"): row for row in rows}
    except csv.Error as error:
        raise ArgumentError(f"{path}: {error}") from None


def _yaml(text: str, path: Path) -> dict[str, dict[str, Any]]:
    import yaml  # noqa: PLC0415  optional dependency

    try:
        # BaseLoader returns only strings, lists and mappings, so that 50000 is text like "25Mbit/s".
        document = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506
    except yaml.YAMLError as error:
        raise ArgumentError(f"{path} is no YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise ArgumentError(f"{path} is nested too deeply") from None
    if not isinstance(document, dict) or not all(isinstance(values, dict) for values in document.values()):
        raise ArgumentError(f"{path} must map names of captures to their settings")
    return {str(name): values for name, values in document.items()}


def _settings(values: dict[str, Any], where: str) -> Settings:
    unknown = [name for name in values if name not in READERS]
    if unknown:
        raise ArgumentError(f"{where}: no setting {unknown[0]!r}; there are {', '.join(READERS)}")
    known = {name: value for name, value in values.items() if value}
    if not all(isinstance(value, str) for value in known.values()):
        raise ArgumentError(f"{where}: a setting is one value")
    try:
        return Settings(**{name: READERS[name](value) for name, value in known.items()})
    except ValueError as error:
        raise ArgumentError(f"{where}: {error}") from None
