"""Special functions that torch also has at the top."""

from __future__ import annotations

import math

import minidynamo

from .._C import Tensor
from .gamma_functions import by_row
from .pointwise import in_one_dtype
from .registry import as_floating, composite, in_place, prims, require_real, require_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@in_place()
@composite("function method")
def erfinv(input: Tensor) -> Tensor:
    """The inverse of erf: infinite at -1 and 1, NaN outside."""
    return by_row("erfinv", input, prims.special_erfinv)


def chebyshev(x: Tensor, factors: tuple[float, ...]) -> Tensor:
    """The sum of a series of Chebyshev polynomials of x / 2, highest degree first, with half of the last factor."""
    before = last = minidynamo.zeros_like(x)
    total = minidynamo.full_like(x, factors[0])
    for factor in factors[1:]:
        before, last = last, total
        total = x * last - before + factor
    return 0.5 * (total - before)


@in_place()
@composite("function method")
def i0(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind, of order 0."""
    return by_row("i0", input, prims.special_i0)


@composite("function method")
def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    """log2(2**input + 2**other), without intermediate overflow."""
    require_tensor("logaddexp2", input)
    require_tensor("logaddexp2", other, "other")
    require_real("logaddexp2", input, other)
    a, b = [as_floating(each) for each in in_one_dtype(input, other)]
    wide_a, wide_b = a.double(), b.double()
    larger = minidynamo.maximum(wide_a, wide_b)
    added = larger + (-(wide_a - wide_b).abs()).exp2().log1p() * (1 / math.log(2))
    return minidynamo.where(wide_a.isinf() & (wide_a == wide_b), wide_a, added).to(a.dtype)


def number_or_tensor(value: Any, dtype: Any) -> Tensor:
    """A Python number as a 0-d tensor of the dtype."""
    return value if isinstance(value, Tensor) else minidynamo.full((), value, dtype=dtype)
