"""The weights of elements in cubic interpolation, by Keys' kernel."""

from __future__ import annotations

from ..._C import Tensor

__all__: list[str] = []

# torch's parameter of the kernel, but for antialiasing.
_PLAIN = -0.75


def near_weight(x: Tensor, a: float = _PLAIN) -> Tensor:
    """The weight of an element at a distance below 1."""
    return ((a + 2) * x - (a + 3)) * x * x + 1


def far_weight(x: Tensor, a: float = _PLAIN) -> Tensor:
    """That of one at a distance between 1 and 2."""
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a


def cubic_weights(t: Tensor) -> list[Tensor]:
    """Those of the four elements around a place that is t behind the second of them."""
    return [far_weight(t + 1), near_weight(t), near_weight(1 - t), far_weight(2 - t)]
