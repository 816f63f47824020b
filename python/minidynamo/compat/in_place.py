"""Finds the modules of torch among those of minidynamo."""

from __future__ import annotations

import atexit
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import FrameType, ModuleType
from typing import Any

from . import missing_names

_OURS = __name__.partition(".")[0]

# Modules of minidynamo by names that torch has for other things, or not at all.
_NOT_OF_TORCH = frozenset(
    {
        "_composites",
        "_families",
        "_foreach",
        "_log_records",
        "_missing_names",
        "_serialization",
        "_show_config",
        "compat",
    }
    | {"safetensors", "torchdynamo"}
)


def install() -> None:
    """Idempotent. Raises ImportError if torch itself is there."""
    ours = sys.modules[_OURS]
    present = sys.modules.get("torch")
    if present is ours:
        return
    if present is not None:
        where = getattr(present, "__file__", None) or "this process"
        raise ImportError(
            f"torch is already imported (from {where}): minidynamo cannot take its place in this process; "
            "import minidynamo.compat.torch before anything that imports torch",
            name="torch",
        )
    sys.meta_path.insert(0, _Finder())
    sys.modules["torch"] = ours
    missing_names.listen()
    atexit.register(missing_names.report, sys.stderr)
    _install_in_children()


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith("torch."):
            return None
        name = module_of(fullname)
        if name is None:
            if _is_question(sys._getframe(1)) and not _is_file_of_ours(fullname):
                return None
            missing_names.note_module(fullname)
            text = "not in minidynamo; docs/torch_names.md lists which of torch's names are"
            raise ModuleNotFoundError(f"No module named {fullname!r}: {text}", name=fullname)
        return importlib.util.spec_from_loader(fullname, _Loader(name))


def module_of(name: str) -> str | None:
    """The module that takes the place of a module of torch: torch.nn -> minidynamo.nn. None: there is none."""
    ours = _OURS + name.removeprefix("torch")
    if ours == _OURS:
        return ours
    return ours if _is_file_of_ours(name) and ours.split(".")[1] not in _NOT_OF_TORCH else None


def _is_file_of_ours(name: str) -> bool:
    try:
        return importlib.util.find_spec(_OURS + name.removeprefix("torch")) is not None
    except ModuleNotFoundError:  # of a parent
        return False


def _is_question(frame: FrameType | None) -> bool:
    """Whether importlib.util.find_spec() asked, not an import."""
    while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib._bootstrap>"):
        frame = frame.f_back
    return frame is not None and frame.f_code is importlib.util.find_spec.__code__


class _Loader(importlib.abc.Loader):
    """Gives the existing module, which keeps its own spec."""

    def __init__(self, name: str) -> None:
        self._name = name

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._name)
        self._own = {key: vars(module)[key] for key in ("__spec__", "__loader__", "__package__")}
        return module

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(self._own)


def _install_in_children() -> None:
    """Processes that are spawned import what they are given before the program's main module."""
    from multiprocessing import spawn

    prepared = spawn.get_preparation_data

    def get_preparation_data(name: str) -> dict[str, Any]:
        return {**prepared(name), "minidynamo_in_place": _InPlace()}

    spawn.get_preparation_data = get_preparation_data


class _InPlace:
    """Installs when it is unpickled."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return importlib.import_module, (f"{__package__}.torch",)
