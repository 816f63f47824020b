"""The exceptions raised by minidynamo itself.

Exceptions of user code and of operations propagate unchanged, never wrapped in one of these.
"""

from __future__ import annotations

from enum import Enum, auto

from .._missing_names import explain_missing as _explain_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from traceback import FrameSummary, StackSummary
    from typing import Any


class DynamoException(RuntimeError):
    """Base of the exceptions of capture."""


class Unsupported(DynamoException):
    """A graph break under fullgraph=True or error_on_graph_break(True).

    msg is the whole text, gb_type the title of the reason, gb_id its id in docs/graph_breaks.md, and real_stack the
    place in the user's code, the outermost compiled frame first.
    """

    def __init__(
        self,
        msg: str,
        gb_type: str | None = None,
        gb_id: str | None = None,
        frames: Iterable[tuple[str, int, str]] = (),
    ) -> None:
        super().__init__(msg)
        self.msg = msg
        self.gb_type = gb_type
        self.gb_id = gb_id
        self._frames = list(frames)

    @property
    def real_stack(self) -> StackSummary:
        from traceback import StackSummary

        return StackSummary.from_list([(file, line, function, None) for file, line, function in self._frames])

    @property
    def innermost_user_frame_summary(self) -> FrameSummary | None:
        """The last entry of real_stack; None if the place is not known."""
        stack = self.real_stack
        return stack[-1] if stack else None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.gb_type, self.gb_id, self._frames)


class UserErrorType(Enum):
    """What kind of wrong use a UserError reports."""

    DYNAMIC_CONTROL_FLOW = auto()
    ANTI_PATTERN = auto()
    STANDARD_LIBRARY = auto()
    CONSTRAINT_VIOLATION = auto()
    DYNAMIC_DIM = auto()
    INVALID_INPUT = auto()
    INVALID_OUTPUT = auto()
    UNSUPPORTED_ALIASED_MUTATED_DYNAMIC_INPUTS = auto()


class UserError(DynamoException):
    """Wrong use of minidynamo itself."""

    def __init__(self, error_type: UserErrorType, msg: str, case_name: str | None = None) -> None:
        super().__init__(msg)
        self.error_type = error_type
        self.msg = msg
        self.case_name = case_name

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.error_type, self.msg, self.case_name)


class InternalError(DynamoException):
    """A bug in minidynamo."""


class CaptureMismatch(InternalError):
    """Under config.check_captures: the result of a region differs from that of uncompiled Python.

    captured and python are the first two values that differ, graph the region's graph as text. Where Python does not
    reach the region's exit, python is the exception that it raises instead, or None.
    """

    def __init__(self, msg: str, captured: Any = None, python: Any = None, graph: str = "") -> None:
        super().__init__(msg)
        self.msg = msg
        self.captured = captured
        self.python = python
        self.graph = graph

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.captured, self.python, self.graph)


class BackendCompilerFailed(DynamoException):
    """A backend raised, or returned something that cannot be called. The backend's own exception is the __cause__."""

    def __init__(self, backend_fn: str | Callable[..., Any], inner_exception: BaseException) -> None:
        self.backend_name = _name_of(backend_fn)
        self.inner_exception = inner_exception
        self._backend_fn = backend_fn
        super().__init__(f"backend={self.backend_name!r} raised:\n{type(inner_exception).__name__}: {inner_exception}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.backend_name, self.inner_exception)


class InvalidBackend(DynamoException):
    """There is no backend of this name."""

    def __init__(self, name: str) -> None:
        from .backends import list_backends

        self.name = name
        known = ", ".join(map(repr, list_backends(None)))
        super().__init__(
            f"Invalid backend: {name!r}. Backends known by name are {known} (minidynamo._dynamo.list_backends()); "
            "any callable(gm, example_inputs) is a backend too."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name,)


class ResetRequired(DynamoException):
    """A change was made that requires minidynamo.compiler.reset() first."""


class TorchRuntimeError(DynamoException):
    """Never raised: exceptions of operations during capture propagate unchanged. For programs that name it."""


class ConstraintViolationError(RuntimeError):
    """A dimension marked dynamic admits only one size for which the code runs, or has a size outside of its range."""


class RecompileError(DynamoException):
    """A function would have to be recompiled where that is forbidden."""


class SkipFrame(DynamoException):
    """A function is excluded from capture as a whole."""


class FailOnRecompileLimitHit(Exception):
    """The recompile limit was reached by a function compiled with fullgraph=True."""


def _name_of(backend: str | Callable[..., Any]) -> str:
    return backend if isinstance(backend, str) else getattr(backend, "__name__", type(backend).__name__)


# TorchDynamo's names of the same classes.
TorchDynamoException = DynamoException
InternalTorchDynamoError = InternalError


_explain_missing(__name__)
