"""Tensor libraries besides ours, found when they are in the process; a module for each says what its functions mean."""

from __future__ import annotations

import sys

from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# By the name of the library's module: the module here that loads it.
_LIBRARIES = {
    **{"torch": "torch", "torch._dynamo": "torch_dynamo", "numpy": "numpy", "pandas": "pandas"},
    **{"numpy.fft": "numpy_host_calls.functions", "numpy.random": "numpy_host_calls.generators"},
    **dict.fromkeys(
        ("scipy.linalg", "scipy.fft", "scipy.signal", "scipy.ndimage", "scipy.integrate", "scipy.spatial.distance"),
        "numpy_host_calls.scipy",
    ),
}


def load(name: str) -> None:
    """Makes the library a family: once, when a capture, or a call of compile(), finds its module imported."""
    # minidynamo in the library's place (minidynamo.compat) is no other library.
    if sys.modules[name].__name__.partition(".")[0] == __name__.partition(".")[0]:
        return
    __import__(f"{__name__}.{_LIBRARIES[name]}")
    why = sys.modules[f"{__name__}.{_LIBRARIES[name]}"].load(sys.modules[name])
    if why:
        _C._warn(f"{name} tensors are not captured: {why}")


_module_wrappers: list[tuple[type, Callable[..., Any]]] = []


def add_module_wrapper(base: type, wrapper: Callable[..., Any]) -> None:
    """Calls of compile() and disable() for instances of `base` return wrapper(module, capture)."""
    _module_wrappers.append((base, wrapper))


def module_wrapper(target: object) -> Callable[..., Any] | None:
    """The wrapper of a library's module; None: the target is none."""
    _C._load_families()
    return next((wrapper for base, wrapper in _module_wrappers if isinstance(target, base)), None)


_C._register_call("load_families", _C._load_families)
for _name in _LIBRARIES:
    _C._add_family_loader(_name, load)
