"""Stencils written with slices."""

import numpy

from .table import Row, array_forms

PLANE, SPACE, FIELD = 1024, 128, 512


def jacobi(library):
    def f(u):
        return 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])

    return f


def jacobi_numba(jit):
    from numba import prange

    @jit
    def f(u):
        rows, columns = u.shape
        result = numpy.empty((rows - 2, columns - 2), u.dtype)
        for i in prange(rows - 2):
            for j in range(columns - 2):
                total = u[i, j + 1] + u[i + 2, j + 1] + u[i + 1, j] + u[i + 1, j + 2]
                result[i, j] = u.dtype.type(0.25) * total
        return result

    return f


def heat(library):
    def f(u):
        centre = u[1:-1, 1:-1, 1:-1]
        return centre + 0.1 * (
            u[:-2, 1:-1, 1:-1]
            + u[2:, 1:-1, 1:-1]
            + u[1:-1, :-2, 1:-1]
            + u[1:-1, 2:, 1:-1]
            + u[1:-1, 1:-1, :-2]
            + u[1:-1, 1:-1, 2:]
            - 6 * centre
        )

    return f


def heat_numba(jit):
    from numba import prange

    @jit
    def f(u):
        n = u.shape[0] - 2
        result = numpy.empty((n, n, n), u.dtype)
        for i in prange(n):
            for j in range(n):
                for k in range(n):
                    centre = u[i + 1, j + 1, k + 1]
                    result[i, j, k] = centre + u.dtype.type(0.1) * (
                        u[i, j + 1, k + 1]
                        + u[i + 2, j + 1, k + 1]
                        + u[i + 1, j, k + 1]
                        + u[i + 1, j + 2, k + 1]
                        + u[i + 1, j + 1, k]
                        + u[i + 1, j + 1, k + 2]
                        - u.dtype.type(6) * centre
                    )
        return result

    return f


def gray_scott(library):
    def laplace(u):
        return u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]

    def f(u, v):
        inner_u, inner_v = u[1:-1, 1:-1], v[1:-1, 1:-1]
        reaction = inner_u * inner_v * inner_v
        next_u = inner_u + 0.16 * laplace(u) - reaction + 0.035 * (1 - inner_u)
        next_v = inner_v + 0.08 * laplace(v) + reaction - 0.1 * inner_v
        return next_u, next_v

    return f


def gray_scott_numba(jit):
    from numba import prange

    @jit
    def f(u, v):
        rows, columns = u.shape
        number = u.dtype.type
        next_u = numpy.empty((rows - 2, columns - 2), u.dtype)
        next_v = numpy.empty((rows - 2, columns - 2), u.dtype)
        for i in prange(rows - 2):
            for j in range(columns - 2):
                a, b = u[i + 1, j + 1], v[i + 1, j + 1]
                around_a = u[i, j + 1] + u[i + 2, j + 1] + u[i + 1, j] + u[i + 1, j + 2] - number(4) * a
                around_b = v[i, j + 1] + v[i + 2, j + 1] + v[i + 1, j] + v[i + 1, j + 2] - number(4) * b
                reaction = a * b * b
                next_u[i, j] = a + number(0.16) * around_a - reaction + number(0.035) * (number(1) - a)
                next_v[i, j] = b + number(0.08) * around_b + reaction - number(0.1) * b
        return next_u, next_v

    return f


ROWS = [
    Row(
        "Jacobi, 5 points",
        f"{PLANE}x{PLANE}",
        "float32",
        "stencils",
        lambda rng: [rng.random((PLANE, PLANE))],
        jacobi(numpy),
        {**array_forms(jacobi), "numba": jacobi_numba},
        is_headline=True,
    ),
    Row(
        "heat, 7 points",
        f"{SPACE}^3",
        "float64",
        "stencils",
        lambda rng: [rng.random((SPACE, SPACE, SPACE))],
        heat(numpy),
        {**array_forms(heat), "numba": heat_numba},
    ),
    Row(
        "Gray-Scott step",
        f"{FIELD}x{FIELD}",
        "float32",
        "stencils",
        lambda rng: [rng.random((FIELD, FIELD)), rng.random((FIELD, FIELD))],
        gray_scott(numpy),
        {**array_forms(gray_scott), "numba": gray_scott_numba},
    ),
]
