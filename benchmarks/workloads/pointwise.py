"""Chains of pointwise operations at three sizes; more sizes for the plots."""

import math

import numpy

from .special import Exact
from .table import Row, array_forms

SIZES = (3, 5, 7)  # powers of ten
CURVE = (1, 2, 4, 6)
RATE, VOLATILITY = 0.03, 0.2


def gelu(library):
    def f(x):
        return 0.5 * x * (1 + library.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))

    return f


def gelu_numba(jit):
    @jit
    def f(x):
        number = x.dtype.type
        inner = number(0.7978845608028654) * (x + number(0.044715) * x * x * x)
        return number(0.5) * x * (number(1) + numpy.tanh(inner))

    return f


def gelu_numexpr(numexpr):
    return "0.5 * a0 * (1 + tanh(0.7978845608028654 * (a0 + 0.044715 * a0 * a0 * a0)))"


def black_scholes(library):
    def f(spot, strike, years):
        deviation = VOLATILITY * library.sqrt(years)
        d1 = (library.log(spot / strike) + (RATE + VOLATILITY * VOLATILITY / 2) * years) / deviation
        d2 = d1 - deviation
        below1 = 0.5 * (1 + library.erf(d1 * 0.7071067811865476))
        below2 = 0.5 * (1 + library.erf(d2 * 0.7071067811865476))
        return spot * below1 - strike * library.exp(-RATE * years) * below2

    return f


def black_scholes_numba(jit):
    from numba import prange

    @jit
    def f(spot, strike, years):
        result = numpy.empty_like(spot)
        number = spot.dtype.type
        for i in prange(spot.size):
            deviation = number(VOLATILITY) * math.sqrt(years[i])
            d1 = (math.log(spot[i] / strike[i]) + number(RATE + VOLATILITY * VOLATILITY / 2) * years[i]) / deviation
            d2 = d1 - deviation
            below1 = number(0.5) * (1 + math.erf(d1 * number(0.7071067811865476)))
            below2 = number(0.5) * (1 + math.erf(d2 * number(0.7071067811865476)))
            result[i] = spot[i] * below1 - strike[i] * math.exp(-number(RATE) * years[i]) * below2
        return result

    return f


def waves(library):
    def f(x):
        return x * library.sin(x) + library.cos(x) ** 2

    return f


def waves_numba(jit):
    @jit
    def f(x):
        return x * numpy.sin(x) + numpy.cos(x) * numpy.cos(x)

    return f


def waves_numexpr(numexpr):
    return "a0 * sin(a0) + cos(a0) ** 2"


def normal(size):
    return lambda rng: [rng.standard_normal(size)]


def options(size):
    return lambda rng: [rng.uniform(20, 60, size), rng.uniform(20, 60, size), rng.uniform(0.2, 2, size)]


FAMILIES = {
    "gelu chain": (normal, gelu, gelu_numba, gelu_numexpr, gelu(numpy)),
    "Black-Scholes": (
        options,
        black_scholes,
        black_scholes_numba,
        None,
        black_scholes(Exact),
    ),
    "x sin x + cos^2 x": (normal, waves, waves_numba, waves_numexpr, waves(numpy)),
}


def row(family, power, dtype, is_curve):
    inputs, build, numba, numexpr, reference = FAMILIES[family]
    return Row(
        family,
        f"10^{power}",
        dtype,
        "pointwise",
        inputs(10**power),
        reference,
        {**array_forms(build), "numba": numba, **({"numexpr": numexpr} if numexpr else {})},
        size=10.0**power,
        target=3.0 if power <= 3 else 0.0,
        is_headline=dtype == "float32" and power == 5 and not is_curve,
        is_curve=is_curve,
    )


ROWS = [
    *(row(family, power, dtype, False) for family in FAMILIES for dtype in ("float32", "float64") for power in SIZES),
    *(row(family, power, "float32", True) for family in FAMILIES for power in CURVE),
]
