"""The flags of minidynamo, as attributes of this module. The table is csrc/base/config_flags.def.

TorchDynamo's flags that have no effect here are there as well (csrc/base/inert_flags.def), with its defaults; they take
any value. Reading or writing an unknown name raises AttributeError, a value of the wrong type TypeError.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType

from .._C import (
    config_aliases,
    config_rows,
    get_config,
    inert_flag_rows,
    load_config_from_environment,
    set_config,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar
    from unittest import TestCase

    _Callable = TypeVar("_Callable", bound=Callable[..., Any])
del TYPE_CHECKING  # the name of a flag

_FLAGS = {row["name"]: row for row in config_rows()}
_ALIASES = config_aliases()
_INERT = {name: default for name, default, _ in inert_flag_rows()}
_inert_values: dict[str, object] = {}  # of those that were read or set
# Deleted flags, until they are set again: unittest.mock.patch deletes what it has set, and then sets it only if absent.
_hidden: set[str] = set()


def _set_debug(enabled: object) -> None:
    """`debug` was the first torchdynamo's switch for the logs of what is captured."""
    from .. import _logging

    if not isinstance(enabled, bool):
        raise TypeError(f"minidynamo._dynamo.config.debug must be bool, not {type(enabled).__name__}")
    _logging.set_logs(graph_breaks=enabled, graph_code=enabled, guards=enabled, recompiles=enabled)


def _get_debug() -> bool:
    from .. import _C

    return _C.log_enabled("graph_code")


def _default_of_inert(name: str) -> Any:
    return eval(_INERT[name], {"os": os, "package_folder": os.path.dirname(os.path.dirname(__file__))})


def _read(name: str) -> Any:
    name = _ALIASES.get(name, name)
    if name == "debug":
        return _get_debug()
    if name not in _INERT:
        return get_config(name)
    if name not in _inert_values:
        _inert_values[name] = _default_of_inert(name)
    return _inert_values[name]


def _write(name: str, value: Any) -> None:
    name = _ALIASES.get(name, name)
    if name == "debug":
        _set_debug(value)
    elif name in _INERT:
        _inert_values[name] = value
    else:
        set_config(name, value)


def _write_default(name: str) -> None:
    if name == "debug":
        _set_debug(False)
    elif name in _INERT:
        _inert_values.pop(name, None)
    elif name in _FLAGS:
        set_config(name, _FLAGS[name]["default"])
    elif name not in _ALIASES:
        get_config(name)  # which is the error


class ConfigPatch:
    """Sets flags for a block, for each call of a function, or for a unittest.TestCase; made by `patch`.

    An unknown flag is the AttributeError of the block or call, before anything is changed.
    """

    def __init__(self, changes: dict[str, Any]) -> None:
        self.changes = changes
        self._prior: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        prior = {name: getattr(_module, name) for name in self.changes}
        try:
            for name, value in self.changes.items():
                setattr(_module, name, value)
        except BaseException:
            _restore(prior)
            raise
        self._prior.append(prior)

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        _restore(self._prior.pop())

    def __call__(self, function: _Callable) -> _Callable:
        if isinstance(function, type) and _is_test_case(function):
            return _patched_test_case(self, function)  # type: ignore[return-value]  # a subclass
        from functools import wraps

        @wraps(function)
        def patched(*args: Any, **kwargs: Any) -> Any:
            with ConfigPatch(self.changes):
                return function(*args, **kwargs)

        return patched  # type: ignore[return-value]  # called as the function is


def _restore(prior: dict[str, Any]) -> None:
    for name, value in prior.items():
        setattr(_module, name, value)


def _is_test_case(cls: type) -> bool:
    unittest = sys.modules.get("unittest")
    return unittest is not None and issubclass(cls, unittest.TestCase)


def _patched_test_case(patch: ConfigPatch, cls: type[TestCase]) -> type[TestCase]:
    class TestCase(cls):  # type: ignore[misc, valid-type]  # whichever class was decorated
        @classmethod
        def setUpClass(cls) -> None:
            patch.__enter__()
            try:
                super().setUpClass()
            except BaseException:
                patch.__exit__(None, None, None)
                raise

        @classmethod
        def tearDownClass(cls) -> None:
            try:
                super().tearDownClass()
            finally:
                patch.__exit__(None, None, None)

    for name in ("__name__", "__qualname__", "__module__"):
        setattr(TestCase, name, getattr(cls, name))
    return TestCase


def patch(arg1: str | dict[str, Any] | None = None, arg2: Any = None, **kwargs: Any) -> ConfigPatch:
    """patch(flag=value, ...), patch("flag", value) or patch({"flag": value}): a context manager and decorator."""
    if arg1 is None:
        if arg2 is not None:
            raise AssertionError("second positional argument is only valid when first argument is a key string")
        return ConfigPatch(kwargs)
    if kwargs:
        raise AssertionError("cannot pass both positional and keyword arguments to patch")
    if arg2 is not None:
        if not isinstance(arg1, str):
            raise AssertionError("first argument must be a string when passing 2 positional args to patch")
        return ConfigPatch({arg1: arg2})
    if not isinstance(arg1, dict):
        raise AssertionError("first argument must be a dict when passing a single positional arg to patch")
    return ConfigPatch(arg1)


def get_config_copy() -> dict[str, Any]:
    """A copy of all flags as a dict, without aliases."""
    from copy import deepcopy

    return {name: deepcopy(_read(name)) for name in (*_FLAGS, *_INERT)}


def save_config() -> bytes:
    """The flags as bytes, for load_config()."""
    import pickle

    left_out = _read("_save_config_ignore")
    return pickle.dumps({name: value for name, value in get_config_copy().items() if name not in left_out}, protocol=2)


def load_config(maybe_pickled_config: bytes | dict[str, Any]) -> None:
    """Sets the flags to a result of save_config() or get_config_copy(); unknown names are ignored."""
    if not isinstance(maybe_pickled_config, dict):
        import pickle

        maybe_pickled_config = pickle.loads(maybe_pickled_config)
    for name, value in maybe_pickled_config.items():  # type: ignore[union-attr]  # a dict by now
        if name in _FLAGS or name in _INERT or name in _ALIASES:
            setattr(_module, name, value)


class _ConfigModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if name in _hidden:
            raise AttributeError(f"{self.__name__}.{name} does not exist")
        return _read(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
            return
        _write(name, value)
        _hidden.discard(name)

    def __delattr__(self, name: str) -> None:
        _write_default(name)
        _hidden.add(name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_FLAGS, *_INERT, *_ALIASES]


load_config_from_environment()
_module = sys.modules[__name__]
_module.__class__ = _ConfigModule
