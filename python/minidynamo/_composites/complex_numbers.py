"""Complex numbers: their parts, conjugates and polar form."""

from __future__ import annotations

import minidynamo

from .._C import Tensor
from .autocast import full_precision, is_autocasting
from .registry import composite, in_place, prims, require_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@in_place("conj_physical")
@composite("function method", "conj_physical")
def conj(input: Tensor) -> Tensor:
    """The conjugates of complex numbers, in memory of their own; real numbers are returned as they are."""
    require_tensor("conj", input)
    return prims.conj(input) if input.is_complex() else input


@composite("function method")
def resolve_conj(input: Tensor) -> Tensor:
    """input: conjugates are always computed."""
    require_tensor("resolve_conj", input)
    return input


@composite("function")
def real(input: Tensor) -> Tensor:
    """The real parts, a view; real numbers are returned as they are."""
    require_tensor("real", input)
    return input.real if input.is_complex() else input


@composite("function")
def imag(input: Tensor) -> Tensor:
    """The imaginary parts of complex numbers, a view."""
    require_tensor("imag", input)
    return input.imag


@composite("function")
def polar(abs: Tensor, angle: Tensor, *, out: Any = None) -> Tensor:
    """The complex numbers of these magnitudes and angles."""
    if out is None and is_autocasting():
        return full_precision(polar, abs, angle)
    require_tensor("polar", abs, "abs")
    require_tensor("polar", angle, "angle")
    result = minidynamo.complex(abs * angle.cos(), abs * angle.sin())
    return result if out is None else out.copy_(result)
