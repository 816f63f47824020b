"""A region that NumPy has to run again and again is NumPy's after some runs, and is tried again now and then."""

import warnings

import numpy as np
import pytest

import minidynamo

# By name: the function, an argument with which the plan fails at each run, and one with which it does not.
FAILING = {
    "integers by zero": (lambda x: 7 // x, np.arange(4), np.arange(1, 5)),
    "remainders by zero": (lambda x: 7 % x, np.arange(4), np.arange(1, 5)),
    "floats by zero": (lambda x: 7 / x, np.arange(4.0), np.arange(1.0, 5)),
    "logarithms": (lambda x: np.log(x) + 1, np.arange(-1.0, 3), np.arange(1.0, 5)),
    "out of range": (lambda x: np.arange(4)[x] * 2, np.arange(2, 6), np.arange(4)),
    "library": (lambda x: np.linalg.inv(np.diag(x)) + 1, np.arange(4.0), np.arange(1.0, 5)),
}


def outcome(function, x):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = repr(np.round(function(x), 9).tolist())
        except (IndexError, np.linalg.LinAlgError) as error:
            result = repr(error)
    return result, [(str(each.message), each.lineno) for each in caught]


@pytest.mark.parametrize("name", FAILING)
def test_left_to_numpy_after_some_runs(name):
    function, bad, good = FAILING[name]
    compiled = minidynamo.compile(function)
    expected = outcome(function, bad), outcome(function, good)

    def failures(x, runs, which):
        before = minidynamo._C.engine_counters()["plan_failures"]
        assert all(outcome(compiled, x) == expected[which] for _ in range(runs))
        return minidynamo._C.engine_counters()["plan_failures"] - before

    assert failures(good, 2, 1) == 0
    assert failures(bad, 40, 0) == 3
    assert failures(bad, 640, 0) == 10
    # One run that succeeds is enough to come back.
    assert failures(good, 64, 1) == 0
    assert failures(bad, 40, 0) == 3
