"""The files of a capture, read again: excerpts, comments for Wireshark, fingerprints."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Final, cast

from bdpcap import _core
from bdpcap.read import core_pass, rotation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bdpcap.read.anonymize import Pseudonyms
    from bdpcap.read.core_pass import Read
    from bdpcap.read.facts import Fingerprint

_WRITTEN: Final = 1 << 20
"""Bytes of an annotated capture that are written in one step."""


class Files:
    """The sources of a capture; those of a pipe cannot be read again."""

    def __init__(
        self,
        core: _core.Analysis,
        sources: list[Read],
        names: list[str],
        pseudonyms: Pseudonyms | None,
        *,
        kept: bool,
    ) -> None:
        """Take the sources, and the names to show for them; `kept` states that they could be read only once."""
        self._sources = sources
        self._names = names
        self._pseudonyms = pseudonyms
        self._kept = kept
        self._resolution = core_pass.resolution(core)
        self.frames: Final = [capture["frames"] for capture in core.captures()]
        """Number of frames in each of the files."""

    def needed(self) -> list[str]:
        """Return the paths or URLs of the files, which can be read again.

        Raises
        ------
        CaptureError
            The capture came from a pipe, or from bytes.
        """
        if self._kept or not core_pass.is_lasting(self._sources):
            raise _core.CaptureError("a pipe cannot be read twice: save the capture to a file first")
        if any(isinstance(source, bytes) for source in self._sources):
            raise _core.CaptureError("bytes are no file: save the capture to a file first")
        return cast("list[str]", self._sources)

    def span(self, first: int, last: int) -> str:
        """Return ``frames 12 to 40``; with several files also the file names and the frame numbers within the files."""
        return rotation.frames(first, last, self._names, self.frames)

    def excerpt(
        self,
        frames: list[tuple[int, int]],
        file: BinaryIO,
        *,
        headers_only: bool = False,
        about: str | None = None,
    ) -> None:
        """Write chosen frames to a pcapng file; with pseudonyms renamed and without payload.

        `frames` has the numbers of the frames in ascending order, each with the time to write in nanoseconds; `about`
        is the comment on all of them.
        """
        core = _core.Excerpt(
            core_pass.readable(self.needed()),
            frames,
            headers_only=headers_only or self._pseudonyms is not None,
            rename=self._pseudonyms.packed if self._pseudonyms else None,
            about=about,
            resolution=self._resolution,
        )
        more = True
        while more:
            piece, more = core.take(core_pass.COPY_STEP)
            file.write(piece)

    def annotate(self, about: str, placed: Sequence[tuple[int, str]], file: BinaryIO) -> int:
        """Write the files as pcapng with a comment on all, and comments on frames; return how many were placed."""
        core = _core.Annotated(core_pass.readable(self.needed()), about, placed)
        more = True
        while more:
            piece, more = core.take(_WRITTEN)
            file.write(piece)
        return core.written

    def fingerprints(self) -> list[Fingerprint]:
        """Read the files again; return name, size and SHA-256 of each, in the order given."""
        name = self._pseudonyms.file if self._pseudonyms else str
        return [core_pass.fingerprint(source, name) for source in self._sources]
