"""``--anonymize``: make pseudonyms from the options and a key."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import typer

from bdpcap.read.anonymize import KEY_BYTES, Pseudonyms

if TYPE_CHECKING:
    from pathlib import Path

KEY_VARIABLE: Final = "BDPCAP_ANONYMIZE_KEY"


def pseudonyms(wanted: bool, key_file: Path | None) -> Pseudonyms | None:
    """Return pseudonyms, None if not wanted; the key is from the file, else from the environment, else none is used."""
    if key_file is None and not wanted:
        return None
    if key_file is not None:
        key, origin = _key(key_file.read_bytes()), "--anonymize-key"
    elif KEY_VARIABLE in os.environ:
        key, origin = _key(os.environ[KEY_VARIABLE].encode(errors="surrogateescape")), KEY_VARIABLE
    else:
        return Pseudonyms()
    if key is None:
        raise typer.BadParameter(
            f"a key is {KEY_BYTES} bytes, or {2 * KEY_BYTES} hexadecimal digits: head -c {KEY_BYTES} /dev/urandom > FILE",
            param_hint=origin,
        )
    try:
        return Pseudonyms(key)
    except ModuleNotFoundError:
        raise typer.BadParameter(
            "a key needs the extra: pip install 'bdpcap[anonymize]'", param_hint=origin
        ) from None


def _key(held: bytes) -> bytes | None:
    """Return a key given as bytes or as hexadecimal digits; None, without a reason, if it is neither."""
    if len(held) == KEY_BYTES:
        return held
    try:
        key = bytes.fromhex(held.decode("ascii"))
    except ValueError:
        return None
    return key if len(key) == KEY_BYTES else None
