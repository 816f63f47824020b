"""Runs a program as `python script.py` does, with minidynamo in torch's place."""

from __future__ import annotations

import builtins
import importlib.machinery
import io
import os
import signal
import sys
from types import ModuleType, TracebackType

from . import in_place


def run(path: str, arguments: list[str]) -> int:
    """Runs the script with sys.argv, sys.path[0], __file__ and __main__ as Python sets them; returns its exit status.

    SystemExit passes through, as of any script.
    """
    file_name = os.path.abspath(path)
    try:
        with io.open_code(file_name) as file:
            source = file.read()
    except OSError as error:
        print(
            f"{sys.executable}: can't open file {file_name!r}: [Errno {error.errno}] {error.strerror}",
            file=sys.stderr,
        )
        return 2
    in_place.install()
    main = _main_module(file_name)
    sys.argv[:] = [path, *arguments]
    if not sys.flags.safe_path:
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    try:
        exec(compile(source, file_name, "exec", dont_inherit=True), vars(main))
    except SystemExit:
        raise
    except KeyboardInterrupt as interrupt:
        _print(interrupt)
        # As Python ends: by the signal, so that the shell knows.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException as error:
        _print(error)
        return 1
    return 0


def _main_module(path: str) -> ModuleType:
    main = ModuleType("__main__")
    main.__file__ = path
    main.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
    main.__spec__ = None
    vars(main).update(__builtins__=builtins, __cached__=None, __annotations__={})
    sys.modules["__main__"] = main
    return main


def _print(error: BaseException) -> None:
    """The traceback begins with the script's own frame."""
    traceback: TracebackType | None = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    sys.excepthook(type(error), error.with_traceback(traceback), traceback)
