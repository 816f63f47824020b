"""Norms of vectors and matrices, and functions of singular values."""

from __future__ import annotations

import minidynamo

from .._C import Tensor
from .._composites.autocast import full_precision, is_autocasting, low_precision, require_wide
from .._composites.registry import require_tensor, wrapped_dim
from .decompositions import svdvals
from .solutions import inv

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

INF = float("inf")


def _floating(op: str, value: Tensor, dtype: Any) -> None:
    kind = value.dtype if dtype is None else dtype
    if not kind.is_floating_point:
        raise RuntimeError(f"[{op}] Expected a floating point tensor as input. Got {kind}")


def _widened(op: str, value: Tensor, dtype: Any) -> Tensor:
    if dtype is None:
        return value
    if minidynamo.promote_types(value.dtype, dtype) != dtype:
        raise RuntimeError(
            f"{op}: the dtype of the input ({value.dtype}) should be convertible without narrowing to the specified "
            f"dtype ({dtype})"
        )
    return value.to(dtype)


def vector_norm(x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """sum(abs(x) ** ord) ** (1 / ord) over dim, or over all: for ord 0 the count of what is not zero, inf and -inf
    the extremes.

    x is first converted to dtype; x, or dtype, is floating.
    """
    require_tensor("linalg.vector_norm", x, "x")
    _floating("linalg_vector_norm", x, dtype)
    x = _widened("linalg.vector_norm", x, dtype)
    if isinstance(dim, (list, tuple)) and len(dim) == 0:
        dim = None
    if x.dim() == 0 and dim is None:
        dim = 0
    return x.norm(ord, dim, keepdim)


def _two_dims(op: str, A: Tensor, dim: Any) -> tuple[int, int]:
    if A.dim() < 2:
        raise RuntimeError(f"[{op}] The input tensor A must have at least 2 dimensions; shape {tuple(A.shape)}")
    if not isinstance(dim, (list, tuple)) or len(dim) != 2:
        raise RuntimeError(f"[{op}] dim must be a 2-tuple. Got {dim}")
    rows, columns = wrapped_dim(op, dim[0], A.dim()), wrapped_dim(op, dim[1], A.dim())
    if rows == columns:
        raise RuntimeError(f"[{op}] dims must be different. Got ({dim[0]}, {dim[1]})")
    return rows, columns


def matrix_norm(
    A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """Norms of the matrices in the dims (rows, columns) of A.

    ord: "fro", of all elements; "nuc", the sum of singular values; 2 and -2, the largest and the smallest of them; 1
    and -1, the largest and the smallest sum of a column; inf and -inf, of a row.
    """
    require_tensor("linalg.matrix_norm", A, "A")
    _floating("linalg_matrix_norm", A, dtype)
    rows, columns = _two_dims("linalg_matrix_norm", A, dim)
    A = _widened("linalg.matrix_norm", A, dtype)
    if isinstance(ord, str):
        if ord not in ("fro", "nuc"):
            raise RuntimeError(f"[linalg_matrix_norm] Order {ord} not supported.")
        if ord == "fro":
            return A.norm(2, (rows, columns), keepdim)
        return _of_singular_values(A, rows, columns, keepdim, lambda values: values.sum(-1))
    if ord == 2 or ord == -2:
        extreme = (lambda values: _largest(values, -1)) if ord > 0 else (lambda values: values.amin(-1))
        return _of_singular_values(A, rows, columns, keepdim, extreme)
    if ord not in (1, -1, INF, -INF):
        raise RuntimeError(f"[linalg_matrix_norm] Order {ord} not supported.")
    summed, other = (rows, columns) if ord in (1, -1) else (columns, rows)
    sums = A.abs().sum(summed, True)
    norms = _largest(sums, other, True) if ord > 0 else sums.amin(other, True)
    return norms if keepdim else norms.squeeze((rows, columns))


def _largest(values: Tensor, dim: int, keepdim: bool = False) -> Tensor:
    """amax of magnitudes, 0 of none."""
    return values.sum(dim, keepdim) if values.shape[dim] == 0 else values.amax(dim, keepdim)


def _of_singular_values(A: Tensor, rows: int, columns: int, keepdim: bool, reduced: Any) -> Tensor:
    require_wide("linalg_matrix_norm", A)
    norms = reduced(svdvals(A.movedim((rows, columns), (-2, -1))))
    if not keepdim:
        return norms
    first, second = (rows, columns) if rows < columns else (columns, rows)
    return norms.unsqueeze(first).unsqueeze(second)


def norm(A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """vector_norm for one dim, matrix_norm for two; without ord the 2-norm of the elements.

    Without dim, A with ord has one or two dims.
    """
    require_tensor("linalg.norm", A, "A")
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    if dim is None:
        if A.dim() not in (1, 2):
            raise RuntimeError(
                "[linalg_norm] If dim is not specified but ord is, the input must be 1D or 2D. Got"
                f" {A.dim()}D; shape {tuple(A.shape)}"
            )
        dim = 0 if A.dim() == 1 else (0, 1)
    if isinstance(dim, int) or len(dim) == 1:
        return vector_norm(A, ord, dim, keepdim, dtype=dtype)
    return matrix_norm(A, ord, dim, keepdim, dtype=dtype)


def cond(A: Tensor, p: Any = None) -> Tensor:
    """The condition numbers of A (..., m, n) in a norm of matrix_norm: norm(A) * norm(inv(A)); without p by singular
    values.

    Infinite for a singular matrix where p is None, 2 or -2; otherwise that raises LinAlgError. 0 for matrices without
    elements.
    """
    if is_autocasting():
        return full_precision(cond, A, p)
    require_tensor("linalg.cond", A, "A")
    if not isinstance(p, str) and A.dim() >= 2 and A.is_floating_point() and A.numel() == 0:
        return A.new_zeros(A.shape[:-2])
    if p is None or (not isinstance(p, str) and p in (2, -2)):
        values = svdvals(A)
        first, last = values.select(-1, 0), values.select(-1, -1)
        return last / first if p == -2 else first / last
    return matrix_norm(A, p) * matrix_norm(inv(A), p)


def multi_dot(tensors: Any) -> Tensor:
    """The product of two or more matrices, in the order that takes the fewest multiplications; the ends may be
    vectors.
    """
    tensors = list(tensors)
    if len(tensors) < 2:
        raise RuntimeError(f"[linalg_multi_dot] expected at least 2 tensors but got {len(tensors)}")
    for number, tensor in enumerate(tensors):
        require_tensor("linalg.multi_dot", tensor, f"tensors[{number}]")
        inner = 0 < number < len(tensors) - 1
        if tensor.dim() != 2 and (inner or tensor.dim() != 1):
            raise RuntimeError(
                f"[linalg_multi_dot] tensor {number} must be {'2D' if inner else '1D or 2D'} but got {tensor.dim()}D"
            )
    row, column = tensors[0].dim() == 1, tensors[-1].dim() == 1
    if row:
        tensors[0] = tensors[0].unsqueeze(0)
    if column:
        tensors[-1] = tensors[-1].unsqueeze(1)
    product = _chain(tensors, _cheapest_splits([tensor.shape[0] for tensor in tensors] + [tensors[-1].shape[1]]))
    product = product.squeeze(-1) if column else product
    return product.squeeze(0) if row else product


def _cheapest_splits(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Of each run of matrices (first, last), after which one its product is split: matrix i is sizes[i] by sizes[i +
    1].
    """
    count = len(sizes) - 1
    cost = {(at, at): 0 for at in range(count)}
    splits: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            best = -1
            for split in range(first, last):
                total = cost[first, split] + cost[split + 1, last] + sizes[first] * sizes[split + 1] * sizes[last + 1]
                if best < 0 or total < best:
                    best = total
                    splits[first, last] = split
            cost[first, last] = best
    return splits


def _chain(tensors: list[Tensor], splits: dict[tuple[int, int], int]) -> Tensor:
    def product(first: int, last: int) -> Tensor:
        if first == last:
            return tensors[first]
        split = splits[first, last]
        return product(first, split).matmul(product(split + 1, last))

    return product(0, len(tensors) - 1)


def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The cross product of vectors of three elements along dim."""
    return minidynamo.cross(input, other, dim)


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The sums of products along dim; other dims broadcast. Of two vectors the dot product, whatever dim is."""
    if is_autocasting():
        return low_precision(vecdot, x, y, dim=dim)
    require_tensor("linalg.vecdot", x, "x")
    require_tensor("linalg.vecdot", y, "y")
    _floating("linalg_vecdot", x, None)
    if x.dtype != y.dtype:
        raise RuntimeError(f"[linalg_vecdot] Expected x and y to have the same dtype, but got {x.dtype} and {y.dtype}")
    return x.dot(y) if x.ndim == 1 and y.ndim == 1 else (x * y).sum(dim)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """A view of the diagonals of the matrices in two dims."""
    require_tensor("linalg.diagonal", A, "A")
    return A.diagonal(offset, dim1, dim2)


def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The matrix product; leading dims broadcast."""
    require_tensor("linalg.matmul", input)
    return input.matmul(other)


def vander(x: Tensor, N: int | None = None) -> Tensor:
    """The powers 0, 1 ... N - 1 of each element of x (..., n), by default N = n, in a row: (..., n, N)."""
    require_tensor("linalg.vander", x, "x")
    x = x if x.dim() > 0 else x.reshape(1)
    count = x.shape[-1] if N is None else N
    return x.contiguous().unsqueeze(-1) ** minidynamo.arange(count)
