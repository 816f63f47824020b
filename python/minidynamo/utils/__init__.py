"""Around the package: data, checkpoint, model_zoo, and cpp_extension, which compiles C++ functions over tensors."""

import sys

from .._missing_names import missing as _missing

_MODULES = ("_pytree", "checkpoint", "cpp_extension", "data", "hooks", "model_zoo")

__all__ = ["checkpoint", "cpp_extension", "data", "hooks", "model_zoo"]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        __import__(f"{__name__}.{name}")
        return sys.modules[f"{__name__}.{name}"]
    raise _missing(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
