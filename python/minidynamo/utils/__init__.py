"""Around the package: data, checkpoint, model_zoo, and cpp_extension, which compiles C++ functions over tensors."""

import sys

_MODULES = ("_pytree", "checkpoint", "cpp_extension", "data", "model_zoo")

__all__ = ["checkpoint", "cpp_extension", "data", "model_zoo"]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        __import__(f"{__name__}.{name}")
        return sys.modules[f"{__name__}.{name}"]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_MODULES]
