"""testing.assert_close: outcomes and texts as torch's."""

import re

import numpy as np
import pytest

import minidynamo

CASES = [
    lambda t: (t([1.0, 2]), t([1.0, 2.1])),
    lambda t: (t([1.0, 2, 3]), t([1.0, 2])),
    lambda t: (t([1.0]), t([1.0]).double()),
    lambda t: (1.0, 1.1),
    lambda t: (1.0, 0.0),
    lambda t: (float("nan"), float("nan")),
    lambda t: (t([1, 2, 3]), t([1, 5, 3])),
    lambda t: ([1.0, 2.0], [1.0, 3.0]),
    lambda t: ({"a": 1.0}, {"b": 1.0}),
    lambda t: ({"a": 1.0}, {"a": 2.0}),
    lambda t: ({"a": [t([1.0]), t([2.0])]}, {"a": [t([1.0]), t([3.0])]}),
    lambda t: (t([float("nan")]), t([float("nan")])),
    lambda t: (t([float("nan"), 2.0]), t([1.0, 3.0])),
    lambda t: (t([float("inf")]), t([1.0])),
    lambda t: (t([float("inf")]), t([float("inf")])),
    lambda t: (t(1.0), t(2.0)),
    lambda t: (t(1), t(2)),
    lambda t: ("a", "b"),
    lambda t: (t([True, False]), t([True, True])),
    lambda t: ([1.0], [1.0, 2.0]),
    lambda t: (None, None),
    lambda t: (None, 1),
    lambda t: (t([1.0]), 1.0),
    lambda t: (3, t(3)),
    lambda t: (1, 1.0),
    lambda t: (t([[1.0, 2], [3, 4]]), t([[1.0, 2], [3, 5]])),
    lambda t: (np.array([1.0]), np.array([2.0])),
    lambda t: (np.array([1.0]), t([1.0])),
    lambda t: (t([]), t([])),
    lambda t: (True, False),
    lambda t: (1, 2),
    lambda t: (t([1.0, 2, 3, 4.0]), t([1.0, 2, 3, 4.000001])),
    lambda t: (t([1.0]).half(), t([1.1]).half()),
    lambda t: (t([1.0]).bfloat16(), t([1.1]).bfloat16()),
    lambda t: (0.0, 1e-4),
    lambda t: (t([0.0]), t([1.0])),
    lambda t: (t([1.0]), t([0.0])),
    lambda t: (
        t(
            [2],
        ),
        t([5]),
    ),
    lambda t: ((1, (2, [3])), (1, (2, [4]))),
    lambda t: (t([1j, 2]), t([1j, 2 + 1e-7j])),
    lambda t: (t([1j, 2]), t([1j, 3j])),
    lambda t: (t(1j), t(2j)),
    lambda t: (t([1.0]), t([1 + 0j])),
    lambda t: (t([complex("nan")]), t([complex("nan")])),
    lambda t: (1j, 1j),
    lambda t: (1j, 1 + 1j),
    lambda t: (1j, 1.0),
    lambda t: (complex("nan"), complex("nan")),
    lambda t: (np.array([1j]), np.array([2j])),
]
OPTIONS = [
    {},
    {"rtol": 1e-3},
    {"atol": 1e-3},
    {"rtol": 0, "atol": 0},
    {"rtol": 0.0, "atol": 0.05},
    {"rtol": 0.5, "atol": 0.5, "msg": "hi"},
    {"msg": "hi"},
    {"msg": lambda text: "X " + text},
    {"equal_nan": True},
    {"check_dtype": False},
    {"check_stride": True},
    {"allow_subclasses": False},
]


def outcome(library, case, options):
    try:
        library.testing.assert_close(*case(library.tensor), **options)
        return "close"
    except Exception as error:
        return type(error).__name__, str(error).replace(library.__name__, "torch")


def same(ours, theirs):
    """Texts may differ in the last digits of differences."""
    number = re.compile(r"\d+\.\d{6,}(?:e-\d+)?")
    if isinstance(ours, str) or isinstance(theirs, str):
        return ours == theirs
    near = zip(number.findall(ours[1]), number.findall(theirs[1]), strict=True)
    return (
        ours[0] == theirs[0]
        and number.sub("#", ours[1]) == number.sub("#", theirs[1])
        and all(float(a) == pytest.approx(float(b), rel=1e-3) for a, b in near)
    )


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options))
@pytest.mark.parametrize("number", range(len(CASES)))
def test_as_torch(number, options):
    torch = pytest.importorskip("torch")
    ours, theirs = (outcome(library, CASES[number], options) for library in (minidynamo, torch))
    assert same(ours, theirs), (ours, theirs)


def test_parameters_and_tensors():
    minidynamo.testing.assert_close(minidynamo.nn.Parameter(minidynamo.ones(2)), minidynamo.ones(2))
    with pytest.raises(AssertionError, match="stride"):
        minidynamo.testing.assert_close(minidynamo.ones(2, 2), minidynamo.ones(2, 2).t(), check_stride=True)
