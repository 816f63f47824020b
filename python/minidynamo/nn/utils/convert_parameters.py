"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

import minidynamo

from ..._C import Tensor
from ..._missing_names import explain_missing as _explain_missing
from ..module_state import _type_name


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of the parameters in one vector (n,), in order."""
    return minidynamo.cat([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Copies consecutive parts of a vector (n,) into the parameters; TypeError unless vec is a tensor."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {_type_name(vec)}")
    at = 0
    for parameter in parameters:
        count = parameter.numel()
        parameter.detach().copy_(vec.detach()[at : at + count].reshape(parameter.shape))
        at += count


_explain_missing(__name__)
