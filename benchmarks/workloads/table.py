"""What a workload is: one Row, with its function in the natural form of each library that it is natural to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy

# Target of issue and table by group: how many times as fast as the best peer.
TARGETS = {
    "calls": 1.5,
    "pointwise": 1.3,
    "row reductions": 1.1,
    "products": 1.0,
    "models": 1.1,
    "stencils": 1.0,
    "distances": 1.0,
    "scans": 1.0,
    "gather and scatter": 1.0,
}
# The largest error relative to the largest magnitude of the reference.
TOLERANCES = {"float32": 2e-5, "float64": 1e-12, "bfloat16": 2e-2}


@dataclass(frozen=True)
class Row:
    """One workload.

    inputs: of a numpy.random.Generator; float64 arrays, which the contenders get in `dtype`, integers, numbers and
    containers of them. weights: likewise, {name of the parameter: array}; names are those of the torch module.
    reference: of the inputs, and of the weights if there are any, in float64.
    forms: {language: builder}. A builder takes the library and returns the function; "torch" also serves minidynamo.
    products: floating-point operations in matrix products and convolutions, two for each multiply-add.
    moved: bytes that have to be read and written, where that is not each input, weight and output once.
    size: what the row is drawn at in plots of time against size.
    """

    family: str
    shape: str
    dtype: str
    group: str
    inputs: Callable[[numpy.random.Generator], list[Any]]
    reference: Callable[..., Any]
    forms: Mapping[str, Callable[[Any], Any]]
    weights: Callable[[numpy.random.Generator], dict[str, Any]] | None = None
    products: float = 0.0
    moved: float = 0.0
    size: float = 0.0
    tolerance: float = 0.0
    target: float = 0.0
    is_headline: bool = False
    is_curve: bool = False  # only for the plots
    is_eager: bool = False  # not for contenders that compile

    @property
    def name(self) -> str:
        return ", ".join(part for part in (self.family, self.shape, self.dtype) if part)

    @property
    def largest_error(self) -> float:
        return self.tolerance or TOLERANCES[self.dtype]

    @property
    def aim(self) -> float:
        return self.target or TARGETS[self.group]


def array_forms(build, *languages):
    """One builder for all libraries in which the function is written alike."""
    return dict.fromkeys(languages or ("torch", "numpy", "jax", "mlx"), build)


def map_arrays(function, value):
    """The value with function(array) in place of each array in its lists, tuples and dicts."""
    if isinstance(value, numpy.ndarray):
        return function(value)
    if isinstance(value, list | tuple):
        return type(value)(map_arrays(function, part) for part in value)
    if isinstance(value, dict):
        return {key: map_arrays(function, part) for key, part in value.items()}
    return value


def arrays_in(value):
    found = []
    map_arrays(found.append, value)
    return found
