"""Functions of functions, and modules as functions: torch.func's names."""

from __future__ import annotations

from .._missing_names import explain_missing as _explain_missing
from ..nn.utils.stateless import functional_call
from .batching import vmap
from .gradients import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from .module_stacks import stack_module_state

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "stack_module_state",
    "vjp",
    "vmap",
]

_explain_missing(__name__)
