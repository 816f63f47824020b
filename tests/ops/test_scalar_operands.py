"""A number as an operand next to a tensor, for all kinds of numbers, dtypes and positions: torch's elements, or its
error."""

import math

import pytest

import minidynamo as md

torch = pytest.importorskip("torch")

NUMBERS = [
    *(3, 2.5, 0, -1, -2.5, True, -0.0, 300, -300, 70000, 2**31, 2**40, 2**63 - 1, -(2**63), 2**63, 2**64 - 1),
    *(2**64, 10**30, 1e10, 1e39, 1e300, math.nan, math.inf, -math.inf),
]
WHOLE = ("bool", "uint8", "int8", "int16", "int32", "int64")
HALVES = ("bfloat16", "float16")
DTYPES = (*WHOLE, *HALVES, "float32", "float64")
TOLERANCES = {"float64": 1e-10, "float32": 1e-4, "bfloat16": 2e-2, "float16": 2e-2}


def mask(lib):
    return lib.tensor([True, False, True, False])


def first(lib):
    return lib.tensor([0])


CALLS = {
    "add": lambda lib, x, n: x + n,
    "radd": lambda lib, x, n: n + x,
    "sub": lambda lib, x, n: x - n,
    "rsub": lambda lib, x, n: n - x,
    "mul": lambda lib, x, n: x * n,
    "div": lambda lib, x, n: x / n,
    "rdiv": lambda lib, x, n: n / x,
    "floor_divide": lambda lib, x, n: x // n,
    "rfloor": lambda lib, x, n: n // x,
    "remainder": lambda lib, x, n: x % n,
    "rrem": lambda lib, x, n: n % x,
    "fmod": lambda lib, x, n: lib.fmod(x, n),
    "pow": lambda lib, x, n: x**n,
    "rpow": lambda lib, x, n: n**x,
    "eq": lambda lib, x, n: x == n,
    "lt": lambda lib, x, n: x < n,
    "ge": lambda lib, x, n: x >= n,
    "and": lambda lib, x, n: x & n,
    "or": lambda lib, x, n: x | n,
    "xor": lambda lib, x, n: x ^ n,
    "where1": lambda lib, x, n: lib.where(mask(lib), x, n),
    "where2": lambda lib, x, n: lib.where(mask(lib), n, x),
    "clamp": lambda lib, x, n: x.clamp(min=n),
    "clampmax": lambda lib, x, n: x.clamp(max=n),
    "clamp2": lambda lib, x, n: x.clamp(0, n),
    "clamp_min": lambda lib, x, n: x.clamp_min(n),
    "clamp_max": lambda lib, x, n: x.clamp_max(n),
    "addalpha": lambda lib, x, n: lib.add(x, x, alpha=n),
    "subalpha": lambda lib, x, n: lib.sub(x, x, alpha=n),
    "addcmul": lambda lib, x, n: lib.addcmul(x, x, x, value=n),
    "addcdiv": lambda lib, x, n: lib.addcdiv(x, x, x + 1, value=n),
    "lerp": lambda lib, x, n: lib.lerp(x, x + 1, n),
    "fill_": lambda lib, x, n: x.clone().fill_(n),
    "full": lambda lib, x, n: lib.full((4,), n, dtype=x.dtype),
    "full0": lambda lib, x, n: lib.full((4,), n),
    "full_like": lambda lib, x, n: lib.full_like(x, n),
    "new_full": lambda lib, x, n: x.new_full((4,), n),
    "masked_fill": lambda lib, x, n: x.masked_fill(mask(lib), n),
    "index_fill": lambda lib, x, n: x.index_fill(0, first(lib), n),
    "scatter": lambda lib, x, n: x.scatter(0, first(lib), n),
    "setitem": lambda lib, x, n: (lambda y: (y.__setitem__(0, n), y)[1])(x.clone()),
    "setslice": lambda lib, x, n: (lambda y: (y.__setitem__(slice(0, 2), n), y)[1])(x.clone()),
    "setmask": lambda lib, x, n: (lambda y: (y.__setitem__(mask(lib), n), y)[1])(x.clone()),
    "setidx": lambda lib, x, n: (lambda y: (y.__setitem__(first(lib), n), y)[1])(x.clone()),
    "add_": lambda lib, x, n: x.clone().add_(n),
    "mul_": lambda lib, x, n: x.clone().mul_(n),
    "div_": lambda lib, x, n: x.clone().div_(n),
    "pow_": lambda lib, x, n: x.clone().pow_(n),
    "threshold": lambda lib, x, n: lib.nn.functional.threshold(x, n, 7),
    "threshold2": lambda lib, x, n: lib.nn.functional.threshold(x, 1, n),
    "hardshrink": lambda lib, x, n: lib.nn.functional.hardshrink(x, n),
    "softshrink": lambda lib, x, n: lib.nn.functional.softshrink(x, n),
    "hardtanh": lambda lib, x, n: lib.nn.functional.hardtanh(x, -1, n),
    "histc": lambda lib, x, n: lib.histc(x, 4, 0, n),
    "histcmin": lambda lib, x, n: lib.histc(x, 4, n, 5),
    "linspace": lambda lib, x, n: lib.linspace(0, n, 4, dtype=x.dtype),
    "copysign": lambda lib, x, n: lib.copysign(x, n),
    "xlogy": lambda lib, x, n: lib.xlogy(x, n),
    "true_divide": lambda lib, x, n: lib.true_divide(x, n),
    "divfloor": lambda lib, x, n: lib.div(x, n, rounding_mode="floor"),
    "divtrunc": lambda lib, x, n: lib.div(x, n, rounding_mode="trunc"),
}
ROUNDED = {"divfloor", "divtrunc"}
# Differences from torch: (calls, (dtype, number) -> whether it applies, why).
LEFT = [
    ({"div", "true_divide", "copysign", "xlogy"}, lambda dtype, n: dtype == "bool" and n >= 2**63,
     "torch refuses an int of 64 bits without sign beside a bool, where it is the second alone"),
    ({"rpow", *ROUNDED, "addalpha", "subalpha", "index_fill", "scatter"}, lambda dtype, n: n >= 2**63 and isinstance(n, int),
     "ints of 64 bits without sign, of which torch keeps the bits in some places and refuses them in others"),
    ({"rfloor", "rrem"}, lambda dtype, n: dtype in HALVES and abs(n) > 256,
     "torch rounds a number on the left to a half before it divides"),
    ({"subalpha"}, lambda dtype, n: n == -(2**63) or (n == 2**31 and dtype == "int32"),
     "torch negates alpha, which wraps"),
    ({"clamp", "clampmax", "clamp_min", "clamp_max", "addcmul"}, lambda dtype, n: dtype == "bool",
     "taken here, not by torch"),
    ({"setslice", "setmask", "setidx"}, lambda dtype, n: dtype in HALVES, "torch stores an infinity"),
    ({"linspace"}, lambda dtype, n: dtype == "uint8" and n == -1, "torch wraps it at the one end alone"),
    ({"xlogy"}, lambda dtype, n: n >= 2**64, "a float of any size is the same"),
]  # fmt: skip


