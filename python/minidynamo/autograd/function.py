"""autograd.Function: operations whose forward and backward are Python."""

from __future__ import annotations

import functools
import inspect

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
_CHANGED = (
    "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.{}Tensor"
    " {}]"
    "{}, is at version {}; expected version {} instead. Hint: enable anomaly detection to find the operation that"
    " failed to"
    " compute its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False)."
)
_TYPE_NAMES = {"float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16"}


class _Saved:
    """A tensor as it was when it was saved. An output of the function is held without its history."""

    def __init__(self, tensor: Tensor, output: int | None) -> None:
        self.output = output
        self.version = tensor._version
        self.is_plain = output is None and tensor.is_leaf
        self.tensor = tensor if self.is_plain else _C._alias_with_history(tensor, None)
        self.edge = None
        if output is None and not self.is_plain:
            self.edge = (tensor.grad_fn, tensor.output_nr)

    def unpacked(self, node: Any) -> Tensor:
        if self.tensor._version != self.version:
            origin = node if self.output is not None else self.edge and self.edge[0]
            number = self.output if self.output is not None else self.edge and self.edge[1]
            text = f", which is output {number} of {origin.name()}" if origin is not None else ""
            name = str(self.tensor.dtype).rpartition(".")[2]
            raise RuntimeError(
                _CHANGED.format(
                    _TYPE_NAMES.get(name, name), list(self.tensor.shape), text, self.tensor._version, self.version
                )
            )
        if self.is_plain:
            return self.tensor
        edge = self.edge if self.output is None else None if node is None else (node, self.output)
        return _C._alias_with_history(self.tensor, edge)


class FunctionCtx:
    """What forward hands to backward; attributes of the user's own, too."""

    needs_input_grad: tuple[bool, ...] = ()
    materialize_grads = True
    _to_save: tuple[Tensor | None, ...] = ()
    _saved: list[_Saved | None] | None = None
    _dirty: tuple[Tensor, ...] = ()
    _not_differentiable: tuple[Tensor, ...] = ()
    _is_freed = False
    _running: Any = None  # the node, while backward runs

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Saves tensors, and None, for `saved_tensors` in backward; one that is written meanwhile is an error there."""
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


def _gradients_of_arguments(ctx: Any, gradients: tuple[Tensor | None, ...]) -> list[Tensor | None]:
    if ctx.materialize_grads:
        gradients = tuple(
            [
                minidynamo.zeros(sizes, dtype=dtype) if each is None and sizes is not None else each
                for each, (sizes, dtype) in zip(gradients, ctx._output_facts)
            ]
        )
    backward = ctx._forward_cls.backward
    by_output: list[Tensor | None] = [None] * ctx._output_count
    for place, gradient in zip(ctx._output_places, gradients):
        by_output[place] = gradient
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
                    f"function {type(ctx).__name__} returned a gradient different from None at position {index + 1},"
                    f" but the"
                    " corresponding forward input was not a Variable"
                )
            continue
        sizes, dtype, requires_grad = fact
        if result is None or not requires_grad:
            found.append(None)
            continue
        if not isinstance(result, _C.Tensor):
            raise TypeError(f"expected Variable or None (got {type(result).__name__})")
        result = _fitted(ctx, index, result, sizes)
        found.append(result if result.dtype == dtype else result.to(dtype))
    return found


class Function(metaclass=FunctionMeta):
    """An operation with a backward of its own.

    A subclass has static methods forward(ctx, *args) and backward(ctx, *gradients of outputs), which returns a
    gradient or
    None for each argument of forward; or forward(*args) and setup_context(ctx, inputs, output). Its apply() is the
    operation.
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

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """The outputs of forward, with a history if grad mode is on and a tensor among the arguments requires grad."""
        if kwargs:
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
        is_own = isinstance(output, _C.Tensor) and not _is_among(output, ctx._dirty)
        if is_own and not _is_among(output, ctx._not_differentiable):
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
        if not _is_among(output, outputs):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that"
                " are"
                " modified inplace must all be outputs of the Function."
            )
    ctx._output_count = len(outputs)
    ctx._output_places = places
    ctx._output_facts = [(results[i].shape, results[i].dtype) for i in places]
    ctx._input_facts = [
        (each.shape, each.dtype, each.requires_grad) if isinstance(each, _C.Tensor) else None for each in args
    ]
    saved = [
        None if each is None else _Saved(each, next((i for i, out in enumerate(outputs) if out is each), None))
        for each in ctx._to_save
    ]
    tensors = [each for each in args if isinstance(each, _C.Tensor)]
    if not places:
        return tuple(results)
    _C._attach_function(cls._backward_cls.__name__, ctx, _run, _released, tensors, [results[i] for i in places])
    for each in saved:
        if each is not None and each.output is not None:
            each.output = places.index(each.output) if each.output in places else None
    ctx._saved = saved
    ctx._to_save = ()
    return tuple(results)


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


class InplaceFunction(Function):
    """A Function with a flag that says whether it writes its input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class NestedIOFunction(Function):
    """Functions of nested arguments were declared so once; tensors are arguments of apply() here."""


_explain_missing(__name__)
