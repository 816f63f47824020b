"""Fourier transforms by numpy.fft, which computes float32 in float32 from NumPy 2 on."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from numpy.typing import NDArray

    _Routine = Callable[[ModuleType, list[NDArray[Any]], str, float | None], Any]


def _transformed(fft: ModuleType, array: NDArray[Any], mode: str, name: str) -> NDArray[Any]:
    """mode: how many of the last dims, the direction, and what numpy.fft calls norm."""
    count, direction, norm = mode.split()
    axes = tuple(range(-int(count), 0))
    inverse = "i" if direction == "inverse" else ""
    transform: Callable[..., NDArray[Any]] = getattr(fft, f"{inverse}{name}")
    return transform(array, axes=axes, norm=norm)


def _to_real(fft: ModuleType, array: NDArray[Any], mode: str, size: float | None) -> NDArray[Any]:
    count, _, norm = mode.split()
    axes = tuple(range(-int(count), 0))
    sizes = [*array.shape[array.ndim - int(count) : -1], int(size or 0)]
    result: NDArray[Any] = fft.irfftn(array, sizes, axes, norm)
    return result


# routine: the result for (numpy.fft, operands, mode, number).
ROUTINES: dict[str, _Routine] = {
    "fft_c2c": lambda fft, a, mode, number: _transformed(fft, a[0], mode, "fftn"),
    "fft_r2c": lambda fft, a, mode, number: _transformed(fft, a[0], mode, "rfftn"),
    "fft_c2r": lambda fft, a, mode, number: _to_real(fft, a[0], mode, number),
}
