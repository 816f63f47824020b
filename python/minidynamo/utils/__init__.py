"""Tools around the package: cpp_extension compiles C++ functions over tensors."""

import sys

from .._missing_names import missing as _missing

__all__ = ["cpp_extension"]


def __getattr__(name: str) -> object:
    if name == "cpp_extension":
        __import__(f"{__name__}.{name}")
        return sys.modules[f"{__name__}.{name}"]
    raise _missing(__name__, name)
