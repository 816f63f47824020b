"""Strides of results of operands that lie differently, repeat elements and are converted: as NumPy's."""

import itertools

import numpy as np
import pytest
from compared import mismatch

# m: the matrix, of 3 x 4; v: a vector of 4.
OPERANDS = """
m
m.T.copy().T
m[::-1]
m.T.copy().T[:, ::-1]
np.broadcast_to(v, (3, 4))
np.broadcast_to(v[:3, None], (3, 4))
np.broadcast_to(v[0], (3, 4))
v
v[:3, None]
np.repeat(m, 2, axis=1)[:, ::2]
""".strip().splitlines()

CALLS = {
    "sum": "x + y",
    "quotient": "x / y",
    "maximum": "np.maximum(x, y)",
    "comparison": "x < y",
    "three": "np.where(x > 2, x, y)",
    "nested": "(x - y) * x",
}


@pytest.mark.parametrize("codes", ["dd", "df", "lI", "hd", "Bb"])
@pytest.mark.parametrize("call", CALLS)
def test_strides(call, codes):
    scope = {"np": np}
    numbers = np.arange(1, 13).reshape(3, 4)
    found = {}
    for first, second in itertools.product(OPERANDS, OPERANDS):
        lines = [f"x = {first}", "m, v = n, w", f"y = {second}", f"return {CALLS[call]}"]
        exec("def f(m, v, n, w):\n" + "".join(f"    {line}\n" for line in lines), scope)
        arguments = [each.astype(code) for code in codes for each in (numbers, numbers[1])]
        if text := mismatch(scope["f"], arguments, calls=1):
            found[first, second] = text
    assert found == {}
