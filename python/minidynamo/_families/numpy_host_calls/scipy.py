"""Functions of SciPy without a state, by the module that has them."""

from __future__ import annotations

import sys

from .table import add, called

TYPE_CHECKING = False
if TYPE_CHECKING:
    import types

# As those of NumPy's: without effects, warnings that only some elements give, and views of arguments.
_PURE = {
    "scipy.linalg": "det eigh eigvalsh svdvals cholesky expm toeplitz circulant hankel block_diag norm",
    "scipy.fft": "rfftfreq fftfreq irfft irfft2 irfftn dct idct dst idst next_fast_len",
    "scipy.signal": "convolve fftconvolve oaconvolve correlate convolve2d correlate2d lfilter filtfilt sosfilt medfilt "
    "medfilt2d savgol_filter detrend hilbert2 resample decimate",
    "scipy.ndimage": "gaussian_filter gaussian_filter1d uniform_filter uniform_filter1d convolve convolve1d correlate "
    "correlate1d median_filter maximum_filter minimum_filter sobel prewitt laplace gaussian_laplace "
    "gaussian_gradient_magnitude binary_erosion binary_dilation binary_opening binary_closing distance_transform_edt "
    "map_coordinates zoom shift rotate",
    "scipy.integrate": "simpson trapezoid cumulative_trapezoid cumulative_simpson romb",
    "scipy.spatial.distance": "cdist pdist squareform",
}
# Python warns of some elements.
_WARNING = {"scipy.linalg": "inv solve lstsq lu_factor solve_triangular cho_solve"}


def load(module: types.ModuleType) -> str | None:
    """Of a module of SciPy, once it is imported."""
    if "numpy" not in sys.modules:
        return None
    for table, once in ((_PURE, False), (_WARNING, True)):
        for name in table.get(module.__name__, "").split():
            value = getattr(module, name, None)
            if value is not None:
                add(f"{module.__name__}.{name}", value, called, once=once)
    return None
