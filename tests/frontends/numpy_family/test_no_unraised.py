"""What NumPy takes, and our operations do not, is known before it is executed: no exception is expected that does not come."""

import numpy as np
import pytest
from compared import mismatch

import minidynamo
from minidynamo import _C

ARRAYS = {
    "floats": np.arange(12.0).reshape(3, 4),
    "halves": np.arange(12).reshape(3, 4).astype("f2"),
    "bools": np.arange(12).reshape(3, 4) > 3,
    "complex": np.arange(12).reshape(3, 4) + 1j,
    "no rows": np.zeros((0, 4)),
    "no columns": np.zeros((3, 0)),
    "no bytes": np.zeros(0, "u1"),
    "no bools": np.zeros((0, 4), bool),
}


def stored(key, value):
    def call(a):
        a[key] = value
        return a

    return call


def placed(function):
    def call(a):
        function(a)
        return a

    return call


CALLS = {
    **{
        name: lambda a, name=name: getattr(np, name)(a)
        for name in ("abs", "floor", "ceil", "trunc", "rint", "fix", "sign", "square", "positive")
    },
    "less": lambda a: a < 1,
    "greater": lambda a: (a > 0).any(),
    "maximum": lambda a: np.maximum(a, [1]),
    "maximum of all": lambda a: np.maximum.reduce(a + a) if a.size else a,
    "float_power with out": lambda a: np.float_power(a, 2, out=np.zeros(a.shape, "c16")),
    "divmod with out": lambda a: np.divmod(np.abs(a).astype("i8"), 2, np.zeros(a.shape, "i8"), np.zeros(a.shape, "i8")),
    "minimum of itself": lambda a: np.minimum(a, a),
    "where": lambda a: np.where(a > 1, a, 0),
    "select": lambda a: np.select([a > 1, a > 2], [a, 1], default=-1),
    "extract": lambda a: np.extract(a > 1, a),
    "tanh at a mask": lambda a: np.tanh(a, where=a > 0, out=np.ones_like(a)),
    "wider view": lambda a: a.view("i8"),
    "narrower view": lambda a: a.view("u1"),
    "huge step": lambda a: a[:: 2**62],
    "huge step backwards": lambda a: a[:: -(2**62)],
    "larger step than any": lambda a: a[:: 10**30],
    "larger step backwards": lambda a: a[:: -(10**30)],
    "columns by a huge step": lambda a: a[..., :: 2**61],
    "put nothing": placed(lambda a: np.put(a, [1, 2], []) if a.size > 2 else None),
    "put a list": placed(lambda a: np.put(a, [1, 2], [5]) if a.size > 2 else None),
    "copyto itself": placed(lambda a: np.copyto(a, a)),
    "copyto a number": placed(lambda a: np.copyto(a, 1, casting="unsafe")),
    "filled": placed(lambda a: a.fill(1)),
    "added to itself": placed(lambda a: np.logical_or(a, a, out=a, casting="unsafe")),
    "whole": stored(..., 1),
    "by nothing": stored((), True),
    "new axis": stored((..., None), 1),
    "empty part": stored(slice(0, 0), 5),
    "far part": stored(slice(10**18, None), 5),
    "parts far apart": stored(slice(None, None, -(10**18)), 1),
}
EINSUMS = [
    "ij->ji",
    "ji",
    "ij->i",
    "ij->",
    "ij,ij->ij",
    "ij,kj->ik",
    "ij,ij",
    "...->...",
    "...j->...",
    "ij,j->i",
    "i...->...",
]
CALLS |= {
    f"einsum {labels}{' optimized' * optimize}": lambda a, labels=labels, optimize=optimize: np.einsum(
        labels, *[a, a[0] if labels == "ij,j->i" else a][: 1 + labels.count(",")], optimize=optimize
    )
    for labels in EINSUMS
    for optimize in (False, True)
}
# A mask by which a function computes, and an `out` whose elements NumPy casts as well.
CALLS |= {
    "abs of complex at a mask": lambda a: np.abs(a, where=np.ones(a.shape, bool), out=np.zeros(a.shape, "c16")),
    "sqrt in another dtype at a mask": lambda a: np.sqrt(
        a, where=np.zeros(a.shape, bool), out=np.full(a.shape, 1e300), dtype="f4", casting="unsafe"
    ),
}


@pytest.mark.counts_regions
@pytest.mark.parametrize("name", CALLS)
def test_no_break_of_an_exception_that_is_not_raised(name):
    function = CALLS[name]
    for array in ARRAYS.values():
        minidynamo._dynamo.reset()
        found = []
        breaks = _C.record_breaks(lambda array=array, found=found: found.append(mismatch(function, [array])))
        assert found == [""]
        assert "MD0071" not in [each["id"] for each in breaks], breaks
