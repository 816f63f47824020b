"""Random numbers of other distributions, made as torch makes them on CPUs: equal seeds give torch's numbers.

Most are functions of uniform numbers in float64, also in narrower dtypes. Numbers that are written to a tensor are
drawn in the order of its memory.
"""

from __future__ import annotations

import math

import minidynamo

from .._C import Tensor
from .registry import composite, is_inexact, prims, require_data, require_tensor, written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _uniform(like: Tensor, generator: Any) -> Tensor:
    """Numbers of [0, 1) in float64 in the order of a tensor's memory."""
    return minidynamo.rand_like(like, dtype=minidynamo.float64, generator=generator)


def _below(like: Tensor, p: Tensor, generator: Any) -> Tensor:
    """Where uniform numbers, of float64 if p is, else of float32, are below p."""
    dtype = minidynamo.float64 if p.dtype == minidynamo.float64 else minidynamo.float32
    return minidynamo.rand_like(like, dtype=dtype, generator=generator) < p.to(dtype)


def _require_floating(op: str, input: Tensor) -> None:
    require_tensor(op, input)
    if not input.is_floating_point():
        raise RuntimeError(f"[{op}] expects floating point dtypes, got {input.dtype}")


def _require_inexact(op: str, input: Tensor) -> None:
    require_tensor(op, input)
    if not is_inexact(input):
        raise RuntimeError(f"[{op}] expects floating point dtypes, got {input.dtype}")


def _in_row_order(like: Tensor) -> Tensor:
    """A contiguous tensor of these sizes."""
    return like if like.is_contiguous() else minidynamo.empty(like.shape, dtype=like.dtype)


@composite("function method")
def bernoulli(input: Tensor, p: float | None = None, *, generator: Any = None, out: Tensor | None = None) -> Tensor:
    """1 with the probability given by each element, or with p; else 0. In the dtype of input."""
    require_tensor("bernoulli", input)
    if p is None:
        _require_floating("bernoulli", input)
        return written(_below(_in_row_order(input), input, generator).to(input.dtype), out)
    if not 0 <= p <= 1:
        raise RuntimeError(f"[bernoulli] expects p to be in [0, 1], but got p={p}")
    return written(prims.bernoulli_numbers(_in_row_order(input), p, generator=generator), out)


