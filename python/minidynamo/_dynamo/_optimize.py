"""optimize(): compile() as the first torchdynamo had it."""

import functools

from .. import _C
from .._compile import compile


class Optimize:
    """What optimize(backend) gives: decorates a function, or captures the functions that a block calls.

    A backend with start() and stop(), such as utils.CompilationProfiler, has them called around each block or call.
    """

    def __init__(self, backend, *, nopython, disable, dynamic):
        self._backend = backend
        self._options = {"fullgraph": nopython, "disable": disable, "dynamic": dynamic}
        self._entered = []

    def __call__(self, function):
        compiled = compile(function, backend=self._backend, **self._options)
        if not hasattr(self._backend, "start"):
            return compiled

        @functools.wraps(function)
        def watched(*args, **kwargs):
            self._backend.start()
            try:
                return compiled(*args, **kwargs)
            finally:
                self._backend.stop()

        return watched

    def __enter__(self):
        if hasattr(self._backend, "start"):
            self._backend.start()
        # The handle keeps the backend, which the block's policy names by a number.
        handle = compile(_nothing, backend=self._backend, **self._options)
        captures = isinstance(handle, _C.CompiledFunction)
        self._entered.append([handle, _C._enter_ambient(handle) if captures else None])
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        entered = self._entered.pop()
        entered[1] = None
        if hasattr(self._backend, "stop"):
            self._backend.stop()


def _nothing():
    pass
