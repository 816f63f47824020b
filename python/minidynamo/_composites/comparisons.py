"""Which elements are close, and which are in a set."""

from __future__ import annotations

import minidynamo

from .._C import Tensor
from .registry import composite, is_inexact, require_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@composite("function method")
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """True where |input - other| <= atol + rtol * |other|, and where both are the same infinity; NaN is close on
    request."""
    require_tensor("isclose", input)
    require_tensor("isclose", other, "other")
    if input.dtype != other.dtype:
        raise RuntimeError(f"[isclose] {input.dtype} did not match {other.dtype}")
    if rtol < 0 or atol < 0:
        raise RuntimeError(f"[isclose] rtol and atol must be greater than or equal to zero, but got {rtol} and {atol}")
    close = input == other
    if input.dtype == minidynamo.bool:
        return close
    has_nan = is_inexact(input)
    if equal_nan and has_nan:
        close = close | (input.isnan() & other.isnan())
    if rtol == 0 and atol == 0:
        return close
    if not has_nan:
        input, other = input.to(minidynamo.get_default_dtype()), other.to(minidynamo.get_default_dtype())
    distance = (input - other).abs()
    return close | (distance.isfinite() & (distance <= (other * rtol).abs() + atol))


@composite("function")
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """True where the element is one of test_elements; with invert, where it is not."""
    if not isinstance(elements, Tensor):
        elements = minidynamo.tensor(elements)
    if not isinstance(test_elements, Tensor):
        test_elements = minidynamo.tensor(test_elements)
    found = (elements.unsqueeze(-1) == test_elements.reshape(-1)).any(-1)
    return ~found if invert else found
