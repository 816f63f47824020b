"""Layers that multiply by a matrix."""

from __future__ import annotations

import math
from typing import TypeVar

import minidynamo

from .._C import Tensor
from .functional import linear
from .module import Module
from .parameter import Parameter

_T = TypeVar("_T")


def _uniform(shape: tuple[int, ...], bound: float, dtype: minidynamo.dtype | None) -> Tensor:
    return (minidynamo.rand(*shape, dtype=dtype) * 2 - 1) * bound


class Identity(Module):
    """Returns its argument; takes any arguments at creation and ignores them."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__()

    def forward(self, input: _T) -> _T:
        return input


class Linear(Module):
    """x @ weight.T + bias: (..., in_features) -> (..., out_features).

    weight is (out_features, in_features), bias (out_features,) or None. Both start uniform in
    +-1/sqrt(in_features), the distribution that torch.nn.Linear documents.
    """

    bias: Parameter | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: minidynamo.device | str | None = None,
        dtype: minidynamo.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        bound = 1 / math.sqrt(in_features) if in_features > 0 else 0
        self.weight = Parameter(_uniform((out_features, in_features), bound, dtype))
        if bias:
            self.bias = Parameter(_uniform((out_features,), bound, dtype))
        else:
            self.register_parameter("bias", None)

    def forward(self, input: Tensor) -> Tensor:
        return linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
