"""Products of vectors, matrices and tensors."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from ..._composites.registry import prims
from .reductions import stored
from .table import array_of, decline, is_axis, promoted, stands_in, tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def pair_of_floats(a: Any, b: Any, name: str) -> tuple[Tensor, Tensor]:
    """Both in one dtype of floats."""
    first, second = tensor(a, name), tensor(b, name)
    dtype = promoted(first.dtype, second.dtype)
    if dtype not in (minidynamo.float32, minidynamo.float64) and not dtype.is_complex:
        decline(f"{name} of such dtypes")
    return first.to(dtype), second.to(dtype)


@stands_in("dot ndarray.dot", takes_complex=True)
def dot(a: Any, b: Any, out: Any = None) -> Any:
    if out is not None and not tensor(out, "dot").is_contiguous():
        decline("dot into such an array")
    first, second = pair_of_floats(a, b, "dot")
    if first.dim() == 0 or second.dim() == 0:
        return stored(first * second, out)
    if first.dim() > 2 or second.dim() > 2:
        decline("dot of more than matrices")
    return stored(minidynamo.matmul(first, second), out)


@stands_in("outer", takes_complex=True)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    first, second = pair_of_floats(a, b, "outer")
    return stored(first.reshape(-1, 1) * second.reshape(1, -1), out)


@stands_in("inner", takes_complex=True)
def inner(a: Any, b: Any, /) -> Any:
    first, second = pair_of_floats(a, b, "inner")
    if first.dim() != 1 or second.dim() != 1:
        decline("inner of other than vectors")
    return minidynamo.matmul(first, second)


@stands_in("vdot", takes_complex=True)
def vdot(a: Any, b: Any, /) -> Any:
    first, second = pair_of_floats(a, b, "vdot")
    left = prims.conj(first) if first.is_complex() else first
    return minidynamo.matmul(left.reshape(-1), second.reshape(-1))


@stands_in("tensordot", returns_arrays=True, takes_complex=True)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    first, second = pair_of_floats(a, b, "tensordot")
    if isinstance(axes, int):
        if axes < 0 or axes > min(first.dim(), second.dim()):
            decline("tensordot over more axes than there are")
        return minidynamo.tensordot(first, second, axes)
    if not isinstance(axes, (list, tuple)) or len(axes) != 2:
        decline("tensordot over such axes")
    of_first, of_second = [(each,) if isinstance(each, int) else tuple(each) for each in axes]
    return minidynamo.tensordot(first, second, (of_first, of_second))


def _labels(subscripts: Any, operands: tuple[Any, ...]) -> tuple[list[str], str]:
    """Those of each operand and of the result."""
    if not isinstance(subscripts, str) or "." in subscripts:
        decline("einsum with an ellipsis")
    plain = subscripts.replace(" ", "")
    if "->" not in plain:
        labels = plain.replace(",", "")
        plain += "->" + "".join(sorted([label for label in set(labels) if labels.count(label) == 1]))
    inputs, result = plain.split("->")
    terms = inputs.split(",")
    if len(terms) != len(operands) or any(len(set(term)) != len(term) for term in terms):
        decline("einsum of a diagonal")
    return terms, result


@stands_in("einsum", takes_complex=True)
def einsum(subscripts: Any, *operands: Any, out: Any = None, optimize: Any = False) -> Any:
    if out is not None or not operands:
        decline("einsum with out")
    if optimize is not False:
        decline("einsum by products of matrices, whose results lie in another order")
    terms, result = _labels(subscripts, operands)
    values = [array_of(each, "einsum") for each in operands]
    dtype = values[0].dtype
    is_taken = dtype in (minidynamo.float32, minidynamo.float64) or dtype.is_complex
    if not is_taken or any(each.dtype is not dtype for each in values):
        decline("einsum of such dtypes")
    if any(value.dim() != len(term) or not value.is_contiguous() for value, term in zip(values, terms)):
        decline("einsum of arrays in another order")
    # The axes of the result lie in memory in the order in which its labels are met.
    met = dict.fromkeys("".join(terms))
    if list(result) != [label for label in met if label in result] or len(met) == len(terms[0]) == len(result):
        decline("einsum that turns axes round, or returns a view")
    # NumPy adds the products to zeros: none is -0.0.
    return minidynamo.einsum(f"{','.join(terms)}->{result}", *values) + 0.0


@stands_in("linalg.norm")
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    values = array_of(x, "norm")
    if values.dtype not in (minidynamo.float32, minidynamo.float64) or keepdims is not False:
        decline("norm of this dtype, or with keepdims")
    if axis is None and (ord is None or (ord == 2 and values.dim() == 1)):
        return (values * values).sum().sqrt()
    if not is_axis(values, axis) or not values.is_contiguous():
        decline("norm over such axes")
    if ord is None or ord == 2:
        return (values * values).sum(axis).sqrt()
    if ord == 1:
        return values.abs().sum(axis)
    decline("norm of this order")
