"""Receives the log records of the extension.

A record may arrive in the middle of a program's frame, so `logging` is not imported: as long as the program has not
loaded it, there are no handlers either, and the record is printed as minidynamo._logging would print it.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


def prefix_of(level: str, created: float, process: int | None, artifact: str | None) -> str:
    """Prefix with time, place and artifact of a record; None: no artifact."""
    stamp = time.strftime("%m%d %H:%M:%S", time.localtime(created))
    mark = "" if artifact is None else f"[__{artifact}] "
    return f"{level}{stamp}.{int(created % 1 * 1e6):06d} {process} minidynamo] {mark}"


def emit(artifact: str | None, text: str) -> None:
    """A record of an enabled artifact; None is a warning."""
    loggers = _loggers()
    if loggers is not None:
        loggers.emit(artifact, text)
    else:
        _print("W" if artifact is None else "V", artifact, text)


def emit_info(_: object, text: str) -> None:
    """A step of a capture."""
    loggers = _loggers()
    if loggers is not None:
        loggers.emit_info(text)
    else:
        _print("I", None, text)


def use_logging() -> None:
    """Sends records to the loggers of `logging` from now on."""
    from . import _logging  # noqa: F401


def _loggers() -> ModuleType | None:
    """minidynamo._logging; None unless the program has completely loaded `logging`."""
    loaded = sys.modules.get("minidynamo._logging")
    # The last name that `logging` defines.
    if loaded is None and hasattr(sys.modules.get("logging"), "captureWarnings"):
        from . import _logging as loaded
    return loaded


def _print(level: str, artifact: str | None, text: str) -> None:
    if sys.stderr is not None:
        prefix = prefix_of(level, time.time(), os.getpid(), artifact)
        sys.stderr.write("".join(f"{prefix}{line}\n" for line in text.split("\n")))
