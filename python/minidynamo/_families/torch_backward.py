"""torch's backward() and grad(), written over the calls that join a graph: loaded where torch is."""

from __future__ import annotations

import warnings

from .. import _C
from ..autograd.engine import run_into
from .imported_torch import torch
from .torch_stand_ins.table import StandIn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def leave_backward(tensors: tuple[Any, ...] | None, why: str | None = None) -> Any:
    """A backward that torch itself runs; without a reason torch raises. It meets the histories of these tensors."""
    raise NotImplementedError(why)


_C._register_call("leave_backward", leave_backward)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return (value,) if isinstance(value, torch.Tensor) else tuple(value)


def _ends(inputs: Any) -> tuple[Any, ...]:
    ends = tuple(inputs.values()) if type(inputs) is dict else _as_tuple(inputs)
    if not ends:
        raise RuntimeError("no inputs")
    return ends


def _starts(roots: tuple[Any, ...], given: Any) -> tuple[Any, ...]:
    return (None,) * len(roots) if given is None else _as_tuple(given)


def _keeps_graph(ends: tuple[Any, ...] | None, retain_graph: Any, create_graph: Any) -> bool:
    keeps = create_graph if retain_graph is None else retain_graph
    if not isinstance(keeps, bool) or not isinstance(create_graph, bool):
        leave_backward(ends, "a flag that is no bool")
    return keeps


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: Any = None,
    create_graph: Any = False,
    only_inputs: Any = True,
    allow_unused: Any = None,
    is_grads_batched: Any = False,
    materialize_grads: Any = False,
) -> Any:
    """torch.autograd.grad. What is an error there is one here, in whose place torch's is raised."""
    ends = _ends(inputs)
    if materialize_grads and allow_unused is False:
        leave_backward(ends)
    roots = _as_tuple(outputs)
    if is_grads_batched or not only_inputs:
        # torch maps the operations of the histories over the batch, not the backward of a region.
        leave_backward((*roots, *ends), "is_grads_batched, or only_inputs")
    keeps = _keeps_graph(ends, retain_graph, create_graph)
    found = _C._run_backward(roots, _starts(roots, grad_outputs), ends, keeps, create_graph, False)
    unused = [end for end, each in zip(ends, found, strict=True) if each is None]
    if unused and materialize_grads:
        if create_graph:
            leave_backward(ends, "zeros that are leaves")
        found = tuple([torch.zeros_like(end) if each is None else each for end, each in zip(ends, found, strict=True)])
    elif unused and not allow_unused:
        leave_backward(ends)
    return dict(zip(inputs, found, strict=True)) if type(inputs) is dict else found


def has_warned_of_cycle() -> bool:
    """Has torch warn of create_graph in backward(), once. False: it warns each time, or warnings are errors."""
    raises = [each for each in warnings.filters if each[0] == "error" and issubclass(UserWarning, each[2])]
    if raises or torch.is_warn_always_enabled():
        return False
    with torch.inference_mode(False), torch.enable_grad():
        leaf = torch.zeros((), requires_grad=True)
        leaf.exp().backward(create_graph=True)
        leaf.grad = None
    return True


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: Any = None,
    create_graph: Any = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """torch.autograd.backward."""
    ends = None if inputs is None else _ends(inputs)
    if grad_variables is not None:
        leave_backward(ends, "grad_variables")
    if create_graph and not has_warned_of_cycle():
        leave_backward(ends, "create_graph, of which torch warns")
    roots, keeps = _as_tuple(tensors), _keeps_graph(ends, retain_graph, create_graph)
    starts = _starts(roots, grad_tensors)
    if ends is None:
        _C._run_backward(roots, starts, None, keeps, create_graph, False)
    else:
        run_into(roots, starts, ends, keeps, create_graph)


def backward_of(
    self: Any, gradient: Any = None, retain_graph: Any = None, create_graph: Any = False, inputs: Any = None
) -> None:
    """torch.Tensor.backward."""
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


# Functions of this module that are called during the trace.
ASKED = (has_warned_of_cycle,)

TABLE = (
    StandIn("autograd.grad", grad, "Rewritten"),
    StandIn("autograd.backward", backward, "Rewritten"),
    StandIn("Tensor.backward", backward_of, "Rewritten"),
)
