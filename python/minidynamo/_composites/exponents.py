"""Floats as a mantissa and an exponent."""

from __future__ import annotations

from collections import namedtuple

import minidynamo

from .._C import Tensor
from .registry import composite, require_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_frexp = namedtuple("_frexp", "mantissa exponent")


@composite("function method")
def frexp(input: Tensor) -> Any:
    """(mantissa, exponent) with mantissa * 2**exponent = input: mantissas in [0.5, 1), int32 exponents.

    Zeros, infinities and NaN are their own mantissas, with the exponent 0.
    """
    require_tensor("frexp", input)
    if not input.is_floating_point():
        raise RuntimeError(f"[frexp] torch.frexp() only supports floating-point dtypes, got {input.dtype}")
    x = input.double()
    plain = x.isfinite() & (x != 0)
    size = minidynamo.where(plain, x.abs(), 1.0)
    # The logarithm is rounded: one step to either side brings the mantissa into its range. Two factors reach 2**-1074.
    exponent = size.log2().floor() + 1.0
    half = (exponent / 2).floor()
    mantissa = size * minidynamo.exp2(-half) * minidynamo.exp2(half - exponent)
    low, high = mantissa < 0.5, mantissa >= 1.0
    mantissa = minidynamo.where(low, mantissa * 2, minidynamo.where(high, mantissa / 2, mantissa))
    exponent = exponent - low.double() + high.double()
    mantissa = minidynamo.where(plain, minidynamo.copysign(mantissa, x), x)
    exponent = minidynamo.where(plain, exponent, 0.0)
    return _frexp(mantissa.to(input.dtype), exponent.to(minidynamo.int32))
