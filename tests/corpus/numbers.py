"""Arithmetic on known numbers."""

import cmath
import math
import operator

from differential import snippet, whole

from minidynamo import tensor


@whole()
def integer_arithmetic(x):
    a, b = 17, 5
    return x, a + b, a - b, a * b, a / b, a // b, a % b, a**b, -a, +a, ~a, abs(-a)


@whole()
def bit_arithmetic(x):
    a, b = 12, 10
    return x, a & b, a | b, a ^ b, a << 2, a >> 1


@whole()
def float_arithmetic(x):
    a, b = 7.5, -2.0
    return x, a + b, a - b, a * b, a / b, a // b, a % b, b**3, -a


@whole()
def mixed_arithmetic(x):
    return x, 1 + 2.5, True + 1, 3 * False, 7 // 2.0, 2**-1


@whole()
def big_integers(x):
    return x, 2**100, 10**30 // 7, -(2**70) % 13


@whole()
def comparisons(x):
    return x, 1 < 2, 2 <= 2, 3 > 4, 1 == 1.0, 1 != 2, 1 < 2 < 3, 0.1 + 0.2 == 0.3


@whole()
def identity(x):
    a = None
    return x, a is None, a is not None, x is x, True is True


@whole()
def complex_numbers(x):
    z = 3 + 4j
    return x, z * z, abs(z), z.real, z.conjugate()


@whole()
def builtin_functions(x):
    return x, abs(-2), divmod(17, 5), pow(2, 5), pow(3, 4, 5), round(2.567, 2), round(3.5), int(3.9), float(2), bool(0)


@whole()
def math_functions(x):
    return x, math.sqrt(16), math.floor(2.7), math.ceil(2.1), math.log(math.e), math.prod([1, 2, 3]), math.isnan(1.0)


@snippet()
def complex_math(x):
    return x, cmath.sqrt(-1)


@snippet()
def operator_functions(x):
    return operator.add(x, 1), operator.mul(2, 3), operator.itemgetter(1)([1, 2])


@snippet(raises=ZeroDivisionError)
def division_by_zero(x):
    y = x + 1
    n = 1 / 0
    return y * n


@snippet(raises=OverflowError)
def float_overflow(x):
    return x * 10.0**400


@whole(lambda: (tensor([1.0]), 3, 2.5), lambda: (tensor([1.0]), 4, -0.0), lambda: (tensor([1.0]), 4, 0.0))
def arithmetic_on_arguments(x, n, f):
    return x * (n + 1) + f, n * 2, f * n


@whole(lambda: (tensor([1.0]), 0.0), lambda: (tensor([1.0]), -0.0), lambda: (tensor([1.0]), float("nan")))
def zeros_and_nans(x, f):
    return x * f, f == 0, math.copysign(1.0, f)


@snippet(lambda: (tensor([1.0]), 1), lambda: (tensor([1.0]), True), lambda: (tensor([1.0]), 1.0))
def one_true_and_one_point_zero(x, n):
    return x + n, n, type(n).__name__


@whole(lambda: (tensor([1, 2]), 2**40), lambda: (tensor([1, 2]), -(2**62)))
def large_integer_argument(x, n):
    return x + n


@whole(lambda: (tensor([1.0]), 2**200))
def huge_integer_argument(x, n):
    return x + n % 7


@whole()
def reductions_over_numbers(x):
    return x, sum([1, 2, 3]), sum([1.5], 2), min(3, 1), max([4, 9]), min([3, 1], default=0), max((), default=7)


@snippet()
def integer_methods(x):
    return (
        x,
        (10).bit_length(),
        (2.5).is_integer(),
        (0.75).as_integer_ratio(),
        float.fromhex("0x1p-2"),
        (5).to_bytes(2, "big"),
    )
