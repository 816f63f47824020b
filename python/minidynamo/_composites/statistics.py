"""Counts, order statistics, histograms, moments."""

from __future__ import annotations

import math
from collections import namedtuple

import minidynamo

from .._C import Tensor, _as_size
from .autocast import full_precision, is_autocasting
from .registry import composite, fitted, is_inexact, prims, require_data, require_tensor, wrapped_dim, written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_values_indices = namedtuple("_values_indices", "values indices")
_min_max = namedtuple("_min_max", "min max")


@composite("function method")
def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """How many elements are not zero, over dim or over all: int64."""
    require_tensor("count_nonzero", input)
    return (input != 0).sum(dim)


def _dim_and_correction(op: str, dim: Any, unbiased: Any, correction: Any) -> tuple[Any, Any]:
    if isinstance(dim, bool):
        if unbiased is not None:
            raise TypeError(f"{op}(): argument 'dim' must be tuple of ints, not bool")
        dim, unbiased = None, dim
    if unbiased is None:
        return dim, correction
    if not isinstance(unbiased, bool):
        raise TypeError(f"{op}(): argument 'unbiased' must be bool, not {type(unbiased).__name__}")
    return dim, int(unbiased)


@composite("function")
def std_mean(
    input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = 1
) -> Any:
    """(std, mean) over dim or over all. std_mean(input, unbiased) is over all, too."""
    require_tensor("std_mean", input)
    dim, correction = _dim_and_correction("std_mean", dim, unbiased, correction)
    return input.std(dim, correction=correction, keepdim=keepdim), input.mean(dim, keepdim=keepdim)


@composite("function")
def var_mean(
    input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = 1
) -> Any:
    """(var, mean) over dim or over all. var_mean(input, unbiased) is over all, too."""
    require_tensor("var_mean", input)
    dim, correction = _dim_and_correction("var_mean", dim, unbiased, correction)
    return input.var(dim, correction=correction, keepdim=keepdim), input.mean(dim, keepdim=keepdim)


@composite("function method")
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False, out: Any = None) -> Any:
    """(min, max) along dim or of all."""
    require_tensor("aminmax", input)
    if dim is None:
        return written(_min_max(input.amin(), input.amax()), out)
    return written(_min_max(input.amin(dim, keepdim), input.amax(dim, keepdim)), out)


@composite("function method")
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower of the middle elements: of all, or (values, indices) along dim. NaN if there is one."""
    require_tensor("median", input)
    whole = dim is None
    if whole:
        input, dim = input.reshape(-1), 0
        if input.numel() == 0:
            return input.new_full((), math.nan if input.is_floating_point() else input.dtype == minidynamo.bool)
    at = wrapped_dim("median", dim, input.dim())
    if input.dim() > 0 and input.shape[at] == 0:
        raise IndexError(f"[median] Expected reduction dim {at} to have non-zero size; shape {tuple(input.shape)}")
    values, indices = prims.middle(input, at, keepdim, False)
    if whole and input.requires_grad:
        # The gradient is split evenly among equal elements.
        hit = (input == values) & input.isfinite()
        spread = minidynamo.where(hit, input - input.detach(), 0.0).sum() / hit.sum().clamp(min=1)
        return values.detach() + spread.to(values.dtype)
    return values if whole else _values_indices(values, indices)


@composite("function method")
def nansum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum over dim or over all, NaN counted as 0."""
    require_tensor("nansum", input)
    if not is_inexact(input):
        return input.sum(dim, keepdim, dtype=dtype)
    return minidynamo.where(input != input, 0, input).sum(dim, keepdim, dtype=dtype)


