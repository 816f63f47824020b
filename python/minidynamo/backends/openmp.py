"""OpenMP, if the oneDNN that computes products was built with it. Other kernels have threads of their own."""

from .. import _C


def is_available() -> bool:
    return "OpenMP" in _C.build_info().get("oneDNN", "")
