"""Whole programs return the results of torch, eager and compiled; without torch, compiled is compared with eager."""

import numpy as np
import pytest
from whole_models import PROGRAMS

import minidynamo


def run(module, program, compiled=False):
    function, args = program(module)
    with module.no_grad():
        result = (module.compile(function) if compiled else function)(*args)
    return [np.asarray(part) for part in (result if isinstance(result, tuple) else (result,))]


def assert_close(found, expected):
    assert len(found) == len(expected)
    for left, right in zip(found, expected, strict=True):
        assert left.dtype == right.dtype and left.shape == right.shape
        np.testing.assert_allclose(left, right, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_compiled_is_as_eager(program):
    eager = run(minidynamo, program)
    assert all(np.isfinite(part).all() or part.dtype.kind == "f" for part in eager)
    assert_close(run(minidynamo, program, compiled=True), eager)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_as_torch(program):
    torch = pytest.importorskip("torch")
    assert_close(run(minidynamo, program), run(torch, program))
