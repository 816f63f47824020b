"""SciPy's functions called inside of regions: results, exceptions and warnings are SciPy's."""

import numpy as np
import pytest
from compared import is_captured, mismatch

pytest.importorskip("scipy")
import scipy.fft  # noqa: E402
import scipy.integrate  # noqa: E402
import scipy.linalg  # noqa: E402
import scipy.ndimage  # noqa: E402
import scipy.signal  # noqa: E402
import scipy.spatial.distance  # noqa: E402
import scipy.special  # noqa: E402

M = np.array([[4.0, 1.0, 0.5, 0.2], [1.0, 5.0, 0.3, 0.1], [0.5, 0.3, 6.0, 0.4], [0.2, 0.1, 0.4, 7.0]])
V = np.array([0.7, 0.2, 0.9, 0.1, 0.5, 0.3, 0.8, 0.4])

OF_MATRICES = {
    "inv": lambda m: scipy.linalg.inv(m) * 1,
    "solve": lambda m: scipy.linalg.solve(m, m[0] * 2),
    "det": lambda m: scipy.linalg.det(m) * m,
    "eigh": lambda m: scipy.linalg.eigh(m + m.T),
    "eigvalsh": lambda m: scipy.linalg.eigvalsh(m + m.T) * 2,
    "svdvals": lambda m: scipy.linalg.svdvals(m * 2) + 1,
    "cholesky": lambda m: scipy.linalg.cholesky(m, lower=True) @ m,
    "expm": lambda m: scipy.linalg.expm(m / 10) @ m,
    "gaussian_filter": lambda m: scipy.ndimage.gaussian_filter(m * 2, 1.0) - m,
    "uniform_filter": lambda m: scipy.ndimage.uniform_filter(m, size=3, mode="wrap") * m,
    "convolve": lambda m: scipy.ndimage.convolve(m, m[:3, :3] / 9) + 1,
    "laplace": lambda m: m + 0.1 * scipy.ndimage.laplace(m),
    "median_filter": lambda m: scipy.ndimage.median_filter(m, size=3).sum(),
    "zoom": lambda m: scipy.ndimage.zoom(m, 2, order=1) * 2,
    "convolve2d": lambda m: scipy.signal.convolve2d(m, m[:2, :2], mode="same") / 2,
    "medfilt2d": lambda m: scipy.signal.medfilt2d(m) * 2,
    "cdist": lambda m: scipy.spatial.distance.cdist(m, m * 2) ** 2,
    "pdist": lambda m: scipy.spatial.distance.pdist(m, "cityblock") + 1,
    "squareform": lambda m: scipy.spatial.distance.squareform(scipy.spatial.distance.pdist(m)) @ m,
    "output": lambda m: scipy.ndimage.sobel(m, output=m),
    "overwrite": lambda m: scipy.linalg.inv(m, overwrite_a=True),
}
OF_VECTORS = {
    "convolve": lambda v: scipy.signal.convolve(v, v[:3]) * 2,
    "fftconvolve": lambda v: scipy.signal.fftconvolve(v, v * 2, mode="same") + v,
    "lfilter": lambda v: scipy.signal.lfilter([0.5, 0.5], [1.0, -0.2], v * 2),
    "savgol": lambda v: v - scipy.signal.savgol_filter(v, 5, 2),
    "detrend": lambda v: scipy.signal.detrend(v) * v,
    "medfilt": lambda v: scipy.signal.medfilt(v, 3) + 1,
    "simpson": lambda v: scipy.integrate.simpson(v * v, dx=0.1) * 2,
    "trapezoid": lambda v: scipy.integrate.trapezoid(v, v.cumsum()) * v,
    "cumulative": lambda v: scipy.integrate.cumulative_trapezoid(v, initial=0) * 2,
    "dct": lambda v: scipy.fft.dct(v * 2) / 2,
    "erf": lambda v: scipy.special.erf(v) * 2,
    "gamma": lambda v: scipy.special.gamma(v + 1) - 1,
    "jv": lambda v: scipy.special.jv(1, v) * v,
    "toeplitz": lambda v: scipy.linalg.toeplitz(v) @ v,
}


@pytest.mark.parametrize("name", OF_MATRICES)
def test_of_matrices(name):
    for matrix in (M, M.astype("f4"), np.asfortranarray(M), M.T, np.zeros((4, 4)), np.ones((3, 4))):
        with np.errstate(all="ignore"):
            assert not mismatch(OF_MATRICES[name], [matrix])


@pytest.mark.parametrize("name", OF_VECTORS)
def test_of_vectors(name):
    for vector in (V, V.astype("f4"), V[::-1], np.arange(8), np.full(8, np.nan)):
        with np.errstate(all="ignore"):
            assert not mismatch(OF_VECTORS[name], [vector])


@pytest.mark.parametrize("name", sorted(OF_MATRICES.keys() - {"output", "overwrite"}))
def test_matrices_are_captured(name):
    with np.errstate(all="ignore"):
        assert is_captured(OF_MATRICES[name], [M])


@pytest.mark.parametrize("name", OF_VECTORS)
def test_vectors_are_captured(name):
    with np.errstate(all="ignore"):
        assert is_captured(OF_VECTORS[name], [V])


def test_what_scipy_refuses_and_warns_of():
    def singular(m):
        return scipy.linalg.inv(m * 0) + 1

    def ill(m):
        return scipy.linalg.solve(m * 0 + 1 + 1e-17 * m, m[0])

    def not_positive(m):
        return scipy.linalg.cholesky(-m)

    def of_texts(m):
        return scipy.ndimage.gaussian_filter(m, "a")

    for function in (singular, ill, not_positive, of_texts):
        assert not mismatch(function, [M], calls=3)
