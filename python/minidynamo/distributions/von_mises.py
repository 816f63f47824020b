"""The von Mises distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, lazy_property


class VonMises(Distribution):
    """Of angles about loc, the narrower the larger concentration is.

    Samples: D. J. Best, N. I. Fisher, "Efficient Simulation of the von Mises Distribution" (1979), in float64.
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def _log_bessel(self, order: int) -> Tensor:
        scaled = minidynamo.special.i1e if order else minidynamo.special.i0e
        return scaled(self.concentration).log() + self.concentration

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        """The circular variance."""
        return 1 - (self._log_bessel(1) - self._log_bessel(0)).exp()

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(batch_shape, ("loc", "concentration"), _instance)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with minidynamo.no_grad():
            k = self.concentration.double().expand(shape)
            tau = 1 + (1 + 4 * k.square()).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * k)
            # The limit of the fraction for small k, where tau - sqrt(2 tau) loses all its digits.
            r = minidynamo.where(k < 1e-5, 1 / k + k, (1 + rho.square()) / (2 * rho))
            angle = minidynamo.zeros(shape, dtype=minidynamo.float64)
            is_open = minidynamo.ones(shape, dtype=minidynamo.bool)
            while bool(is_open.any()):
                a, b, side = minidynamo.rand([3, *shape], dtype=minidynamo.float64)
                z = (math.pi * a).cos()
                f = (1 + r * z) / (r + z)
                c = k * (r - f)
                accepted = ((c * (2 - c) - b) > 0) | (((c / b).log() + 1 - c) >= 0)
                drawn = (side - 0.5).sign() * f.clamp(-1, 1).acos()
                angle = minidynamo.where(is_open & accepted, drawn, angle)
                is_open = is_open & ~accepted
            angle = (angle + math.pi + self.loc.double()) % (2 * math.pi) - math.pi
            return angle.to(self.loc.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        found = self.concentration * (value - self.loc).cos()
        return found - math.log(2 * math.pi) - self._log_bessel(0)


_explain_missing(__name__)
