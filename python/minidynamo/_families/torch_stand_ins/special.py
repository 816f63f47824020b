"""Special functions that take more steps for some data: without a look at it, where it is positive."""

from __future__ import annotations

import math

import minidynamo

from ..._C import Tensor
from ..._composites.gamma_functions import hurwitz_zeta_after, polygamma_by
from ..._composites.registry import require_data
from ...special import two_floating
from .table import TABLE, StandIn, in_place, stands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _zeta_of_positive(x: Tensor, q: Tensor) -> Tensor:
    require_data((q > 0.0).all(), "zeta of a number that is not positive")
    found = hurwitz_zeta_after(9, x, q)
    return minidynamo.where(x == 1.0, math.inf, minidynamo.where(x < 1.0, math.nan, found))


@stands_in("special.zeta special_zeta")
def zeta(input: Any, other: Any) -> Tensor:
    x, q = two_floating("zeta", input, other)
    return _zeta_of_positive(x.double(), q.double()).to(x.dtype)


@stands_in("polygamma special.polygamma special_polygamma")
def polygamma(n: int, input: Tensor) -> Tensor:
    return polygamma_by(_zeta_of_positive, n, input)


@stands_in("Tensor.polygamma")
def polygamma_of(self: Tensor, n: int) -> Tensor:
    return polygamma_by(_zeta_of_positive, n, self)


TABLE.append(StandIn("Tensor.polygamma_", in_place(polygamma_of)))
