"""backward() and grad(): where gradients start, and what is done with those that arrive."""

from __future__ import annotations

import warnings

import minidynamo

from .. import _C
from .._missing_names import explain_missing as _explain_missing
from . import anomaly_mode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._C import Tensor
    from .graph import GradientEdge

_UNUSED = (
    "The differentiated Tensor at index {} appears to not have been used in the graph. Set allow_unused=True if this"
    " is "
    "the desired behavior."
)


def as_tuple(value: Any) -> tuple[Any, ...]:
    """A tensor, an edge or None as a tuple of one; a sequence as a tuple."""
    if isinstance(value, _C.Tensor) or hasattr(value, "output_nr"):
        return (value,)
    return tuple(value)


def has_inputs() -> bool:
    """Whether the backward that this thread runs ends at given inputs, not at the leaves."""
    return _C._backward_has_inputs()


def _edge(value: Any) -> Any:
    return value if isinstance(value, _C.Tensor) else (value.node, value.output_nr)


def _sizes_text(tensor: Tensor) -> str:
    return f"torch.Size({list(tensor.shape)})"


def _start(index: int, output: Any, given: Tensor | None) -> Tensor:
    """The gradient with which an output starts."""
    if given is None:
        if not isinstance(output, _C.Tensor):
            raise RuntimeError("grad_outputs are needed for a GradientEdge")
        if output.numel() != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        if not output.dtype.is_floating_point:
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {output.dtype}")
        return minidynamo.ones(output.shape, dtype=output.dtype)
    if not isinstance(given, _C.Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(given).__name__}")
    if isinstance(output, _C.Tensor):
        if given.shape != output.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{index}] has a shape of {_sizes_text(given)} and output[{index}] has a"
                f" shape of {_sizes_text(output)}."
            )
        if given.dtype.is_complex != output.dtype.is_complex:
            raise RuntimeError(
                "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in"
                " dtype:"
                f" grad_output[{index}] has a dtype of {given.dtype} and output[{index}] has a dtype of {output.dtype}."
            )
        if given.dtype != output.dtype:
            return given.to(output.dtype)
    return given


def _starts(outputs: tuple[Any, ...], given: tuple[Any, ...]) -> list[Tensor]:
    if len(outputs) != len(given):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(given)} gradients")
    for index, output in enumerate(outputs):
        if isinstance(output, _C.Tensor) and not output.requires_grad:
            raise RuntimeError(f"element {index} of tensors does not require grad and does not have a grad_fn")
    return [_start(index, output, each) for index, (output, each) in enumerate(zip(outputs, given))]


def _run(
    outputs: tuple[Any, ...],
    starts: Sequence[Tensor | None],
    inputs: tuple[Any, ...] | None,
    keeps_graph: bool,
    creates_graph: bool,
) -> tuple[Tensor | None, ...]:
    roots = tuple([_edge(output) for output in outputs])
    ends = None if inputs is None else tuple([_edge(each) for each in inputs])
    checks_nan = anomaly_mode.state.enabled and anomaly_mode.state.check_nan
    return _C._run_backward(roots, starts, ends, keeps_graph, creates_graph, checks_nan)


