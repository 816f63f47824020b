"""The flags of minidynamo, as attributes of this module. The table is csrc/base/config_flags.def.

Reading or writing an unknown name raises AttributeError, a value of the wrong type TypeError.
"""

import sys
from types import ModuleType

from .._C import config_rows, get_config, load_config_from_environment, set_config

_FLAGS = {row["name"]: row for row in config_rows()}

# Names of TorchDynamo for the same flags. `debug` was the first one's switch for the logs of what is captured.
_ALIASES = {"cache_size_limit": "recompile_limit"}


def _named(name):
    return _ALIASES.get(name, name)


def _set_debug(enabled):
    from .. import _logging

    _logging.set_logs(graph_breaks=enabled, graph_code=enabled, guards=enabled, recompiles=enabled)


class ConfigPatch:
    """Sets flags for a block or for each call of a function; made by `patch`."""

    def __init__(self, changes):
        self._changes = {_named(name): value for name, value in changes.items()}
        for name in self._changes:
            get_config(name)
        self._saved = []

    def __enter__(self):
        saved = {name: get_config(name) for name in self._changes}
        try:
            for name, value in self._changes.items():
                set_config(name, value)
        except BaseException:
            _restore(saved)
            raise
        self._saved.append(saved)

    def __exit__(self, exc_type, exc_value, traceback):
        _restore(self._saved.pop())

    def __call__(self, function):
        from functools import wraps

        @wraps(function)
        def patched(*args, **kwargs):
            with ConfigPatch(self._changes):
                return function(*args, **kwargs)

        return patched


def _restore(saved):
    for name, value in saved.items():
        set_config(name, value)


def patch(name=None, value=None, /, **changes):
    """patch(flag=value, ...), patch("flag", value) or patch({"flag": value}): a context manager and decorator."""
    if isinstance(name, str):
        changes[name] = value
    elif isinstance(name, dict):
        changes.update(name)
    elif name is not None:
        raise TypeError(f"patch() takes a flag name or a dict, not {type(name).__name__}")
    if not changes:
        raise TypeError("patch() needs at least one flag to change")
    return ConfigPatch(changes)


class _ConfigModule(ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if name == "debug":
            from .. import _C

            return _C.log_enabled("graph_code")
        return get_config(_named(name))

    def __setattr__(self, name, value):
        if name.startswith("__"):
            super().__setattr__(name, value)
        elif name == "debug":
            if not isinstance(value, bool):
                raise TypeError(f"minidynamo._dynamo.config.debug must be bool, not {type(value).__name__}")
            _set_debug(value)
        else:
            set_config(_named(name), value)

    def __delattr__(self, name):
        raise AttributeError(f"minidynamo._dynamo.config.{name} cannot be deleted")

    def __dir__(self):
        return [*super().__dir__(), *_FLAGS]


load_config_from_environment()
sys.modules[__name__].__class__ = _ConfigModule
