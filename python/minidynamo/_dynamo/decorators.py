"""Functions with which a program controls capture from inside its own code.

Capture recognises these functions by identity; uncompiled calls run the code here.
"""

from __future__ import annotations

import functools
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType

from .. import _C
from .._C import PolicyFunction
from .._C import _exchange_error_on_graph_break as _exchange
from .._missing_names import explain_missing as _explain_missing
from ._overload import overload
from .module_wrapper import changed_module, is_module
from .traced_calls import trace_nonstrict, trace_opaque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ParamSpec, Self, TypeVar

    _Function = TypeVar("_Function", bound=Callable[..., Any])
    _P = ParamSpec("_P")
    _R = TypeVar("_R")
    _T = TypeVar("_T")

    # Its name, and the compiled function that owns the forced backend.
    _Stance = tuple[str, _C.CompiledFunction | None]


def graph_break(msg: str = "") -> None:
    """Ends the captured region here; does nothing in uncompiled Python. The message is shown in the record."""


class error_on_graph_break:
    """Makes graph breaks errors, or allows them again, for a block or for each call of a function.

    As a decorator of a class it applies to every function written in the class body, and returns the same class.
    compile(fullgraph=True) takes precedence. The setting belongs to the thread.
    """

    def __init__(self, error_on_graph_break: bool) -> None:
        if error_on_graph_break is not True and error_on_graph_break is not False:
            raise TypeError(f"error_on_graph_break() takes a bool, not {type(error_on_graph_break).__name__}")
        self._value = error_on_graph_break
        self._previous: list[bool] = []

    def __enter__(self) -> None:
        self._previous.append(_exchange(self._value))

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        _exchange(self._previous.pop())

    def __call__(self, function: _T) -> _T:
        return _decorate(function, error_on_graph_break=self._value)


