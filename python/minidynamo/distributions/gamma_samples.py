"""Numbers of the gamma and Poisson distributions: an operator without a graph of its own, computed by numpy.random.

Its seed is drawn from minidynamo's generator, so that manual_seed determines the numbers.
"""

from __future__ import annotations

from typing import Any

import minidynamo

from .. import _C
from ..library.custom_op import custom_op


def standard_gamma(concentration: _C.Tensor) -> _C.Tensor:
    """One number for each element: the gamma distribution of this concentration and rate 1."""
    return _drawn(concentration, minidynamo.randint(0, 2**62, (2,)), "standard_gamma")


def poisson(rate: _C.Tensor) -> _C.Tensor:
    """One number for each element: the Poisson distribution of this rate, in its dtype."""
    return _drawn(rate, minidynamo.randint(0, 2**62, (2,)), "poisson")


@custom_op("minidynamo::drawn", mutates_args=())
def _drawn(parameter: _C.Tensor, seed: _C.Tensor, name: str) -> _C.Tensor:
    try:
        import numpy
    except ImportError as error:
        raise ImportError(f"samples of this distribution need NumPy, which cannot be imported: {error}") from None
    generator = numpy.random.Generator(numpy.random.PCG64(seed.tolist()))
    draw: Any = getattr(generator, name)
    numbers = draw(parameter.detach().double().numpy())
    return _C.from_numpy(numpy.asarray(numpy.atleast_1d(numbers))).reshape(parameter.shape).to(parameter.dtype)


@_drawn.register_fake
def _(parameter: _C.Tensor, seed: _C.Tensor, name: str) -> _C.Tensor:
    return parameter.new_empty(parameter.shape)
