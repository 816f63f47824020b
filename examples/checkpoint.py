"""Checkpoints of the examples that train: a kill at any moment leaves a whole one; why one cannot be used is said."""

from pathlib import Path
from typing import Any


class InputError(Exception):
    """What the user gave cannot be used; the message says why."""


def write(lib: Any, state: dict[str, Any], path: Path) -> None:
    """Beside the file, in whose place it is then put."""
    fresh = path.with_name(path.name + ".new")
    lib.save(state, fresh)
    fresh.replace(path)


def read(lib: Any, path: Path, names: set[str]) -> dict[str, Any]:
    """names: what a checkpoint of this example has."""
    try:
        state = lib.load(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except Exception:  # a class for each way to be broken, and torch has others than minidynamo
        raise InputError(f"{path} is no checkpoint") from None
    if not isinstance(state, dict) or not names <= state.keys():
        raise InputError(f"{path} is no checkpoint of this example")
    return state


def make_folder(path: Path) -> None:
    """The one that the checkpoint is written into."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path.parent}: {error.strerror}") from None


def check_settings(path: Path, saved: dict[str, Any], settings: dict[str, Any]) -> None:
    """What a run's losses depend on: a checkpoint goes on with the same ones only."""
    for name, value in settings.items():
        if saved.get(name) != value:
            raise InputError(f"{path} was made with --{name} {saved.get(name)}, not {value}")