@overload
def disable(fn: None = None, recursive: bool = True, *, reason: str | None = None) -> Callable[[_T], _T]: ...
@overload
def disable(fn: _T, recursive: bool = True, *, reason: str | None = None) -> _T: ...
def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Excludes a function from capture, with all that it calls, or with recursive=False only its own frame.

    disable(function), @disable and @disable(reason="...") are the forms. A class is treated as by error_on_graph_break.
    """
    if not isinstance(recursive, bool):
        raise TypeError(f"disable(): recursive must be a bool, not {type(recursive).__name__}")
    if reason is not None and not isinstance(reason, str):
        raise TypeError(f"disable(): reason must be a str, not {type(reason).__name__}")
    if fn is None:
        return lambda function: disable(function, recursive, reason=reason)
    return _decorate(fn, disable=True, recursive=recursive, reason=reason)


def skip_frame(msg: str = "") -> None:
    """Excludes the calling function as a whole from capture; does nothing in uncompiled Python."""


def step_unsupported(msg: str = "") -> None:
    """Ends the captured region here and runs the rest of the function uncaptured; does nothing in uncompiled Python."""


@overload
def allow_in_graph(fn: list[_Function] | tuple[_Function, ...]) -> list[_Function]: ...
@overload
def allow_in_graph(fn: _Function) -> _Function: ...
def allow_in_graph(fn: Any) -> Any:
    """Puts calls of a function into the graph as one opaque node; accepts a list of functions too.

    The function is run once on tensors without data while capturing, and computes its result from its arguments alone.
    For an operation that was passed to disallow_in_graph, undoes that. Returns its argument.
    """
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(each) for each in fn]
    _require_callable("allow_in_graph", fn)
    if _C._call_mark(fn) == _DISALLOWED:
        _C._unmark_call(fn)
    elif not _is_operation(fn):
        _C._mark_call(fn, "traced", functools.partial(_trace_opaque, fn))
    return fn


@overload
def disallow_in_graph(fn: list[_Function] | tuple[_Function, ...]) -> list[_Function]: ...
@overload
def disallow_in_graph(fn: _Function) -> _Function: ...
def disallow_in_graph(fn: Any) -> Any:
    """Breaks the graph at each call of an operation, such as minidynamo.sub; accepts a list too. Returns its argument.

    For functions use disable(). The mark is global until allow_in_graph() removes it.
    """
    if isinstance(fn, (list, tuple)):
        return [disallow_in_graph(each) for each in fn]
    _require_callable("disallow_in_graph", fn)
    if not _is_operation(fn) and _C._call_mark(fn) == -1:
        raise RuntimeError(
            "disallow_in_graph is expected to be used on an already allowed callable (an operation, a custom "
            f"operator or a function under allow_in_graph), not on {fn!r}; for a function there is compiler.disable"
        )
    _C._mark_call(fn, "disallowed")
    return fn


@overload
def forbid_in_graph(fn: list[_Function] | tuple[_Function, ...]) -> list[_Function]: ...
@overload
def forbid_in_graph(fn: _Function) -> _Function: ...
def forbid_in_graph(fn: Any) -> Any:
    """Makes a call of the function during capture an AssertionError, in every mode; accepts a list too."""
    if isinstance(fn, (list, tuple)):
        return [forbid_in_graph(each) for each in fn]
    _require_callable("forbid_in_graph", fn)
    _C._mark_call(fn, "forbidden")
    return fn


def assume_constant_result(fn: _Function) -> _Function:
    """Calls the function while capturing, and uses its result in every later call of the captured code."""
    _require_callable("assume_constant_result", fn)
    _C._mark_call(fn, "constant")
    return fn


def nonstrict_trace(traceable_fn: Callable[_P, _R]) -> Callable[_P, _R]:
    """Captures calls of a function by running it once: its tensor operations go into the graph.

    Arguments and results are tensors, numbers, strings, and lists, tuples and dicts of them. Whatever else it does is
    done while capturing only; other tensors that it uses are constants.
    """
    _require_callable("nonstrict_trace", traceable_fn)

    @functools.wraps(traceable_fn)
    def traced(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        return traceable_fn(*args, **kwargs)

    _C._mark_new_call(traced, "traced", functools.partial(_trace_nonstrict, traceable_fn))
    return traced


def substitute_in_graph(
    original_fn: Callable[..., Any], *, can_constant_fold_through: bool = False, skip_signature_check: bool = False
) -> Callable[[_Function], _Function]:
    """Decorates a Python function that capture traces in place of one that is not written in Python.

    Raises TypeError for a different signature, ValueError if there is a replacement already.
    """
    if not callable(original_fn):
        raise TypeError(f"substitute_in_graph() expects a function, not {type(original_fn).__name__}")
    if original_fn in _SUBSTITUTED:
        raise ValueError(f"Duplicate dispatch rule for {original_fn!r}: it has a replacement already")

    def decorate(traceable_fn: _Function) -> _Function:
        if not isinstance(traceable_fn, FunctionType):
            raise TypeError(f"substitute_in_graph() expects a function, not {type(traceable_fn).__name__}")
        if not skip_signature_check:
            _compare_signatures(original_fn, traceable_fn)
        _C._mark_call(original_fn, "replaced", traceable_fn)
        _SUBSTITUTED[original_fn] = traceable_fn
        return traceable_fn

    return decorate


@overload
def run(fn: None = None) -> _TemporaryStance: ...
@overload
def run(fn: Callable[_P, _R]) -> Callable[_P, _R]: ...
def run(fn: Any = None) -> Any:
    """Uses existing captures and makes no new ones, in calls of the function, or in a block if fn is omitted."""
    if fn is None:
        return _TemporaryStance(("eager_on_recompile", None))
    _require_callable("run", fn)

    @functools.wraps(fn)
    def running(*args: Any, **kwargs: Any) -> Any:
        with _TemporaryStance(("eager_on_recompile", None)):
            return fn(*args, **kwargs)

    return running


class _TemporaryStance:
    def __init__(self, stance: _Stance, previous: _Stance | None = None) -> None:
        self._stance = stance
        self._previous = previous  # what it restores; None: the state at entry

    def __enter__(self) -> Self:
        previous = _exchange_stance(self._stance)
        if self._previous is None:
            self._previous = previous
        return self

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        _exchange_stance(self._previous)  # type: ignore[arg-type]  # set by __enter__


class set_stance(_TemporaryStance):
    """Sets what happens if no capture fits, process-wide: a call, a context manager or a decorator.

    default             capture
    force_eager         compiled functions run eagerly
    eager_on_recompile  existing captures are used, other calls run eagerly
    fail_on_recompile   existing captures are used, other calls raise RuntimeError
    eager_then_compile  the first call runs eagerly, later ones are captured (also aot_eager_then_compile)

    force_backend, a name or a callable, replaces the backend of every compiled function; with the stance default only.
    Raises ValueError for any other name, RuntimeError within a compiled function (AssertionError where it is captured),
    but not within disabled parts of it. skip_guard_eval_unsafe is accepted without effect: guards are always checked.
    """

    _previous: _Stance

    def __init__(
        self,
        stance: str = "default",
        *,
        skip_guard_eval_unsafe: bool = False,
        force_backend: str | Callable[..., Any] | None = None,
    ) -> None:
        if force_backend is not None and stance != "default":
            raise RuntimeError(f"set_stance(): force_backend goes with the stance 'default', not with {stance!r}")
        _refuse_in_compiled_code()
        super().__init__((stance, _forced(force_backend)))
        self._previous = _exchange_stance(self._stance)

    def __enter__(self) -> Self:
        _refuse_in_compiled_code()
        return super().__enter__()

    def __call__(self, function: Callable[_P, _R]) -> Callable[_P, _R]:
        _require_callable("set_stance", function)
        # As a decorator it only applies to the function.
        _exchange_stance(self._previous)
        stance = self._stance

        @functools.wraps(function)
        def with_stance(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            _refuse_in_compiled_code()
            with _TemporaryStance(stance):
                return function(*args, **kwargs)

        return forbid_in_graph(with_stance)


def _refuse_in_compiled_code() -> None:
    if _C._is_in_compiled_code():
        raise RuntimeError("attempted to set_stance in a minidynamo.compile region")


def _exchange_stance(stance: _Stance) -> _Stance:
    name, handle = stance
    previous = _C._exchange_stance(name)  # which may reject the name
    return previous, _C._exchange_forced_backend(handle)


def _forced(backend: str | Callable[..., Any] | None) -> _C.CompiledFunction | None:
    """Owner of a backend that is forced upon all compiled functions: a compiled function."""
    if backend is None:
        return None
    from ._compile import compile

    handle = compile(_nothing, backend=backend)
    return handle if isinstance(handle, _C.CompiledFunction) else None


def _nothing() -> None:
    pass


_DISALLOWED = 0
_SUBSTITUTED: dict[object, object] = {}


def _trace_opaque(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    return trace_opaque(function, *args, **kwargs)


def _trace_nonstrict(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    return trace_nonstrict(function, *args, **kwargs)


def _require_callable(what: str, function: object) -> None:
    if not callable(function):
        raise AssertionError(f"{what}() expects a callable, not {type(function).__name__}")


def _is_operation(function: object) -> bool:
    return isinstance(function, (BuiltinFunctionType, MethodDescriptorType)) and (
        getattr(function, "__module__", None) in ("minidynamo", "minidynamo._C", "minidynamo.nn.functional")
        or getattr(function, "__objclass__", None) is _C.Tensor
    )


def _compare_signatures(original: Callable[..., Any], traceable: Callable[..., Any]) -> None:
    import inspect

    try:
        theirs = inspect.signature(original)
    except ValueError:
        return  # a function without a text signature
    names = [list(inspect.signature(f).parameters) for f in (original, traceable)]
    if names[0] != names[1]:
        raise TypeError(
            f"Signature mismatch between {original!r} and {traceable!r}: {theirs} != {inspect.signature(traceable)}"
        )


def _decorate(function: Any, **change: Any) -> Any:
    if isinstance(function, FunctionType):
        return PolicyFunction(function, **change)
    if is_module(function):
        return changed_module(function, PolicyFunction, change)
    if isinstance(function, type):
        return _decorate_class(function, change)
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(PolicyFunction(function.__func__, **change))
    return PolicyFunction(function, **change)


def _decorate_class(cls: type, change: dict[str, Any]) -> type:
    for name, value in list(vars(cls).items()):
        if isinstance(value, property):
            accessors = (value.fget, value.fset, value.fdel)
            getter, setter, deleter = (PolicyFunction(f, **change) if f else None for f in accessors)
            changed = property(getter, setter, deleter, value.__doc__)
        elif isinstance(value, (staticmethod, classmethod)) or hasattr(value, "__code__"):
            changed = _decorate(value, **change)
        else:
            continue
        setattr(cls, name, changed)
    return cls


_explain_missing(__name__)
