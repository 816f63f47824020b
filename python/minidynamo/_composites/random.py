"""Random numbers of other distributions, derived from uniform and normal ones.

Equal seeds give equal numbers on any number of threads.
"""

from __future__ import annotations

import math

import minidynamo

from .._C import Tensor
from .registry import composite, require_data, require_tensor, written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _uniform(like: Tensor, generator: Any) -> Tensor:
    """Numbers in [0, 1) with the sizes and dtype of a tensor, the default dtype for integer tensors."""
    dtype = like.dtype if like.is_floating_point() else minidynamo.get_default_dtype()
    return minidynamo.rand(like.shape, dtype=dtype, generator=generator)


def _require_floating(op: str, input: Tensor) -> None:
    require_tensor(op, input)
    if not input.is_floating_point():
        raise RuntimeError(f"[{op}] expects floating point dtypes, got {input.dtype}")


@composite("function method")
def bernoulli(input: Tensor, p: float | None = None, *, generator: Any = None, out: Tensor | None = None) -> Tensor:
    """1 with the probability given by each element, or with p; else 0. In the dtype of input."""
    require_tensor("bernoulli", input)
    if p is None:
        _require_floating("bernoulli", input)
        return written((_uniform(input, generator) < input).to(input.dtype), out)
    if not 0 <= p <= 1:
        raise RuntimeError(f"[bernoulli] expects p to be in [0, 1], but got p={p}")
    return written((_uniform(input, generator) < p).to(input.dtype), out)


@composite("method")
def bernoulli_(input: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """1 with probability p, a number or a tensor, else 0, written to self."""
    require_tensor("bernoulli_", input)
    if not isinstance(p, Tensor) and not 0 <= p <= 1:
        raise RuntimeError(f"[bernoulli_] expects p to be in [0, 1], but got p={p}")
    return input.copy_(_uniform(input, generator) < p)


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
    _require_floating("normal_", input)
    if std < 0:
        raise RuntimeError(f"[normal_] expects std >= 0.0, but found std {std}")
    return input.copy_(minidynamo.randn(input.shape, dtype=input.dtype, generator=generator) * std + mean)


@composite("method")
def uniform_(input: Tensor, a: float = 0.0, b: float = 1.0, *, generator: Any = None) -> Tensor:
    """Numbers from [a, b), written to self."""
    _require_floating("uniform_", input)
    if a > b:
        raise RuntimeError(f"[uniform_] expects to return a [from, to) range, but found from={a} > to={b}")
    return input.copy_(_uniform(input, generator) * (b - a) + a)


@composite("method")
def exponential_(input: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    """Numbers of the exponential distribution with rate lambd, written to self."""
    _require_floating("exponential_", input)
    if lambd <= 0:
        raise RuntimeError(f"[exponential_] expects lambda > 0.0, but found lambda={lambd}")
    return input.copy_((-_uniform(input, generator)).log1p() * (-1 / lambd))


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
    return input.copy_((minidynamo.randn(input.shape, dtype=input.dtype, generator=generator) * std + mean).exp())


@composite("method")
def geometric_(input: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """How many trials of success p it takes until one succeeds, written to self."""
    require_tensor("geometric_", input)
    if not 0 < p < 1:
        raise RuntimeError(f"[geometric_] expects p to be in (0, 1), but got p={p}")
    if input.dtype == minidynamo.bool or input.is_complex():
        raise NotImplementedError(f"[geometric_] not implemented for '{input.dtype}'")
    numbers = minidynamo.rand(input.shape, dtype=minidynamo.float64, generator=generator)
    return input.copy_(((-numbers).log1p() / math.log1p(-p)).ceil().clamp(min=1))


@composite("method")
def random_(input: Tensor, *limits: Any, generator: Any = None) -> Tensor:
    """Integers from [0, to) for random_(to), [from, to) for random_(from, to), written to self; without limits, up
    to the largest that the dtype holds, of floats up to which all integers are representable."""
    require_tensor("random_", input)
    low, high = (0, None) if not limits else (0, limits[0]) if len(limits) == 1 else limits
    if high is None:
        high = _above_largest(input, limits)
    if low >= high:
        raise RuntimeError(f"[random_] expects 'from' to be less than 'to', but got from={low} >= to={high}")
    return input.copy_(minidynamo.randint(low, high, input.shape, generator=generator))


def _above_largest(input: Tensor, limits: tuple[Any, ...]) -> int:
    if input.is_floating_point():
        return int(2 / minidynamo.finfo(input.dtype).eps) + 1
    if input.dtype == minidynamo.bool:
        return 2
    largest = minidynamo.iinfo(input.dtype).max
    return largest if largest == 2**63 - 1 else largest + 1


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
    if replacement:
        totals = input.double().cumsum(-1)
        shape = (*input.shape[:-1], num_samples)
        drawn = minidynamo.rand(shape, dtype=minidynamo.float64, generator=generator) * totals[..., -1:]
        return written(minidynamo.searchsorted(totals, drawn, right=True).clamp(max=input.shape[-1] - 1), out)
    # The first of exponential waiting times with these rates; outcomes without probability never occur.
    waiting = -(-minidynamo.rand(input.shape, dtype=minidynamo.float64, generator=generator)).log1p() / input.double()
    require_data(
        ((input > 0).sum(-1) >= num_samples).all(),
        "[multinomial] invalid multinomial distribution (with replacement=False, not enough non-negative category to"
        " sample)",
    )
    return written(waiting.topk(num_samples, -1, False).indices, out)
