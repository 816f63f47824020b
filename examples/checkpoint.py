"""Checkpoints of the examples that train: a kill at any moment leaves a whole one; why one cannot be used is said."""

import argparse
from pathlib import Path
from typing import Any, Protocol


class InputError(Exception):
    """What the user gave cannot be used; the message says why."""


class Run(Protocol):
    """A training that is kept in a checkpoint."""

    lib: Any
    options: argparse.Namespace
    settings: dict[str, Any]
    generator: Any
    losses: list[float]

    def parts(self) -> dict[str, Any]:
        """What has a state_dict()."""


def save(run: Run, **own: Any) -> None:
    """own: what else the checkpoint has than what those of all examples have."""
    state = {"settings": run.settings} | {name: part.state_dict() for name, part in run.parts().items()}
    state |= {"generator": run.generator.get_state(), "losses": run.losses}
    write(run.lib, state | own, run.options.checkpoint)


def restore(run: Run, own: set[str], trained_on: dict[str, str] | None = None) -> dict[str, Any] | None:
    """The state in the checkpoint, if there is one; what is the example's own is left to the caller.

    trained_on: settings that stand for data, and what data of another value are called.
    """
    path = run.options.checkpoint
    if not path.exists():
        return None
    parts = run.parts()
    state = read(run.lib, path, {"settings", "generator", "losses"} | parts.keys() | own)
    for name, words in (trained_on or {}).items():
        if state["settings"].get(name) != run.settings[name]:
            raise InputError(f"{path} was trained on {words}; give another --checkpoint")
    check_settings(path, state["settings"], run.settings)
    for name, part in parts.items():
        part.load_state_dict(state[name])
    run.generator.set_state(state["generator"])
    run.losses = state["losses"]
    print(f"goes on from {path}, after {len(run.losses)} steps", flush=True)
    return state


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
