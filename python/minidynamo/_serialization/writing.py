"""What save() does: the format, the file, and that an error leaves the file as it was."""

from __future__ import annotations

from . import checkpoint_writing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Collected:
    """Takes the bytes of a file until it is known that all can be written: the first storage is where that is."""

    def __init__(self, target: Any) -> None:
        self._target = target
        self._file: Any = None

    def write(self, data: bytes) -> None:
        if self._file is None:
            self._file = self._target if hasattr(self._target, "write") else open(self._target, "wb")
        self._file.write(data)

    def close(self) -> None:
        if self._file is not None and self._file is not self._target:
            self._file.close()


def write(
    obj: Any, target: Any, pickle_module: Any, protocol: int | None, as_zip: bool, without_byte_order: bool
) -> None:
    """Opens a path only when the first bytes are there, which is after all that can fail was pickled."""
    file = _Collected(target)
    try:
        if pickle_module is not None:
            file.write(pickle_module.dumps(obj, protocol=protocol))
            return
        protocol = checkpoint_writing.DEFAULT_PROTOCOL if protocol is None else protocol
        if as_zip:
            checkpoint_writing.write_zip(obj, file, protocol, not without_byte_order)
        else:
            checkpoint_writing.write_sequence(obj, file, protocol)
    finally:
        file.close()
