"""autograd.Function: operations whose forward and backward are Python."""

from __future__ import annotations

import functools

import minidynamo

from .. import _C
from .._missing_names import explain_missing as _explain_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._C import Tensor

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "InplaceFunction",
    "NestedIOFunction",
    "once_differentiable",
]

_FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already"
    " been freed)."
    " Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify"
    " retain_graph=True"
    " if you need to backward through the graph a second time or if you need to access saved tensors after calling"
    " backward."
)


class FunctionCtx:
    """What forward hands to backward; attributes of the user's own, too."""

    needs_input_grad: tuple[bool, ...] = ()
    materialize_grads = True
    _to_save: tuple[Tensor | None, ...] = ()
    _saved: list[Any] | None = None
    _dirty: tuple[Tensor, ...] = ()
    _not_differentiable: tuple[Tensor, ...] = ()
    _is_freed = False
    _running: Any = None  # the node, while backward runs

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Saves tensors, and None, for `saved_tensors` in backward; one that is written meanwhile is an error there."""
        for place, each in enumerate(tensors):
            if each is not None and not isinstance(each, _C.Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {place} is of type {type(each).__name__}"
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """For jvp, which nothing calls here."""

    def mark_dirty(self, *args: Tensor) -> None:
        """Says which inputs forward wrote in place; each is returned."""
        self._dirty = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Says which outputs require no grad."""
        self._not_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros, not None, for outputs without a gradient; True by default."""
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What save_for_backward was given. Raises RuntimeError once the graph is freed, or if one was written
        since."""
        if self._is_freed:
            raise RuntimeError(_FREED)
        if self._saved is None:
            return self._to_save
        return tuple([None if each is None else each.unpacked(self._running) for each in self._saved])

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        """The saved tensors as objects with register_hooks()."""
        if self._is_freed:
            raise RuntimeError(_FREED)
        return tuple(self._saved or ())

    saved_variables = saved_tensors


class BackwardCFunction(FunctionCtx):
    """The class of contexts."""

    def apply(self, *args: Any) -> Any:
        return self._forward_cls.backward(self, *args)  # type: ignore[attr-defined]  # set by FunctionMeta


class FunctionMeta(type):
    """Gives each Function a class of contexts, named after it."""

    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> None:
        super().__init__(name, bases, attributes)
        cls._backward_cls = type(f"{name}Backward", (BackwardCFunction,), {"_forward_cls": cls})


def _released(ctx: FunctionCtx) -> None:
    if ctx._saved:
        ctx._is_freed = True
    ctx._saved = None
    ctx._to_save = ()


def _fitted(ctx: Any, index: int, gradient: Tensor, sizes: Any) -> Tensor:
    if gradient.shape == sizes:
        return gradient
    lead = gradient.dim() - len(sizes)
    fits = lead >= 0 and all(size == given or size == 1 for size, given in zip(sizes, gradient.shape[lead:]))
    if not fits:
        raise RuntimeError(
            f"Function {type(ctx).__name__} returned an invalid gradient at index {index} - got"
            f" {list(gradient.shape)} but"
            f" expected shape compatible with {list(sizes)}"
        )
    dims = [*range(lead), *[lead + i for i, size in enumerate(sizes) if size == 1 and gradient.shape[lead + i] != 1]]
    return gradient.sum(dims, True).reshape(sizes)


def _run(ctx: Any, gradients: tuple[Tensor | None, ...], node: Any) -> list[Tensor | None]:
    """The gradients of the tensors among the arguments."""
    ctx._running = node
    try:
        return _gradients_of_arguments(ctx, gradients)
    finally:
        ctx._running = None


def _backward_of(cls: type[Function]) -> Callable[..., Any]:
    """backward, or vjp, which is another name for it."""
    if cls.vjp is Function.vjp:
        return cls.backward
    if cls.backward is not Function.backward:
        raise RuntimeError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement"
            " one of them."
        )
    return cls.vjp


def _gradients_of_arguments(ctx: Any, gradients: tuple[Tensor | None, ...]) -> list[Tensor | None]:
    backward = _backward_of(ctx._forward_cls)
    by_output: list[Tensor | None] = [None] * len(ctx._output_facts)
    for place, gradient in zip(ctx._output_places, gradients):
        by_output[place] = gradient
    if ctx.materialize_grads:
        by_output = [
            minidynamo.zeros(fact[0], dtype=fact[1]) if each is None and fact is not None else each
            for each, fact in zip(by_output, ctx._output_facts)
        ]
    results = backward(ctx, *by_output)
    results = results if isinstance(results, tuple) else (results,)
    count = len(ctx._input_facts)
    if len(results) > count and all(each is None for each in results[count:]):
        results = results[:count]
    if len(results) != count:
        raise RuntimeError(
            f"function {type(ctx).__name__} returned an incorrect number of gradients (expected {count}, got"
            f" {len(results)})"
        )
    found: list[Tensor | None] = []
    for index, (result, fact) in enumerate(zip(results, ctx._input_facts)):
        if fact is None:
            if result is not None:
                raise RuntimeError(
                    f"function {type(ctx).__name__} returned a gradient different than None at position {index + 1},"
                    " but the"
                    " corresponding forward input was not a Variable"
                )
            continue
        sizes, dtype, requires_grad = fact
        if result is None or not requires_grad:
            found.append(None)
            continue
        if not isinstance(result, _C.Tensor):
            raise RuntimeError(f"expected Variable or None (got {type(result).__name__})")
        result = _fitted(ctx, index, result, sizes)
        found.append(result if result.dtype == dtype else result.to(dtype))
    return found