@composite("method")
def bernoulli_(input: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """1 with probability p, a number or a tensor, else 0, written to self."""
    require_tensor("bernoulli_", input)
    if isinstance(p, Tensor):
        return input.copy_(_below(input, p, generator))
    if not 0 <= p <= 1:
        raise RuntimeError(f"[bernoulli_] expects p to be in [0, 1], but got p={p}")
    return input.copy_(prims.bernoulli_numbers(input, p, generator=generator))


@composite("function")
def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """Numbers of Poisson distributions of these rates, in the dtype of input. RuntimeError for a rate below 0."""
    _require_floating("poisson", input)
    require_data((input >= 0).all(), "invalid Poisson rate, expected rate to be non-negative")
    return prims.poisson_numbers(input.detach(), generator=generator)


# Below, the trials are drawn one by one.
_FEW_TRIALS = 16


@composite("function")
def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """The number of successes of `count` trials of probability `prob`, in their dtype; they broadcast.

    Many trials are halved by their median, a beta number, until few are left. Not torch's numbers.
    Source: D. E. Knuth, "The Art of Computer Programming", volume 2, 3.4.1.
    """
    _require_floating("binomial", count)
    _require_floating("binomial", prob)
    with minidynamo.no_grad():
        n, p = minidynamo.broadcast_tensors(count.double().floor().clamp(min=0), prob.double())
        total = minidynamo.zeros_like(n)
        while bool((n > _FEW_TRIALS).any()):
            is_big = n > _FEW_TRIALS
            rank = minidynamo.where(is_big, (n / 2).floor() + 1, 1.0)
            above = minidynamo.where(is_big, n + 1 - rank, 1.0)
            a = prims.gamma_numbers(rank, generator=generator)
            median = a / (a + prims.gamma_numbers(above, generator=generator))
            is_below = median <= p
            total = total + minidynamo.where(is_big & is_below, rank, 0.0)
            rest = minidynamo.where(is_below, n - rank, rank - 1)
            of_rest = minidynamo.where(is_below, (p - median) / (1 - median), p / median)
            n, p = minidynamo.where(is_big, rest, n), minidynamo.where(is_big, of_rest, p)
        drawn = minidynamo.rand([_FEW_TRIALS, *n.shape], dtype=minidynamo.float64, generator=generator) < p
        trial = minidynamo.arange(_FEW_TRIALS).reshape([-1, *[1] * n.dim()])
        total = total + (drawn & (trial < n)).sum(0)
        return total.to(count.dtype)


@composite("function")
def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    dtype: Any = None,
    generator: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Normal numbers: mean and std are tensors that broadcast, or numbers with a size."""
    if isinstance(std, Tensor):
        require_data((std >= 0).all(), "[normal] expects all elements of std >= 0.0")
    elif std < 0:
        raise RuntimeError(f"[normal] expects std >= 0.0, but found std {std}")
    if size is not None:
        result = minidynamo.randn(size, dtype=dtype, generator=generator, device=device) * std + mean
        return result.requires_grad_() if requires_grad else result
    if isinstance(mean, Tensor) and isinstance(std, Tensor):
        shape = minidynamo.broadcast_shapes(mean.shape, std.shape)
    elif isinstance(mean, Tensor):
        shape = mean.shape
    else:
        require_tensor("normal", std, "std")
        shape = std.shape
    like = mean if isinstance(mean, Tensor) else std
    return minidynamo.randn(shape, dtype=like.dtype, generator=generator) * std + mean


@composite("method")
def normal_(input: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Normal numbers, written to self."""
    _require_inexact("normal_", input)
    if std < 0:
        raise RuntimeError(f"[normal_] expects std >= 0.0, but found std {std}")
    return input.copy_(prims.normal_numbers(input, mean, std, generator=generator))


@composite("method")
def uniform_(input: Tensor, a: float = 0.0, b: float = 1.0, *, generator: Any = None) -> Tensor:
    """Numbers from [a, b), written to self."""
    _require_inexact("uniform_", input)
    if a > b:
        raise RuntimeError(f"[uniform_] expects to return a [from, to) range, but found from={a} > to={b}")
    return input.copy_(prims.uniform_numbers(input, a, b, generator=generator))


@composite("method")
def exponential_(input: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    """Numbers of the exponential distribution with rate lambd, written to self."""
    _require_floating("exponential_", input)
    if lambd <= 0:
        raise RuntimeError(f"[exponential_] expects lambda > 0.0, but found lambda={lambd}")
    return input.copy_((1 - _uniform(input, generator)).log() * (-1 / lambd))


@composite("method")
def cauchy_(input: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Tensor:
    """Numbers of the Cauchy distribution, written to self."""
    _require_floating("cauchy_", input)
    if sigma <= 0:
        raise RuntimeError(f"[cauchy_] expects sigma > 0.0, but found sigma={sigma}")
    return input.copy_(median + sigma * (math.pi * (_uniform(input, generator) - 0.5)).tan())


@composite("method")
def log_normal_(input: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Tensor:
    """exp() of normal numbers, written to self."""
    _require_floating("log_normal_", input)
    if std <= 0:
        raise RuntimeError(f"[log_normal_] expects std > 0.0, but found std={std}")
    numbers = prims.normal_numbers(input, mean, std, dtype=minidynamo.float64, in_turn=True, generator=generator)
    return input.copy_(numbers.exp())


@composite("method")
def geometric_(input: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """How many trials of success p it takes until one succeeds, written to self."""
    require_tensor("geometric_", input)
    if not 0 < p < 1:
        raise RuntimeError(f"[geometric_] expects p to be in (0, 1), but got p={p}")
    if input.dtype == minidynamo.bool or input.is_complex():
        raise NotImplementedError(f"[geometric_] not implemented for '{input.dtype}'")
    return input.copy_((_uniform(input, generator).log() / math.log(1 - p)).ceil())


@composite("method")
def random_(input: Tensor, *limits: Any, generator: Any = None) -> Tensor:
    """Integers from [0, to) for random_(to), [from, to) for random_(from, to), written to self; without limits, up
    to the largest that the dtype holds, of floats up to which all integers are representable."""
    require_tensor("random_", input)
    if not limits:
        return input.copy_(prims.integers_from(input, generator=generator))
    low, high = (0, limits[0]) if len(limits) == 1 else limits
    if high is None:
        if low > _largest(input.dtype):
            raise RuntimeError(f"[random_] from is out of bounds for {input.dtype}")
        return input.copy_(prims.integers_from(input, low, generator=generator))
    if low >= high:
        raise RuntimeError(f"[random_] expects 'from' to be less than 'to', but got from={low} >= to={high}")
    return input.copy_(minidynamo.randint_like(input, low, high, generator=generator))


def _largest(dtype: Any) -> int:
    """The largest integer below which the dtype holds all."""
    if dtype == minidynamo.bool:
        return 1
    return int(2 / minidynamo.finfo(dtype).eps) if dtype.is_floating_point else minidynamo.iinfo(dtype).max


@composite("function method")
def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """Indices drawn with probabilities in proportion to the elements of each row: (n,) or (m, n) gives (..,
    num_samples)."""
    _require_floating("multinomial", input)
    if input.dim() not in (1, 2):
        raise RuntimeError(f"[multinomial] prob_dist must be 1 or 2 dim; shape {tuple(input.shape)}")
    if num_samples <= 0:
        raise RuntimeError(f"[multinomial] cannot sample n_sample <= 0 samples, got {num_samples}")
    if not replacement and num_samples > input.shape[-1]:
        raise RuntimeError(
            f"[multinomial] cannot sample n_sample > prob_dist.size(-1) samples without replacement: {num_samples} >"
            f" {input.shape[-1]}"
        )
    require_data(
        (input.isfinite() & (input >= 0)).all(),
        "[multinomial] probability tensor contains either `inf`, `nan` or element < 0",
    )
    require_data(
        (input.sum(-1) > 0).all(), "[multinomial] invalid multinomial distribution (sum of probabilities <= 0)"
    )
    if replacement and num_samples > 1:
        totals = (input if input.dtype == minidynamo.float64 else input.float()).cumsum(-1)
        shape = (*input.shape[:-1], num_samples)
        drawn = minidynamo.rand(shape, dtype=minidynamo.float64, generator=generator)
        return written(minidynamo.searchsorted((totals / totals[..., -1:]).double(), drawn), out)
    require_data(
        ((input > 0).sum(-1) >= num_samples).all(),
        "[multinomial] invalid multinomial distribution (with replacement=False, not enough non-negative category to"
        " sample)",
    )
    # The first of exponential waiting times with these rates: outcomes without probability never occur.
    rates = input / minidynamo.empty_like(input).exponential_(generator=generator)
    return written(rates.topk(num_samples, -1).indices, out)
