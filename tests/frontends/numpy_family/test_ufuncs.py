"""Each ufunc of the table: all dtypes, shapes, special values, scalars, numbers, layouts."""

import itertools

import numpy as np
import pytest
from compared import is_captured, mismatch

from minidynamo._families.numpy_ufuncs import UFUNCS

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.5,
    -2.5,
    np.inf,
    -np.inf,
    np.nan,
    1e300,
    -1e300,
    1e-300,
    750.0,
    -750.0,
    1e-320,
    3.0,
    0.5,
]
UNARY = sorted(name for name in UFUNCS.values() if getattr(np, name).nin == 1)
BINARY = sorted(name for name in UFUNCS.values() if getattr(np, name).nin == 2 and name != "matmul")


def arrays(code):
    dtype = np.dtype(code)
    with np.errstate(all="ignore"):
        if dtype.kind == "f":
            plain = np.linspace(-3, 3, 37).astype(dtype)
            matrix = np.linspace(0.1, 0.9, 40).astype(dtype).reshape(5, 8)
            return [np.array(SPECIAL).astype(dtype), plain, plain[::3], matrix, matrix.copy("F"), matrix[:, 1:6:2]]
        if dtype.kind == "b":
            return [np.array([True, False, True]), np.array([[True], [False]])]
        ends = np.iinfo(dtype)
        return [
            np.array([0, 1, 2, 3, 5, 7, ends.max, ends.min, ends.max - 1], dtype),
            np.arange(1, 19, dtype=dtype)[::2],
        ]


def all_arrays(code):
    return [*arrays(code), np.array([], code), np.zeros((0, 3), code), np.array(1, code), np.ones((2, 1, 3), code)]


def unary_arguments(code):
    scalars = [(scalar,) for scalar in arrays(code)[0]]
    return [(array,) for array in all_arrays(code)] + scalars


def binary_arguments(code):
    found = []
    for array in all_arrays(code):
        found += [(array, array.copy("C")), (array.copy("C"), array), (array, array + array.dtype.type(0))]
        found += [(array, number) for number in (2, 0, 2.5, True, array.dtype.type(1))] + [(3, array), (-1.5, array)]
    whole = arrays(code)[0].ravel()
    return [*found, (whole[:, None].copy(), whole), *itertools.product(whole[:4], whole[:4])]


def mismatches(function, cases):
    found = [(arguments, mismatch(function, arguments)) for arguments in cases]
    return [f"{[np.shape(each) or each for each in arguments]}: {text}" for arguments, text in found if text]


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("code", DTYPES)
def test_one_operand(name, code):
    ufunc = getattr(np, name)

    def call(x):
        return ufunc(x)

    assert mismatches(call, unary_arguments(code)) == []


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("code", DTYPES)
def test_two_operands(name, code):
    ufunc = getattr(np, name)

    def call(x, y):
        return ufunc(x, y)

    assert mismatches(call, binary_arguments(code)) == []


@pytest.mark.parametrize("name", BINARY)
def test_pairs_of_dtypes(name):
    ufunc = getattr(np, name)

    def call(x, y):
        return ufunc(x, y)

    found = []
    for first, second in itertools.permutations(DTYPES, 2):
        one, other = np.array([1, 0, 3], first), np.array([1, 1, 2], second)
        for arguments in ((one, other), (one, other[2]), (one[0], other), (one, other[2, ...])):
            found.append((first, second, mismatch(call, arguments, calls=1)))
    assert [each for each in found if each[2]] == []


OPERATORS = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x / y,
    "//": lambda x, y: x // y,
    "%": lambda x, y: x % y,
    "**": lambda x, y: x**y,
    "&": lambda x, y: x & y,
    "|": lambda x, y: x | y,
    "^": lambda x, y: x ^ y,
    "<<": lambda x, y: x << y,
    ">>": lambda x, y: x >> y,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    "==": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
}


@pytest.mark.parametrize("sign", OPERATORS)
@pytest.mark.parametrize("code", DTYPES)
def test_operators(sign, code):
    assert mismatches(OPERATORS[sign], binary_arguments(code)) == []


def test_what_is_one_graph():
    x = np.linspace(0.1, 0.9, 12).reshape(3, 4)
    unary = [name for name in UNARY if name != "invert" and not is_captured(getattr(np, name), (x,))]
    whole = {"bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"}
    binary = [name for name in BINARY if name not in whole and not is_captured(getattr(np, name), (x, x))]
    assert unary == []
    assert binary == []
