"""Statistics of -0.0 alone: whether the result has a sign is as NumPy's."""

import numpy as np
import pytest
from compared import mismatch

CALLS = """
np.median(x)
np.median(x, axis=0)
np.median(x, axis=1, keepdims=True)
np.percentile(x, 0)
np.percentile(x, 30, axis=0)
np.percentile(x, 50)
np.percentile(x, 100)
np.quantile(x, [0.25, 0.5, 0.75], axis=1)
np.nanmedian(x)
np.mean(x)
np.mean(x, axis=0)
np.sum(x)
np.sum(x, axis=1)
np.average(x)
np.nansum(x, axis=0)
np.nanmean(x)
np.max(x)
np.ptp(x)
np.prod(x)
np.std(x)
np.sort(x, axis=0)
np.diff(x)
np.trapezoid(x)
""".strip().splitlines()


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2"])
@pytest.mark.parametrize("call", CALLS)
def test_negative_zeros(call, dtype):
    scope = {"np": np}
    exec(f"def f(x):\n    return {call}", scope)
    for shape in ((1, 1), (2, 2), (3, 3), (4, 1), (1, 4), (5, 7)):
        assert mismatch(scope["f"], [np.full(shape, -0.0, dtype)], calls=1) == ""
