"""Functions without a state. Where they raise or warn of floating-point exceptions, NumPy runs the region again."""

from __future__ import annotations

import sys
import types

from .table import add, called, numpy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Without effects, warnings that only some elements give (but of floating-point exceptions), and views of arguments.
_PURE = """
linalg.inv linalg.pinv linalg.solve linalg.lstsq linalg.det linalg.slogdet linalg.cholesky linalg.eig linalg.eigvals
linalg.eigh linalg.eigvalsh linalg.svd linalg.svdvals linalg.qr linalg.matrix_rank linalg.matrix_power linalg.cond
linalg.norm linalg.matrix_norm linalg.vector_norm linalg.multi_dot linalg.tensorsolve linalg.tensorinv linalg.outer
linalg.cross linalg.trace argsort argpartition partition sort lexsort searchsorted digitize convolve correlate median
percentile quantile polyadd polysub polymul polyder polyint poly roots vander unwrap ediff1d bartlett blackman hamming
hanning kaiser i0 nanprod nancumsum nancumprod histogram histogram2d histogram_bin_edges packbits unpackbits kron
tensordot einsum interp ndarray.argsort ndarray.argpartition ndarray.searchsorted
"""
# Python warns of some elements.
_WARNING = "polyfit nanmedian nanpercentile nanquantile"
_FFT = (
    "fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn fftshift ifftshift fftfreq rfftfreq"
)


def _add(root: Any, prefix: str, paths: str, once: bool) -> None:
    for path in paths.split():
        value = root
        for part in path.split("."):
            value = getattr(value, part, None)
        if value is not None:
            add(prefix + path, value, called, once=once)


def register() -> None:
    """Of NumPy's own name, which has linalg too."""
    _add(numpy, "", _PURE, once=False)
    _add(numpy, "", _WARNING, once=True)
    for name, value in vars(numpy).items():
        if isinstance(value, numpy.ufunc):
            add(name, value, called)


def load(fft: types.ModuleType) -> str | None:
    """Of numpy.fft, once it is imported."""
    if "numpy" in sys.modules:
        _add(fft, "fft.", _FFT, once=False)
    return None
