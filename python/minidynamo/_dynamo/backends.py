"""The backends: functions that make a callable from a captured graph.

A backend is `backend(gm, example_inputs) -> callable`: gm is a minidynamo.fx.GraphModule, example_inputs the tensors
and numbers of the first call, and the callable takes such inputs and returns the graph's outputs as a tuple or list.
"""

from __future__ import annotations

from .._missing_names import explain_missing as _explain_missing
from ._overload import overload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    from .. import _C
    from ..fx import GraphModule

    _Function = TypeVar("_Function", bound=Callable[..., Any])


def onednn(gm: GraphModule, example_inputs: list[Any]) -> _C.Plan:
    """Lowers the graph to oneDNN primitives and fused loops: the default."""
    return gm._graph.lower()


def eager(gm: GraphModule, example_inputs: list[Any]) -> _C.Plan:
    """Runs the graph operation by operation."""
    return gm.forward


# The first two are known to the extension by name, which then runs them without Python.
_BACKENDS: dict[str, Callable[..., Any]] = {"onednn": onednn, "eager": eager}

# torch's names of similar backends. Not listed; a backend registered under such a name takes precedence.
_TORCH_NAMES = {"inductor": "onednn", "aot_eager": "eager", "aot_eager_decomp_partition": "eager"}


def known_name(backend: str | Callable[..., Any]) -> str | Callable[..., Any]:
    """The name under which a backend is registered; a callable, or an unknown name, is returned unchanged."""
    if isinstance(backend, str) and backend not in _BACKENDS:
        return _TORCH_NAMES.get(backend, backend)
    return backend


_TAGS: dict[str, tuple[str, ...]] = {}


def list_backends(exclude_tags: Iterable[str] | None = ("debug", "experimental")) -> list[str]:
    """The names that compile(backend=...) takes, sorted, without those registered with one of the tags; None: all."""
    return sorted(name for name in _BACKENDS if not set(_TAGS.get(name, ())) & set(exclude_tags or ()))


@overload
def register_backend(compiler_fn: _Function, name: str | None = None, tags: Iterable[str] = ()) -> _Function: ...
@overload
def register_backend(
    compiler_fn: None = None, name: str | None = None, tags: Iterable[str] = ()
) -> Callable[[_Function], _Function]: ...
def register_backend(compiler_fn: Any = None, name: str | None = None, tags: Iterable[str] = ()) -> Any:
    """Registers a backend under a name, by default its own; also a decorator, with or without arguments."""
    if compiler_fn is None:
        return lambda function: register_backend(function, name, tags)
    if not callable(compiler_fn):
        raise TypeError(f"a backend must be callable, not {type(compiler_fn).__name__}")
    name = name or getattr(compiler_fn, "__name__", None)
    if not isinstance(name, str):
        raise TypeError("register_backend() needs a name for a backend that has none of its own")
    if _BACKENDS.get(name, compiler_fn) is not compiler_fn:
        raise ValueError(f"there is already a backend named {name!r}")
    _BACKENDS[name] = compiler_fn
    _TAGS[name] = tuple(tags)
    return compiler_fn


_default: str | Callable[..., Any] = "onednn"


def set_default_backend(backend: str | Callable[..., Any]) -> None:
    """Sets the backend of functions that are compiled from here on without one: a name or a callable."""
    global _default
    lookup_backend(backend)
    _default = backend


def get_default_backend() -> str | Callable[..., Any]:
    """The argument of the last set_default_backend(); "onednn" initially."""
    return _default


def lookup_backend(compiler_fn: str | Callable[..., Any]) -> Callable[..., Any]:
    """The backend of that name; a callable is returned unchanged. Raises InvalidBackend."""
    if isinstance(compiler_fn, str):
        from .exc import InvalidBackend

        backend = _BACKENDS.get(known_name(compiler_fn))  # type: ignore[arg-type]  # a name again
        if backend is None:
            raise InvalidBackend(compiler_fn)
        return backend
    if not callable(compiler_fn):
        raise TypeError(f"a backend must be a name or a callable, not {type(compiler_fn).__name__}")
    return compiler_fn


_explain_missing(__name__)
