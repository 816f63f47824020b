"""Names of torch that a process asked minidynamo for, and that it does not have."""

from __future__ import annotations

import importlib.util
import linecache
import sys
from types import FrameType
from typing import IO

from .. import _missing_names

# What was asked for, as torch names it -> the places that asked: "file:line: text".
_asked: dict[str, list[str]] = {}


def listen() -> None:
    """Notes each missing name from now on."""
    _missing_names.listener = _note


def note_module(name: str) -> None:
    """Notes that a module was asked for: torch.fft."""
    _add(name)


def _note(module: str, name: str) -> None:
    is_package = "__path__" in vars(sys.modules.get(module, _missing_names))
    if is_package and importlib.util.find_spec(f"{module}.{name}") is not None:
        return  # a submodule, about to be imported
    _add(f"torch{module[len(__name__.partition('.')[0]) :]}.{name}")


def _add(name: str) -> None:
    frame = _program_frame()
    if frame is None:
        return
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    # A program that asks whether a name exists goes on without it.
    if "hasattr(" in line or "getattr(" in line:
        return
    place = f"{frame.f_code.co_filename}:{frame.f_lineno}: {line}"
    places = _asked.setdefault(name, [])
    if place not in places:
        places.append(place)


def _program_frame() -> FrameType | None:
    """The innermost frame that is neither the import system's nor minidynamo's."""
    frame: FrameType | None = sys._getframe(1)
    ours = __name__.partition(".")[0]
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] not in (ours, "importlib") and not frame.f_code.co_filename.startswith("<frozen"):
            return frame
        frame = frame.f_back
    return None


def asked() -> dict[str, list[str]]:
    """The missing names, in the order of their first use, each with the lines that asked: "file:line: text"."""
    return {name: list(places) for name, places in _asked.items()}


def report(file: IO[str]) -> None:
    """Prints them with their first places, if there are any."""
    if not _asked:
        return
    lines = ["Names of torch that are not in minidynamo:"]
    for name, places in _asked.items():
        more = f" (and {len(places) - 1} more)" if len(places) > 1 else ""
        lines.append(f"  {name}{more}\n    {places[0]}")
    print("\n".join(lines), file=file, flush=True)
