"""Loops that update rows, columns and elements of a matrix with elements of another: windows that are read after they were
written, copied onto themselves, read by others in between; over our tensors and over arrays."""

import numpy as np
import pytest

import minidynamo


def rank_one_rows(c, a, n):
    for i in range(n):
        c[i, : i + 1] *= 0.5
        for k in range(a.shape[1]):
            c[i, : i + 1] += 1.5 * a[i, k] * a[: i + 1, k]


def rank_one_columns(c, a, n):
    for j in range(n):
        for k in range(3):
            c[:, j] += a[k, j] * c[:, k]


def element_by_element(c, a, n):
    for i in range(n):
        for j in range(3):
            c[i, j] += (a[i, :] * a[j, :]).sum()


def in_triangles(c, a, n):
    row = a[0, :] * 1
    for i in range(1, n):
        for j in range(3):
            c[:i, j] += 2 * a[i, j] * a[i, :1]
            row[j] = (c[:i, j] * a[:i, j]).sum()
        c[i, :3] = row[:3] * a[i, i % 3]


def onto_itself(c, a, n):
    for i in range(n):
        c[i, 1:] = c[i, 1:]
        row = c[i]
        row += a[i, 0]
        c[i] = row


def read_in_between(c, a, n):
    seen = []
    for i in range(n):
        before = c[i] * 1
        c[i] = before + a[i, 0]
        seen.append(c[i] * 1)
        c[i] = before
        seen.append(c[i, 0] * 1)
        c[i] = c[i] * a[i, 1] + seen[-2]
    return seen


def kept_elements(c, a, n):
    kept = []
    for i in range(n):
        element = c[i, 0] * 1
        kept.append(element)
        c[i, 0] = element + 1
        kept.append(c[i, 0] * 1)
    return kept


def scaled_by_elements(c, a, n):
    for k in range(n):
        scale = a[k, 0] * a[k, 1] + 1
        c[k:, k % 3] = c[k:, k % 3] / (scale * scale + 1)
        c[:, 0] = c[:, 0] - scale


def large(c, a, n):
    for k in range(2):
        c[:, k] += a[0, k] * a[1, k] * c[:, 2]


PROGRAMS = [
    *(rank_one_rows, rank_one_columns, element_by_element, in_triangles, onto_itself, read_in_between, kept_elements),
    *(scaled_by_elements, large),
]
LIBRARIES = {"minidynamo": minidynamo.from_numpy, "numpy": lambda array: array}


def values(result):
    return (
        [values(each) for each in result] if isinstance(result, list) else result if result is None else result.tolist()
    )


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("program", PROGRAMS)
def test_loops(program, dynamic, library):
    make = LIBRARIES[library]
    compiled = minidynamo.compile(program, dynamic=dynamic)
    for n in (7, 7, 5, 9, 1, 12, 6) if program is not large else (2000, 2500, 2000):
        rng = np.random.default_rng(n)
        c, a = rng.standard_normal((n, n + 2)), rng.standard_normal((n, n + 3))
        if n == 1:
            a = rng.standard_normal((3, 4))
            c = rng.standard_normal((3, 4))
        plain, ours = [make(c.copy()), make(a.copy())], [make(c.copy()), make(a.copy())]
        theirs, found = program(*plain, min(n, 40)), compiled(*ours, min(n, 40))
        for one, other in zip([*ours, *(found or [])], [*plain, *(theirs or [])], strict=True):
            np.testing.assert_allclose(values(one), values(other), rtol=1e-12, atol=1e-12)
