"""Tools around the package: cpp_extension compiles C++ functions over tensors."""

import sys

__all__ = ["cpp_extension"]


def __getattr__(name: str) -> object:
    if name == "cpp_extension":
        __import__(f"{__name__}.{name}")
        return sys.modules[f"{__name__}.{name}"]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
