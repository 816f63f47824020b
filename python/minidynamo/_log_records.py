"""Where the log records of the extension arrive.

A record comes in the midst of a program's frame. So `logging` is not imported for it: as long as the program has not
loaded it, it has no handlers either, and the record is printed as minidynamo._logging would print it.
"""

import os
import sys
import time


def prefix_of(level, created, process, artifact):
    """When, where and of which artifact a record is; None: of none."""
    stamp = time.strftime("%m%d %H:%M:%S", time.localtime(created))
    mark = "" if artifact is None else f"[__{artifact}] "
    return f"{level}{stamp}.{int(created % 1 * 1e6):06d} {process} minidynamo] {mark}"


def emit(artifact, text):
    """A record of an artifact that is on; None is a warning."""
    loggers = _loggers()
    if loggers is not None:
        loggers.emit(artifact, text)
    else:
        _print("W" if artifact is None else "V", artifact, text)


def emit_info(_, text):
    """A step of a capture."""
    loggers = _loggers()
    if loggers is not None:
        loggers.emit_info(text)
    else:
        _print("I", None, text)


def use_logging():
    """Has records go to the loggers of `logging` from now on."""
    from . import _logging  # noqa: F401


def _loggers():
    """minidynamo._logging; None if the program has not loaded `logging`, or is loading it."""
    loaded = sys.modules.get("minidynamo._logging")
    # The last name that `logging` defines.
    if loaded is None and hasattr(sys.modules.get("logging"), "captureWarnings"):
        from . import _logging as loaded
    return loaded


def _print(level, artifact, text):
    if sys.stderr is not None:
        prefix = prefix_of(level, time.time(), os.getpid(), artifact)
        sys.stderr.write("".join(f"{prefix}{line}\n" for line in text.split("\n")))
