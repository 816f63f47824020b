"""optimize(): the interface of compile() in the first torchdynamo."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Self

from .. import _C
from ._compile import compile
from .decorators import error_on_graph_break


class Optimize:
    """Returned by optimize(backend): decorates a function, or captures the functions called in a block.

    A backend with start() and stop(), such as utils.CompilationProfiler, has them called around each block or call.
    """

    def __init__(self, backend: str | Callable[..., Any] | None, options: dict[str, Any], errors: bool | None) -> None:
        self._backend: Any = backend  # perhaps with start() and stop()
        self._options = options
        self._errors = errors  # error_on_graph_break inside; None: as around it
        self._entered: list[list[Any]] = []

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        compiled = compile(function, backend=self._backend, **self._options)
        if self._errors is not None and not self._options["disable"]:
            compiled = error_on_graph_break(self._errors)(compiled)
        if not hasattr(self._backend, "start"):
            return compiled

        @functools.wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            _C._call_serving(self._backend.start)
            try:
                return compiled(*args, **kwargs)
            finally:
                _C._call_serving(self._backend.stop)

        return watched

    def __enter__(self) -> Self:
        if hasattr(self._backend, "start"):
            _C._call_serving(self._backend.start)
        # The handle keeps the backend alive alive, to which the block's policy refers by number.
        handle = compile(_nothing, backend=self._backend, **self._options)
        captures = isinstance(handle, _C.CompiledFunction)
        # Settings at the creation of the block's policy apply inside it.
        errors = error_on_graph_break(self._errors) if captures and self._errors is not None else None
        if errors is not None:
            errors.__enter__()
        self._entered.append([handle, _C._enter_ambient(handle) if captures else None, errors])
        return self

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        entered = self._entered.pop()
        entered[1] = None  # the end of the block
        if entered[2] is not None:
            entered[2].__exit__(None, None, None)
        if hasattr(self._backend, "stop"):
            _C._call_serving(self._backend.stop)


def _nothing() -> None:
    pass
