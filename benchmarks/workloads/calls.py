"""Calls in which there is next to nothing to compute: three elements, so that the time is that of the call."""

import numpy

from .table import Row, array_forms


def two_ops(library):
    def f(x):
        return (x + 1) * 2

    return f


def two_ops_numba(jit):
    @jit
    def f(x):
        return (x + numpy.float32(1)) * numpy.float32(2)

    return f


def ten_and_dict(library):
    def f(a, b, c, d, e, f, g, h, i, j, settings):
        return (a + b + c + d + e + f + g + h + i + j) * settings["scale"] + settings["shift"]

    return f


def one_break(library):
    break_here = library._dynamo.graph_break

    def f(x):
        y = x + 1
        break_here()
        return y * 2

    return f


def one_break_plain(library):
    def break_here():
        pass

    def f(x):
        y = x + 1
        break_here()
        return y * 2

    return f


def one_add(library):
    def f(x):
        return x + x

    return f


def three(rng):
    return [numpy.array([1.0, 2.0, 3.0])]


def ten_threes(rng):
    return [*(rng.random(3) for _ in range(10)), {"scale": 2.0, "shift": 0.5}]


def call(family, inputs, forms, reference, **more):
    return Row(family, "", "float32", "calls", inputs, reference, forms, is_headline=True, **more)


ROWS = [
    call(
        "call of (x + 1) * 2",
        three,
        {**array_forms(two_ops), "numba": two_ops_numba, "python": two_ops},
        two_ops(numpy),
    ),
    call("call with 10 tensors and a dict", ten_threes, array_forms(ten_and_dict), ten_and_dict(numpy)),
    call(
        "call with one graph break",
        three,
        {"torch": one_break, "numpy": one_break_plain, "python": one_break_plain},
        one_break_plain(numpy),
    ),
    call(
        "x + x, not compiled",
        three,
        {**array_forms(one_add, "torch", "numpy"), "python": one_add},
        one_add(numpy),
        is_eager=True,
    ),
]