def is_left(name, dtype, number):
    return any(name in names and holds(dtype, number) for names, holds, _ in LEFT)


def outcome(lib, name, dtype, number):
    """The elements as (dtype, list), or the class of an exception."""
    of_bools = dtype == "bool"
    x = lib.tensor([0, 1, 1, 0] if of_bools else [0, 1, 2, 5], dtype=getattr(lib, dtype))
    try:
        result = CALLS[name](lib, x, number)
    except Exception as error:
        return type(error)
    made = str(result.dtype).rpartition(".")[2]
    return made, result.tolist()


def is_near(ours, theirs, dtype):
    if ours == theirs or (ours != ours and theirs != theirs):
        return True
    return (
        math.isfinite(ours) and math.isfinite(theirs) and abs(ours - theirs) <= TOLERANCES.get(dtype, 0) * abs(theirs)
    )


def is_same(ours, theirs, dtype, number):
    if isinstance(ours, type) or isinstance(theirs, type):
        # For a number of more than 64 bits together with an unsupported dtype, either may be reported.
        either = isinstance(number, int) and abs(number) >= 2**63 or NotImplementedError in (ours, theirs)
        return ours == theirs or (either and isinstance(ours, type) and isinstance(theirs, type))
    return ours[0] == theirs[0] and all(is_near(a, b, ours[0]) for a, b in zip(ours[1], theirs[1], strict=True))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_as_torch(name):
    differences = [
        (dtype, number, ours, theirs)
        for dtype in DTYPES
        for number in NUMBERS
        if not is_left(name, dtype, number)
        for ours, theirs in [(outcome(md, name, dtype, number), outcome(torch, name, dtype, number))]
        if not is_same(ours, theirs, dtype, number)
    ]
    assert differences == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("left", LEFT, ids=[why for _, _, why in LEFT])
def test_known_differences_still_exist(left):
    names, holds, _ = left
    for name in names:
        given = [(dtype, number) for dtype in DTYPES for number in NUMBERS if holds(dtype, number)]
        assert any(not is_same(outcome(md, name, *g), outcome(torch, name, *g), *g) for g in given), name
