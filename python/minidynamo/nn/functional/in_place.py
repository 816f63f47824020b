"""Activations that write their results into the input, and return it."""

from __future__ import annotations

from ..._C import Tensor
from . import activation

__all__ = ["celu_", "elu_", "hardtanh_", "leaky_relu_", "relu_", "rrelu_", "selu_", "threshold_"]


def relu_(input: Tensor) -> Tensor:
    """relu() in place."""
    return activation.relu(input, inplace=True)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """leaky_relu() in place."""
    return activation.leaky_relu(input, negative_slope, inplace=True)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """elu() in place."""
    return activation.elu(input, alpha, inplace=True)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """celu() in place."""
    return activation.celu(input, alpha, inplace=True)


def selu_(input: Tensor) -> Tensor:
    """selu() in place."""
    return activation.selu(input, inplace=True)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """hardtanh() in place."""
    return activation.hardtanh(input, min_val, max_val, inplace=True)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """threshold() in place."""
    return activation.threshold(input, threshold, value, inplace=True)


def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """rrelu() in place."""
    return activation.rrelu(input, lower, upper, training, inplace=True)
