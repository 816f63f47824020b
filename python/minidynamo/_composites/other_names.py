"""Functions that are others by older names, or with their arguments in another order."""

from __future__ import annotations

import minidynamo

from .._C import Tensor
from .registry import composite, require_tensor, wrapped_dim, written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@composite("function")
def rsub(input: Tensor, other: Any, *, alpha: float = 1) -> Tensor:
    """other - alpha * input"""
    require_tensor("rsub", input)
    if isinstance(other, Tensor):
        return minidynamo.sub(other, input, alpha=alpha)
    if input.dtype == minidynamo.bool or isinstance(other, bool):
        raise RuntimeError(
            "[rsub] Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a "
            "mask, use the `~` or `logical_not()` operator instead."
        )
    return other - (input if alpha == 1 else input * alpha)


@composite("function method")
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """chunk()"""
    require_tensor("unsafe_chunk", input)
    return input.chunk(chunks, dim)


@composite("function method")
def unsafe_split(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """split()"""
    require_tensor("unsafe_split", input)
    return input.split(split_size, dim)


@composite("function method")
def unsafe_split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """split_with_sizes()"""
    require_tensor("unsafe_split_with_sizes", input)
    return minidynamo.split_with_sizes(input, split_sizes, dim)


@composite("function")
def constant_pad_nd(input: Tensor, pad: Any, value: float = 0) -> Tensor:
    """nn.functional.pad with a constant."""
    require_tensor("constant_pad_nd", input)
    return minidynamo.nn.functional.pad(input, pad, "constant", value)


@composite("function method")
def resolve_neg(input: Tensor) -> Tensor:
    """input: negatives are always computed."""
    require_tensor("resolve_neg", input)
    return input


@composite("function")
def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers."""
    require_tensor("is_signed", input)
    return input.is_signed()


@composite("function")
def is_conj(input: Tensor) -> bool:
    """False: conjugates are always computed."""
    require_tensor("is_conj", input)
    return False


@composite("function")
def is_neg(input: Tensor) -> bool:
    """False: negatives are always computed."""
    require_tensor("is_neg", input)
    return False


@composite("function")
def is_distributed(input: Tensor) -> bool:
    """False: there is one process."""
    require_tensor("is_distributed", input)
    return False


@composite("method")
def cfloat(input: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor as complex64."""
    require_tensor("cfloat", input)
    return input.to(minidynamo.complex64)


@composite("method")
def cdouble(input: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor as complex128."""
    require_tensor("cdouble", input)
    return input.to(minidynamo.complex128)


@composite("function")
def frobenius_norm(input: Tensor, dim: Any = (), keepdim: bool = False, *, out: Any = None) -> Tensor:
    """The 2-norm over dims, by default over all."""
    require_tensor("frobenius_norm", input)
    dims = [dim] if isinstance(dim, int) else list(dim)
    return written(minidynamo.linalg.vector_norm(input, 2, dims or None, keepdim), out)


@composite("function")
def nuclear_norm(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The sum of the singular values of a matrix."""
    require_tensor("nuclear_norm", input)
    return minidynamo.linalg.matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim)


@composite("function")
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norms over all dims but one, with sizes 1 for those; of everything, 0-d, for dim -1."""
    require_tensor("norm_except_dim", v, "v")
    if dim == -1:
        return v.norm(pow)
    if v.dim() == 0:
        raise IndexError(f"[norm_except_dim] Dimension specified as {dim} but tensor has no dimensions")
    at = wrapped_dim("norm_except_dim", dim, v.dim())
    rows = v.unsqueeze(-1) if v.dim() == 1 else v
    norms = rows.norm(pow, [each for each in range(rows.dim()) if each != at], keepdim=True)
    return norms.squeeze(-1) if v.dim() == 1 else norms


@composite("function")
def native_layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """(nn.functional.layer_norm, the means, the reciprocal standard deviations)."""
    require_tensor("native_layer_norm", input)
    found = minidynamo.nn.functional.layer_norm(input, normalized_shape, weight, bias, eps)
    dims = list(range(input.dim() - len(normalized_shape), input.dim()))
    mean, scale = _moments(input, dims, eps)
    is_mixed = any(each is not None and each.dtype != input.dtype for each in (weight, bias))
    return (found, mean, scale) if is_mixed else (found, mean.to(input.dtype), scale.to(input.dtype))


def _moments(input: Tensor, dims: list[int], eps: float) -> tuple[Tensor, Tensor]:
    wide = input.float() if input.dtype.itemsize == 2 else input
    deviation = wide.var(dims, correction=0, keepdim=True)
    return wide.mean(dims, keepdim=True), (deviation + eps).rsqrt()


@composite("function")
def native_group_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """(nn.functional.group_norm, the means, the reciprocal standard deviations), the latter (N, group)."""
    require_tensor("native_group_norm", input)
    found = minidynamo.nn.functional.group_norm(input, group, weight, bias, eps)
    mean, rstd = _moments(input.reshape(N, group, C // group * HxW), [2], eps)
    dtype = minidynamo.float32 if weight is not None and weight.dtype != input.dtype else input.dtype
    return found, mean.squeeze(2).to(dtype), rstd.squeeze(2).to(dtype)


@composite("function")
def empty_permuted(size: Any, physical_layout: Any, **keywords: Any) -> Tensor:
    """A tensor whose dims lie in memory in an order, the outermost first; its elements are not set."""
    if sorted(physical_layout) != list(range(len(size))):
        raise RuntimeError(
            f"[empty_permuted] physical_layout {list(physical_layout)} must name each of the dims of {list(size)} once"
        )
    memory = minidynamo.empty([size[dim] for dim in physical_layout], **keywords)
    return memory.permute([list(physical_layout).index(dim) for dim in range(len(size))])


@composite("function method")
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The first `size` rows of nonzero(), filled up with fill_value: (size, dims)."""
    require_tensor("nonzero_static", input)
    if size < 0:
        raise RuntimeError("[nonzero_static] 'size' must be an non-negative number")
    if input.dim() == 0 or input.numel() == 0 or size == 0:
        return minidynamo.full((size, input.dim()), fill_value, dtype=minidynamo.int64)
    if not minidynamo.compiler.is_compiling():
        rows = input.nonzero()[:size]
        missing = size - rows.shape[0]
        return rows if missing == 0 else minidynamo.cat([rows, rows.new_full((missing, input.dim()), fill_value)])
    flat = (input != 0).reshape(-1)
    rank = flat.long().cumsum(0) - 1
    place = minidynamo.where(flat & (rank < size), rank, size)
    found = minidynamo.full((size + 1,), -1).index_copy(0, place, minidynamo.arange(flat.shape[0]))[:size]
    columns = minidynamo.stack(minidynamo.unravel_index(found.clamp(min=0), tuple(input.shape)), 1)
    return minidynamo.where((found < 0).unsqueeze(1), fill_value, columns)