@composite("function method")
def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean over dim or over all, ignoring NaN."""
    require_tensor("nanmean", input)
    if not input.is_floating_point():
        raise RuntimeError(f"[nanmean] expected input to have floating point dtype but got {input.dtype}")
    count = (input == input).sum(dim, keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / count


def _quantile(
    op: str, input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str, skip_nan: bool
) -> Tensor:
    require_tensor(op, input)
    if not isinstance(q, Tensor):
        q = minidynamo.tensor(q, dtype=input.dtype)
    if not input.is_floating_point() or input.dtype not in (minidynamo.float32, minidynamo.float64):
        raise RuntimeError(f"[{op}] input tensor must be either float or double dtype, but got {input.dtype}")
    if q.dim() > 1:
        raise RuntimeError(f"[{op}] q must be a scalar or 1D tensor; shape {tuple(q.shape)}")
    if q.dtype != input.dtype:
        raise RuntimeError(f"[{op}] q tensor must be same dtype as the input tensor, but got {q.dtype}")
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(
            f"[{op}] interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    if input.numel() == 0:
        raise RuntimeError(f"[{op}] input tensor must be non-empty; shape {tuple(input.shape)}")
    rank = input.dim()
    at = 0 if dim is None else wrapped_dim(op, dim, rank)
    lines = input.reshape(1, -1) if dim is None or rank == 0 else input.movedim(at, -1)
    count = lines.isnan().logical_not().sum(-1, True)
    last = (count - 1).clamp(min=0) if skip_nan else (count * 0 + (lines.shape[-1] - 1))
    rank_of = q.reshape(-1) * last.to(input.dtype)
    below = rank_of.floor()
    if interpolation == "lower":
        result = prims.take_ranks_of_rows(lines, below.long())
    elif interpolation == "higher":
        result = prims.take_ranks_of_rows(lines, rank_of.ceil().long())
    elif interpolation == "nearest":
        result = prims.take_ranks_of_rows(lines, rank_of.round().long())
    else:
        around = prims.take_ranks_of_rows(lines, minidynamo.cat([below.long(), rank_of.ceil().long()], -1))
        low, high = around.narrow(-1, 0, q.numel()), around.narrow(-1, q.numel(), q.numel())
        weight = 0.5 if interpolation == "midpoint" else rank_of - below
        result = low.lerp(high, weight)
    if not skip_nan:
        result = minidynamo.where(count < lines.shape[-1], math.nan, result)
    shape = list(input.shape)
    if dim is None or rank == 0:
        result = result.reshape(-1, *([1] * rank)) if keepdim else result.reshape(-1)
    else:
        result = result.movedim(-1, 0)
        if keepdim:
            shape[at] = 1
            result = result.reshape(q.numel(), *shape)
    return result[0] if q.dim() == 0 else result


@composite("function method")
def quantile(
    input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The q-quantiles over dim or over all, q in [0, 1] a number or a vector, whose dim comes first."""
    if is_autocasting():
        return full_precision(quantile, input, q, dim, keepdim, interpolation=interpolation)
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


@composite("function method")
def nanquantile(
    input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """quantile, ignoring NaN."""
    if is_autocasting():
        return full_precision(nanquantile, input, q, dim, keepdim, interpolation=interpolation)
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)


