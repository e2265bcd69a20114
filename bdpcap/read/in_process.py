"""Objects that stay in the process that made them."""

from __future__ import annotations

from typing import NoReturn, Self

__all__ = ["InProcess"]


class InProcess:
    """An object that does not change and rests on the core's memory: a copy is the object, and none can be pickled."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} stays in its process: send the tables of Capture.table to another one, "
            "or the path of the capture, and call bdpcap.analyze there"
        )
