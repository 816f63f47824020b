"""Running sums by trapezoids, norms of slices, distances of rows."""

from __future__ import annotations

import minidynamo

from .._C import Tensor
from .products import PAIR_NORMS
from .registry import composite, in_place, prims, require_tensor, wrapped_dim


@composite("function")
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """The running integral along dim: of points at x, or dx apart."""
    require_tensor("cumulative_trapezoid", y, "y")
    if y.dim() == 0:
        raise IndexError("[cumulative_trapezoid] Dimension specified as -1 but tensor has no dimensions")
    at = wrapped_dim("cumulative_trapezoid", dim, y.dim())
    length = y.shape[at]
    if length < 1:
        return y.narrow(at, 0, 0)
    right, left = y.narrow(at, 1, length - 1), y.narrow(at, 0, length - 1)
    if x is None:
        return (dx / 2.0 * (left + right)).cumsum(at)
    if x.dim() == 1 and y.dim() > 1:
        if x.shape[0] != length:
            raise RuntimeError("[cumulative_trapezoid] There must be one `x` value for each sample point")
        sizes = [1] * y.dim()
        sizes[at] = length
        x = x.reshape(sizes)
    elif x.dim() < y.dim():
        x = x.reshape([1] * (y.dim() - x.dim()) + list(x.shape))
    widths = x.narrow(at, 1, x.shape[at] - 1) - x.narrow(at, 0, x.shape[at] - 1)
    return ((left + right) * widths).cumsum(at) / 2.0


@in_place()
@composite("function method")
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """The slices along dim, those with a p-norm above maxnorm shortened to it."""
    require_tensor("renorm", input)
    if input.dim() < 2:
        raise RuntimeError(f"[renorm] renorm: input needs at least 2 dimensions, got {input.dim()} dimensions")
    if p <= 0:
        raise RuntimeError("[renorm] renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"[renorm] renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    at = wrapped_dim("renorm", dim, input.dim())
    wide = input.float() if input.dtype.itemsize == 2 else input
    norms = wide.norm(p, [each for each in range(input.dim()) if each != at], keepdim=True)
    factors = minidynamo.where(norms > maxnorm, maxnorm / (norms + 1e-7), minidynamo.ones_like(norms))
    return (input * factors.to(input.dtype)).contiguous()


@composite("function")
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norms of the differences of each two rows of a matrix."""
    require_tensor("pdist", input)
    if input.dim() != 2:
        raise RuntimeError(f"[pdist] pdist only supports 2D tensors, got: {input.dim()}D")
    if p < 0:
        raise RuntimeError("[pdist] pdist only supports non-negative p values")
    count = input.shape[0]
    if count < 2:
        return input.new_empty((0,))
    if p in PAIR_NORMS and input.dtype in (minidynamo.float32, minidynamo.float64) and not input.requires_grad:
        return prims.pair_distances(input, PAIR_NORMS[p])
    first, second = minidynamo.triu_indices(count, count, 1).unbind(0)
    apart = (input[first] - input[second]).abs()
    if p == 0:
        return (apart != 0).sum(1).to(input.dtype)
    if apart.shape[1] == 0:
        return apart.sum(1)
    return apart.amax(1) if p == float("inf") else apart.norm(p, 1)