@composite("function method")
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each integer from 0 on occurs in a vector, or the sums of its weights.

    The size depends on the data: see config.capture_dynamic_output_shape_ops.
    """
    require_tensor("bincount", input)
    if input.dim() != 1 or input.is_floating_point():
        raise RuntimeError(
            f"[bincount] only supports 1-d non-negative integral inputs, got {input.dtype}; shape {tuple(input.shape)}"
        )
    if minlength < 0:
        raise RuntimeError(f"[bincount] minlength should be >= 0, got {minlength}")
    if weights is not None and (weights.dim() != 1 or weights.shape[0] != input.shape[0]):
        raise RuntimeError(
            f"[bincount] weights should be 1-d and have the same length as input; shapes {tuple(input.shape)} and"
            f" {tuple(weights.shape)}"
        )
    if weights is not None and input.numel() == 0:
        weights = None
    length = minlength
    if input.numel() > 0:
        least, most = minidynamo.aminmax(input)
        if minidynamo.compiler.is_compiling():
            require_data(least >= 0, "[bincount] only supports 1-d non-negative integral inputs.")
            length = _as_size(minidynamo.clamp(most.long() + 1, min=minlength))
        elif least.item() < 0:
            raise RuntimeError("[bincount] only supports 1-d non-negative integral inputs.")
        else:
            length = max(int(most.item()) + 1, minlength)
    if weights is None:
        return prims.bin_counts(input, length)
    if weights.dtype != minidynamo.float32:
        weights = weights.double()
    return minidynamo.zeros(length, dtype=weights.dtype).scatter_add(0, input.long(), weights)


@composite("function method")
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements fall into each of `bins` equal intervals of [min, max], by default of the elements' own
    range."""
    require_tensor("histc", input)
    if bins <= 0:
        raise RuntimeError(f"[histc] bins must be > 0, but got {bins}")
    if not (-math.inf < min < math.inf and -math.inf < max < math.inf):
        raise RuntimeError(f"[histc] range of [{min}, {max}] is not finite")
    if max < min:
        raise RuntimeError(f"[histc] max must be larger than min, but got {min} and {max}")
    if not input.is_floating_point():
        raise NotImplementedError(f"[histc] not implemented for '{input.dtype}'")
    flat = input.reshape(-1)
    low, high = fitted(min, input.dtype), fitted(max, input.dtype)
    if min == max and flat.numel() > 0:
        low, high = flat.amin(), flat.amax()
    single = low == high
    low, high = minidynamo.where(single, low - 1, low), minidynamo.where(single, high + 1, high)
    inside = (flat >= low) & (flat <= high)
    place = ((flat - low) * bins / (high - low)).floor()
    # Adding 1 to a large number has no effect.
    place = minidynamo.where(low == high, float(bins // 2), place)
    place = minidynamo.where(inside, place, 0.0).clamp(0, bins - 1).long()
    counts = minidynamo.zeros(bins, dtype=input.dtype)
    return counts.scatter_add(0, place, inside.to(input.dtype))


@composite("function method")
def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """The n-th differences of neighbours along dim."""
    require_tensor("diff", input)
    if input.dim() == 0:
        raise RuntimeError("[diff] expects input to be at least one-dimensional")
    at = wrapped_dim("diff", dim, input.dim())
    if n < 0:
        raise RuntimeError(f"[diff] order must be non-negative but got {n}")
    if n == 0:
        return input.clone()
    if prepend is not None or append is not None:
        input = minidynamo.cat([part for part in (prepend, input, append) if part is not None], at)
    for _ in range(n):
        extent = input.shape[at]
        if extent <= 1:
            return input.narrow(at, 0, 0)
        after, before = input.narrow(at, 1, extent - 1), input.narrow(at, 0, extent - 1)
        input = after ^ before if input.dtype == minidynamo.bool else after - before
    return input


@composite("function", "trapz")
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """The integral along dim by the trapezoidal rule, at places x or a step of dx apart."""
    require_tensor("trapezoid", y, "y")
    at = wrapped_dim("trapezoid", dim, y.dim())
    extent = y.shape[at]
    if extent == 0:
        return y.sum(at, dtype=y.dtype)
    sums = y.narrow(at, 1, extent - 1) + y.narrow(at, 0, extent - 1)
    if x is None:
        return sums.sum(at) * (dx / 2)
    if x.dim() == 1:
        steps = x.diff().reshape([-1 if place == at else 1 for place in range(y.dim())])
    else:
        steps = x.reshape([1] * (y.dim() - x.dim()) + list(x.shape)).diff(dim=at)
    return (sums * steps).sum(at) / 2


@composite("function method")
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """The covariances of the rows, each a variable, over the columns."""
    require_tensor("cov", input)
    if input.dim() > 2:
        raise RuntimeError(f"[cov] expected input to have two or fewer dimensions; shape {tuple(input.shape)}")
    rows = input.reshape(1, -1) if input.dim() < 2 else input
    if rows.dtype == minidynamo.bool:
        raise RuntimeError("[cov] bool dtype is not supported for input")
    if not rows.is_floating_point():
        rows = rows + 0.0
    if fweights is None and aweights is None:
        centred = rows - rows.mean(1, True)
        return (centred.matmul(centred.t()) / max(rows.shape[1] - float(correction), 0.0)).squeeze()
    weights = _cov_weights(rows.shape[1], fweights, aweights)
    total = weights.sum()
    if rows.shape[1] > 0:
        require_data(total != 0, "[cov] weights sum to zero, can't be normalized")
    rest = total - correction
    if aweights is not None and correction != 0:
        rest = total - correction * (weights * aweights).sum() / total
    centred = rows - (rows * weights).sum(1, True) / total
    # If the correction equals the number of observations, the divisor is zero.
    return (centred.matmul((centred * weights).t()) / rest.clamp(min=0)).squeeze()


def _cov_weights(count: int, fweights: Tensor | None, aweights: Tensor | None) -> Tensor:
    for name, weights, whole in (("fweights", fweights, True), ("aweights", aweights, False)):
        if weights is None:
            continue
        if weights.dim() > 1:
            raise RuntimeError(f"[cov] expected {name} to have one or fewer dimensions; shape {tuple(weights.shape)}")
        if whole and (weights.is_floating_point() or weights.dtype == minidynamo.bool):
            raise RuntimeError(f"[cov] expected fweights to have integral dtype but got {weights.dtype}")
        if not whole and not weights.is_floating_point():
            raise RuntimeError(f"[cov] expected aweights to have floating point dtype but got {weights.dtype}")
        if weights.numel() != count:
            raise RuntimeError(
                f"[cov] expected {name} to have the same numel as there are observations in the input but got"
                f" {weights.numel()} != {count}"
            )
        require_data((weights < 0).any().logical_not(), f"[cov] {name} cannot be negative")
    if fweights is None or aweights is None:
        return fweights if aweights is None else aweights  # type: ignore[return-value]  # called with one of them
    return fweights * aweights


@composite("function method")
def corrcoef(input: Tensor) -> Tensor:
    """The correlations of the rows, each a variable, over the columns."""
    require_tensor("corrcoef", input)
    covariance = cov(input)
    if covariance.dim() == 0:
        return covariance / covariance
    deviation = covariance.diagonal().sqrt()
    return (covariance / deviation.unsqueeze(1) / deviation.unsqueeze(0)).clamp(-1, 1)


@composite("function method")
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """(values, indices): the most frequent element along dim, the smallest of several, and where it is last."""
    require_tensor("mode", input)
    at = wrapped_dim("mode", dim, input.dim())
    if input.dim() == 0:
        return _values_indices(input.clone(), minidynamo.zeros((), dtype=minidynamo.int64))
    if input.shape[at] == 0:
        raise IndexError(f"[mode] Expected reduction dim {dim} to have non-zero size; shape {tuple(input.shape)}")
    line = input.movedim(at, -1)
    values, order = line.sort(-1)
    begins = minidynamo.cat([values[..., :1] == values[..., :1], values[..., 1:] != values[..., :-1]], -1)
    number = minidynamo.arange(values.shape[-1]).expand(values.shape)
    # The start of each run of equal elements; the longest run ends farthest from it.
    began = minidynamo.where(begins, number, 0).cummax(-1).values
    last = (number - began).argmax(-1, keepdim=True)
    found, index = values.gather(-1, last), order.gather(-1, last)
    if not keepdim:
        return _values_indices(found.squeeze(-1), index.squeeze(-1))
    return _values_indices(found.movedim(-1, at), index.movedim(-1, at))