class Function(metaclass=FunctionMeta):
    """An operation with a backward of its own.

    A subclass has static methods forward(ctx, *args) and backward(ctx, *gradients of outputs), which returns a
    gradient or None for each argument of forward; or forward(*args) and setup_context(ctx, inputs, output). Its
    apply() is the operation.
    """

    _backward_cls: type[BackwardCFunction]
    generate_vmap_rule = False

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with"
            " backward"
            " mode AD."
        )

    vjp = backward

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd"
            " function with"
            " static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """The outputs of forward, with a history if grad mode is on and a tensor among the arguments requires grad."""
        if kwargs:
            import inspect

            bound = inspect.signature(cls.forward).bind(*((None,) if not _is_split(cls) else ()), *args, **kwargs)
            bound.apply_defaults()
            args = bound.args if _is_split(cls) else bound.args[1:]
        ctx = cls._backward_cls()
        ctx.needs_input_grad = tuple([isinstance(each, _C.Tensor) and each.requires_grad for each in args])
        has_history = minidynamo.is_grad_enabled() and any(ctx.needs_input_grad)
        with minidynamo.no_grad():
            if _is_split(cls):
                output = cls.forward(*args)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args)
        outputs = output if isinstance(output, tuple) else (output,)
        if has_history:
            outputs = _with_history(cls, ctx, args, outputs)
        else:
            outputs = tuple([_without_history(each, args, ctx) for each in outputs])
        return tuple(outputs) if isinstance(output, tuple) else outputs[0]


def _is_split(cls: type[Function]) -> bool:
    return cls.setup_context is not Function.setup_context


def _is_among(tensor: object, tensors: Any) -> bool:
    return any(tensor is each for each in tensors)


def _without_history(output: Any, args: tuple[Any, ...], ctx: FunctionCtx) -> Any:
    if isinstance(output, _C.Tensor) and output.requires_grad and not _is_among(output, ctx._dirty):
        return output.detach()
    return output


def _with_history(cls: type[Function], ctx: Any, args: tuple[Any, ...], outputs: tuple[Any, ...]) -> tuple[Any, ...]:
    results: list[Any] = []
    for output in outputs:
        # An input that is returned as it is, and a view of one, become tensors of their own.
        if isinstance(output, _C.Tensor) and not _is_among(output, ctx._dirty):
            is_input = _is_among(output, args) or output.requires_grad or output._base is not None
            results.append(_C._alias_with_history(output, None) if is_input else output)
        else:
            results.append(output)
    places = [
        i
        for i, output in enumerate(outputs)
        if isinstance(output, _C.Tensor)
        and not _is_among(output, ctx._not_differentiable)
        and (output.dtype.is_floating_point or output.dtype.is_complex)
    ]
    for output in ctx._dirty:
        if output.requires_grad and output.is_leaf:
            raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
        if not _is_among(output, outputs):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs"
                " that are"
                " modified inplace must all be outputs of the Function."
            )
    ctx._output_places = places
    ctx._output_facts = [(each.shape, each.dtype) if isinstance(each, _C.Tensor) else None for each in results]
    ctx._input_facts = [
        (each.shape, each.dtype, each.requires_grad) if isinstance(each, _C.Tensor) else None for each in args
    ]
    saved = [None if each is None else _saved(ctx, each, args, outputs, places) for each in ctx._to_save]
    tensors = [each for each in args if isinstance(each, _C.Tensor)]
    if not places:
        return tuple(results)
    _C._attach_function(cls._backward_cls.__name__, ctx, _run, _released, tensors, [results[i] for i in places])
    ctx._saved = saved
    ctx._to_save = ()
    for output, result in zip(outputs, results):
        if result is not output:
            _C._note_function_view(result, output, tensors)
    return tuple(results)


def _saved(ctx: Any, tensor: Tensor, args: tuple[Any, ...], outputs: tuple[Any, ...], places: list[int]) -> Any:
    """A tensor that forward saves: one that it computed, or wrote, is a result of the node."""
    is_computed = not _is_among(tensor, args) or _is_among(tensor, ctx._dirty)
    place = next((number for number, i in enumerate(places) if outputs[i] is tensor), None)
    return _C._save_tensor(tensor, place if is_computed else None)


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator of backward: its results cannot be differentiated, and say so when that is tried."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        with minidynamo.no_grad():
            outputs = fn(ctx, *args)
        if not minidynamo.is_grad_enabled():
            return outputs
        if not any(isinstance(each, _C.Tensor) and each.requires_grad for each in args):
            return outputs
        given = outputs if isinstance(outputs, tuple) else (outputs,)
        results = tuple([None if each is None else _NotAgain.apply(each, *args) for each in given])
        return results if isinstance(outputs, tuple) else results[0]

    return wrapper


class _NotAgain(Function):
    @staticmethod
    def forward(ctx: Any, value: Any, *args: Any) -> Any:
        return value

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


# Nodes of results that cannot be differentiated again are called so.
_NotAgain._backward_cls.__name__ = "Error"


class InplaceFunction(Function):
    """A Function with a flag that says whether it writes its input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class NestedIOFunction(Function):
    """Functions of nested arguments were declared so once; tensors are arguments of apply() here."""


_explain_missing(__name__)
