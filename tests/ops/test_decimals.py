"""round(decimals=n) beside torch's, whose halves are computed as float: ties, zeros, infinities, numbers without fraction."""

import numpy as np
import pytest

import minidynamo as md

torch = pytest.importorskip("torch")

SPECIAL = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 1e-30, -1e-30, np.inf, -np.inf, np.nan]
LARGE = [2.0**22 + 0.5, 2.0**23 - 0.5, 2.0**23 + 1, -(2.0**24), 2.0**51 + 0.5, 2.0**52 - 0.5, 2.0**53 + 2, 1e30, -3e38]


@pytest.mark.parametrize("decimals", [-3, -1, 0, 1, 2, 5])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_values(dtype, decimals):
    drawn = np.random.default_rng(0).normal(size=2000) * 100
    array = np.concatenate([SPECIAL, LARGE, drawn, drawn.round(1), np.arange(-40, 40) / 8])
    for step in (1, 2):
        expected, found = (
            lib.round(lib.from_numpy(array.copy()).to(getattr(lib, dtype))[::step], decimals=decimals)
            for lib in (torch, md)
        )
        ours, theirs = np.array(found.double().tolist()), expected.double().numpy()
        assert np.array_equal(ours, theirs, equal_nan=True)
        is_number = ~np.isnan(theirs)
        assert np.array_equal(np.signbit(ours[is_number]), np.signbit(theirs[is_number]))
