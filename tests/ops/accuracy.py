"""How far pointwise ops are from the exact result, in units in the last place (ULP).

The reference is NumPy's long double, with a mantissa of 64 bits on x86-64; operands are numbers of the dtype, so that only
the op's own error counts. One ULP is the distance of the two numbers of the dtype around the exact result. Half an ULP is
the minimum; for the 16-bit dtypes all operands are tried.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import minidynamo as md
from minidynamo.nn import functional as F

wide = np.longdouble
DTYPES = ("float32", "float64", "bfloat16", "float16")
# Bits of the mantissa without the hidden one, the exponent of the smallest normal number, the largest finite number.
FORMATS = {
    "float32": (23, -126, float(np.finfo(np.float32).max)),
    "float64": (52, -1022, float(np.finfo(np.float64).max)),
    "bfloat16": (7, -126, (2 - 2.0**-7) * 2.0**127),
    "float16": (10, -14, 65504.0),
}
TWO_OVER_ROOT_PI = wide(2) / np.sqrt(wide("3.14159265358979323846264338327950288"))
ROOT_HALF = np.sqrt(wide(0.5))


class Case(NamedTuple):
    """An op, its reference, and the operands that it is measured on: magnitudes up to 2 ** exponents[1]."""

    name: str
    run: Callable
    exact: Callable
    low: float = -math.inf
    high: float = math.inf
    exponents: tuple[float, float] = (-140, 127)
    operands: int = 1


def exp_of_minus_square(x):
    """exp(-x * x), with the square in two parts, since an error of the square is one of the exponent."""
    head = (x * wide(2**40 + 1)) - (x * wide(2**40 + 1) - x)
    return np.exp(-head * head) * np.exp(-(x - head) * (x + head))


def erf(x):
    """The series of positive terms: 2 / sqrt(pi) * exp(-x * x) * (x + 2/3 x^3 + 4/15 x^5 ...)."""
    a = np.minimum(np.abs(x), wide(7))
    term, total = a.copy(), a.copy()
    for n in range(1, 220):
        term = term * (2 * a * a / (2 * n + 1))
        total = total + term
    value = np.minimum(TWO_OVER_ROOT_PI * exp_of_minus_square(a) * total, wide(1))
    return np.copysign(np.where(np.isnan(x), x, value), x)


def erfc(x):
    """1 - erf(x) below 2; above it the continued fraction of exp(-x * x) / sqrt(pi) / (x + 1/2 / (x + 1 / (x + 3/2 ...)))."""
    a = np.clip(x, wide(2), wide(120))
    fraction = a.copy()
    for n in range(160, 0, -1):
        fraction = a + (wide(n) / 2) / fraction
    tail = TWO_OVER_ROOT_PI / 2 * exp_of_minus_square(a) / fraction
    return np.where(x < 2, wide(1) - erf(np.minimum(x, wide(2))), np.where(x > 120, wide(0), tail))


def remainder(a, b):
    rest = np.fmod(a, b)
    return np.where((rest != 0) & (np.signbit(b) != np.signbit(rest)), rest + b, rest)


def normal_distribution(x):
    return erfc(-x * ROOT_HALF) / 2


def by_method(name):
    return lambda *operands: getattr(md, name)(*operands)


def unary(name, exact, **where):
    return Case(name, by_method(name), exact, **where)


def binary(name, exact, **where):
    return Case(name, by_method(name), exact, operands=2, **where)


CASES = (
    unary("reciprocal", lambda x: 1 / x),
    unary("square", lambda x: x * x),
    unary("sqrt", np.sqrt, low=0),
    unary("rsqrt", lambda x: 1 / np.sqrt(x), low=0),
    unary("exp", np.exp, exponents=(-60, 10)),
    unary("exp2", np.exp2, exponents=(-60, 10)),
    unary("expm1", np.expm1, exponents=(-140, 10)),
    unary("log", np.log, low=0),
    unary("log2", np.log2, low=0),
    unary("log10", np.log10, low=0),
    unary("log1p", np.log1p, low=-1),
    unary("sin", np.sin),
    unary("cos", np.cos),
    unary("tan", np.tan),
    unary("asin", np.arcsin, low=-1, high=1, exponents=(-140, 0)),
    unary("acos", np.arccos, low=-1, high=1, exponents=(-140, 0)),
    unary("atan", np.arctan),
    unary("sinh", np.sinh, exponents=(-140, 10)),
    unary("cosh", np.cosh, exponents=(-140, 10)),
    unary("tanh", np.tanh, exponents=(-140, 6)),
    unary("asinh", np.arcsinh),
    unary("acosh", np.arccosh, low=1),
    unary("atanh", np.arctanh, low=-1, high=1, exponents=(-140, 0)),
    unary("erf", erf, exponents=(-140, 4)),
    unary("erfc", erfc, exponents=(-140, 5)),
    unary("sigmoid", lambda x: 1 / (1 + np.exp(-x)), low=-85, exponents=(-60, 10)),
    Case("silu", F.silu, lambda x: x / (1 + np.exp(-x)), low=-85, exponents=(-60, 10)),
    Case("gelu", F.gelu, lambda x: x * normal_distribution(x), low=-3, exponents=(-60, 10)),
    Case("softplus", F.softplus, lambda x: np.log1p(np.exp(np.minimum(x, wide(20)))) + np.maximum(x - 20, 0),
         high=20, exponents=(-60, 10)),
    Case("elu", F.elu, lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, wide(0))))),
    binary("add", np.add),
    binary("sub", np.subtract),
    binary("mul", np.multiply),
    binary("div", np.divide),
    binary("fmod", np.fmod, exponents=(-40, 40)),
    binary("remainder", remainder, exponents=(-40, 40)),
    binary("pow", np.power, low=0, exponents=(-20, 20)),
    binary("atan2", np.arctan2),
    binary("hypot", np.hypot),
)  # fmt: skip


def to_dtype(values, dtype):
    """float64 numbers rounded to the nearest of the dtype, still as float64, and the tensor of them."""
    tensor = md.tensor(np.asarray(values, dtype=np.float64)).to(getattr(md, dtype))
    return tensor.to(md.float64).numpy(), tensor


def every_value(dtype):
    patterns = np.arange(1 << 16, dtype=np.uint32)
    if dtype == "float16":
        return patterns.astype(np.uint16).view(np.float16).astype(np.float64)
    return (patterns << 16).view(np.float32).astype(np.float64)


def drawn_values(case, dtype, count, rng):
    """Half spread over all magnitudes of both signs, half over [-10, 10], in the op's domain."""
    lowest = max(case.exponents[0], FORMATS[dtype][1] - FORMATS[dtype][0] - 1)
    highest = min(case.exponents[1], math.log2(FORMATS[dtype][2]))
    spread = np.exp2(rng.uniform(lowest, highest, count // 2)) * rng.choice([-1.0, 1.0], count // 2)
    near = rng.uniform(max(case.low, -10), min(case.high, 10), count - count // 2)
    values = np.concatenate([spread, near])
    outside = (values < case.low) | (values > case.high)
    return np.where(outside, rng.uniform(max(case.low, -1), min(case.high, 1) if case.low < 1 else 2, count), values)


def operands_of(case, dtype, count, seed):
    rng = np.random.default_rng(seed)
    if case.operands == 1 and FORMATS[dtype][0] < 16:
        values = every_value(dtype)
        values = values[np.isfinite(values) & (values >= case.low) & (values <= case.high)]
        return [values]
    return [drawn_values(case, dtype, count, rng) for _ in range(case.operands)]


def errors_in_ulp(got, exact, dtype):
    """The error of each result; if the exact result is beyond the largest number, infinity is no error."""
    mantissa, smallest, largest = FORMATS[dtype]
    exponent = np.maximum(np.frexp(exact)[1] - 1, smallest).astype(np.float64)
    unit = np.exp2((exponent - mantissa).astype(wide))
    beyond = np.abs(exact) >= wide(largest) * (1 + wide(2.0) ** -(mantissa + 2))
    right = (np.isnan(exact) & np.isnan(got)) | (beyond & (got == np.copysign(np.inf, exact.astype(np.float64))))
    with np.errstate(all="ignore"):
        error = np.abs(got.astype(wide) - exact) / unit
    return np.where(right, 0.0, np.where(np.isnan(error), np.inf, error).astype(np.float64))


# In ULP. Ops that are in none of these must satisfy the first.
BOUND = {"float32": 4.0, "float64": 4.0, "bfloat16": 0.51, "float16": 0.53}
# 1 + erf(x) loses the digits that erf has in common with -1: torch's formula.
BOUNDS = {("gelu", "float32"): 600.0, ("gelu", "float64"): 600.0}


class Worst(NamedTuple):
    ulp: float
    operands: tuple


def measured(case, dtype, count=200_000, run=None, seed=1):
    """The largest error of an op for a dtype, and where it occurs. run is another implementation, over float64 arrays."""
    values, tensors = [], []
    for drawn in operands_of(case, dtype, count, seed):
        held, tensor = to_dtype(drawn, dtype)
        values.append(held)
        tensors.append(tensor)
    got = run(*values) if run is not None else case.run(*tensors).to(md.float64).numpy()
    with np.errstate(all="ignore"):
        exact = case.exact(*[value.astype(wide) for value in values])
    errors = errors_in_ulp(got, exact, dtype)
    at = int(errors.argmax())
    return Worst(float(errors[at]), tuple(float(value[at]) for value in values))


def with_torch(case):
    """torch's implementation of a case, over float64 arrays of numbers of that dtype."""
    import torch

    home = torch if hasattr(torch, case.name) else torch.nn.functional
    return lambda dtype: (
        lambda *values: (
            getattr(home, case.name)(*[torch.tensor(value).to(getattr(torch, dtype)) for value in values])
            .to(torch.float64)
            .numpy()
        )
    )


PAGE = """# Accuracy

The largest error of each pointwise op, in units in the last place (ULP): the distance of the two numbers of the dtype that are
next to the exact result. Half a ULP is what correct rounding leaves. The reference is computed with 64 bits of mantissa
(`tests/ops/accuracy.py`); the operands are {count:,} random ones, half of them spread over all magnitudes and half between -10 and
10, and for ops with one operand of a 16-bit dtype all there are. `tests/ops/test_accuracy.py` measures anew and holds 4 ULP, and
0.53 ULP for the 16-bit dtypes, which are computed in float32 and rounded once. Beside them torch {torch}, on the same operands.

The instruction set was {simd}; others may differ by some tenths. `exp`, `log`, `erf` and `tanh` of float32 are own functions where
there are AVX2 or AVX-512. Over all float32 numbers their largest errors are 1.02, 0.89, 1.71 and 1.34 with AVX2 and 1.02, 1.45, 0.92 and
0.67 with AVX-512. Elsewhere they are the C library's vector functions, with up to 4.

"""

NOTES = """
- `gelu` is torch's formula, half of x times 1 + erf(x / sqrt(2)): for negative x the sum loses the digits that erf has in common
  with -1. The error is relative to a small result; the absolute one stays below 1e-7 in float32. Measured from -3 upwards.
- `sigmoid` and `silu` are measured from -85 upwards. Where exp(-x) is beyond the largest number they are 0, as in torch.
- Sums, means, norms and products of float32 are added up pairwise or in float64: the sum of 10^7 numbers is right to 1e-6 of its
  magnitude, which `tests/ops/test_accuracy.py` holds.
- Convolutions of float32 with kernels of 3 x 3 by tiles (`config.winograd`) are off by at most 1e-7 of the sum of the products'
  magnitudes for 64 channels, 2e-7 for 400; oneDNN's by 2e-7 for both. The error is relative to the largest number of a window and the
  largest of its kernel: where kernels have numbers of very different magnitude, the direct sum is nearer. `tests/executor/test_winograd.py`
  holds 4e-7.
- NaN, infinities, zeros of both signs and subnormal numbers give what torch gives; nothing is flushed to zero.
- Products and convolutions under `options={"precision": "bfloat16"}`, each of attention's two as well, are off by at most 2^-7 of the
  sum of the products' magnitudes, and usually by far less: both operands are rounded to 8 bits, 2^-8 each at most; sums are float32. Under `options={"weights": "int8"}` a weight is off by
  at most half of its column's step, the largest magnitude of the column over 127, and an element of the other operand by at most one step
  of its row, the range of the row and 0 over 255 (half of it but at the ends of the range); sums are exact.
  `tests/executor/test_reduced_precision.py` holds both. Subnormal operands may count as 0 in bfloat16, numbers beyond 3.39e38 as infinities;
  in int8 a row, or a column of the weight, that is not finite has NaN for results. Of models with random weights
  (`benchmarks/reduced_precision.py`) the largest error, relative to the largest result:

  | | bfloat16 | int8 | both |
  | --- | ---: | ---: | ---: |
  | MLP 1024-4096-1024, 1 row | 3.6e-3 | 1.1e-2 | 1.1e-2 |
  | MLP 1024-4096-1024, 32 rows | 3.1e-3 | 1.2e-2 | 1.2e-2 |
  | MLP 1024-4096-1024, 256 rows | 3.2e-3 | 1.1e-2 | 1.1e-2 |
  | 4 GPT blocks, d 768, 128 tokens | 1.9e-3 | 7.1e-3 | 7.3e-3 |
  | 4 GPT blocks, d 768, 512 tokens | 1.8e-3 | 6.6e-3 | 6.8e-3 |
  | bottlenecks of ResNet-50, 224 x 224 | 3.9e-3 | | 3.9e-3 |
  | 3 x 3 convolutions of ResNet-18, 224 x 224 | 1.7e-3 | | 1.7e-3 |
"""


def page():
    """Returns docs/accuracy.md. Needs torch."""
    import torch

    from minidynamo import _C

    count = 100_000
    lines = []
    for case in CASES:
        theirs = with_torch(case)
        cells = [f"{measured(case, dtype, count).ulp:.2f}" for dtype in DTYPES]
        cells += [f"{measured(case, dtype, count, run=theirs(dtype)).ulp:.2f}" for dtype in DTYPES]
        lines.append(f"| `{case.name}` | {' | '.join(cells)} |")
    header = f"| op | {' | '.join(DTYPES)} | {' | '.join(f'torch, {dtype}' for dtype in DTYPES)} |"
    rule = "| --- |" + " ---: |" * (2 * len(DTYPES))
    version = torch.__version__.partition("+")[0]
    intro = PAGE.format(count=count, torch=version, simd=_C.build_info()["instruction set"])
    return intro + "\n".join([header, rule, *lines]) + "\n" + NOTES
