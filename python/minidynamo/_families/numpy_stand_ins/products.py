"""Products of vectors and matrices."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from .table import decline, promoted, stands_in, tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _pair(a: Any, b: Any, name: str) -> tuple[Tensor, Tensor]:
    """Both in one dtype of floats."""
    first, second = tensor(a, name), tensor(b, name)
    dtype = promoted(first.dtype, second.dtype)
    if dtype not in (minidynamo.float32, minidynamo.float64):
        decline(f"{name} of such dtypes")
    return first.to(dtype), second.to(dtype)


@stands_in("dot ndarray.dot")
def dot(a: Any, b: Any, out: Any = None) -> Any:
    if out is not None:
        decline("dot with out")
    first, second = _pair(a, b, "dot")
    if first.dim() == 0 or second.dim() == 0:
        return first * second
    if first.dim() > 2 or second.dim() > 2:
        decline("dot of more than matrices")
    return minidynamo.matmul(first, second)


@stands_in("outer")
def outer(a: Any, b: Any, out: Any = None) -> Any:
    if out is not None:
        decline("outer with out")
    first, second = _pair(a, b, "outer")
    return first.reshape(-1, 1) * second.reshape(1, -1)


@stands_in("inner")
def inner(a: Any, b: Any, /) -> Any:
    first, second = _pair(a, b, "inner")
    if first.dim() != 1 or second.dim() != 1:
        decline("inner of other than vectors")
    return minidynamo.matmul(first, second)


@stands_in("vdot")
def vdot(a: Any, b: Any, /) -> Any:
    first, second = _pair(a, b, "vdot")
    return minidynamo.matmul(first.reshape(-1), second.reshape(-1))