def backward(
    tensors: Tensor | Sequence[Tensor] | GradientEdge | Sequence[GradientEdge],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Tensor | Sequence[Tensor | None] | None = None,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Adds the gradients of tensors to the `grad` of the leaves that they were computed from, or of `inputs` alone.

    `grad_tensors` has one gradient for each tensor, of its shape; None stands for 1 and needs a tensor of one
    element. What the
    graph saved is freed unless `retain_graph`, which is `create_graph` by default: then gradients can be
    differentiated.
    Raises RuntimeError for a tensor without history, a gradient of another shape, and a graph that was freed.
    """
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only"
                " use"
                " `grad_tensors`."
            )
        grad_tensors = grad_variables
    outputs = as_tuple(tensors)
    ends = None if inputs is None else as_tuple(inputs)
    if ends is not None and not ends:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    given = (None,) * len(outputs) if grad_tensors is None else as_tuple(grad_tensors)
    keeps_graph = create_graph if retain_graph is None else retain_graph
    starts = _starts(outputs, given)
    if create_graph:
        _warn_of_cycle()
    if ends is None:
        _run(outputs, starts, None, keeps_graph, create_graph)
    else:
        run_into(outputs, starts, ends, keeps_graph, create_graph)


def run_into(
    outputs: tuple[Any, ...],
    starts: Sequence[Tensor | None],
    ends: tuple[Any, ...],
    keeps_graph: bool,
    creates_graph: bool,
) -> None:
    """Adds the gradients of outputs to the `grad` of the ends alone. Captured over tensors of other libraries, too."""
    for each in ends:
        if isinstance(each, _C.Tensor) and (each.grad_fn is not None or not each.requires_grad):
            each.retain_grad()
    found = _run(outputs, starts, ends, keeps_graph, creates_graph)
    with minidynamo.set_grad_enabled(creates_graph):
        for index, (each, gradient) in enumerate(zip(ends, found)):
            # What a computed tensor retains is added as the node is passed.
            is_first = not any(each is other for other in ends[:index])
            if gradient is not None and each.grad_fn is None and is_first:
                _C._accumulate_gradient(each, gradient)


_C._register_call("run_backward_into", run_into)


def _warn_of_cycle() -> None:
    global _has_warned
    if _has_warned and not minidynamo.is_warn_always_enabled():
        return
    _has_warned = True
    warnings.warn(
        "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient"
        " which can"
        " cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to"
        " use this"
        " function, make sure to reset the .grad fields of your parameters to None after use to break the cycle and"
        " avoid the"
        " leak.",
        stacklevel=4,
    )


_has_warned = False


def grad(
    outputs: Tensor | Sequence[Tensor] | GradientEdge | Sequence[GradientEdge],
    inputs: Tensor | Sequence[Tensor] | GradientEdge | Sequence[GradientEdge],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]:
    """The sums of the gradients of outputs with respect to each of the inputs, as a tuple; no `grad` changes.

    An input that the outputs do not depend on is an error, None if `allow_unused`, and zeros if `materialize_grads`.
    With `is_grads_batched` each of `grad_outputs` has a first dim of several gradients, and so have the results.
    """
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for"
            " other parts of"
            " the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    allows_unused = materialize_grads if allow_unused is None else allow_unused
    results, ends = as_tuple(outputs), as_tuple(inputs)
    if not ends:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    for each in ends:
        if isinstance(each, _C.Tensor) and not each.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    given = (None,) * len(results) if grad_outputs is None else as_tuple(grad_outputs)
    keeps_graph = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        found = _batched(results, given, ends, keeps_graph, create_graph)
    else:
        found = _run(results, _starts(results, given), ends, keeps_graph, create_graph)
    if materialize_grads:
        return tuple([minidynamo.zeros_like(end) if each is None else each for end, each in zip(ends, found)])
    for index, each in enumerate(found):
        if each is None and not allows_unused:
            raise RuntimeError(_UNUSED.format(index))
    return found  # type: ignore[return-value]  # None where that is allowed


def _batched(
    outputs: tuple[Any, ...], given: tuple[Any, ...], ends: tuple[Any, ...], keeps_graph: bool, creates_graph: bool
) -> tuple[Tensor | None, ...]:
    """Each gradient of the batch by a run of its own."""
    for index, (output, each) in enumerate(zip(outputs, given)):
        if each is not None and isinstance(output, _C.Tensor) and each.shape[1:] != output.shape:
            # As torch says it: of one gradient of the batch, which then is indexed once more.
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch"
                " dimension. The"
                " sizes of the remaining dimensions are expected to match the shape of corresponding output, but a"
                " mismatch was"
                f" detected: grad_output[{index}] has a shape of torch.Size({list(each.shape[2:])}) and"
                f" output[{index}] has a"
                f" shape of {_sizes_text(output)}. If you only want some tensors in `grad_output` to be considered"
                f" batched,"
                " consider using vmap."
            )
    sizes = {len(each) for each in given if each is not None}
    if len(sizes) != 1:
        raise RuntimeError("is_grads_batched: grad_outputs need a first dim of one size")
    count = sizes.pop()
    rows = []
    for i in range(count):
        starts = _starts(outputs, tuple([None if each is None else each[i] for each in given]))
        rows.append(_run(outputs, starts, ends, keeps_graph or i + 1 < count, creates_graph))
    return tuple([None if column[0] is None else minidynamo.stack(column) for column in zip(*rows)])


_explain_missing(__name__)
