"""FloatFunctional: operations as a module, which torch's quantization observes."""

from __future__ import annotations

from collections.abc import Sequence

import minidynamo

from ...._C import Tensor
from ...._missing_names import explain_missing as _explain_missing
from ....nn.linear import Identity
from ....nn.module import Module

__all__ = ["FloatFunctional"]


class FloatFunctional(Module):
    """The operations below, in floating point. Calling it raises RuntimeError."""

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process = Identity()

    def forward(self, x: Tensor) -> Tensor:
        raise RuntimeError("FloatFunctional is not intended to use the 'forward'. Please use the underlying operation")

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        return self.activation_post_process(minidynamo.add(x, y))

    def add_scalar(self, x: Tensor, y: float) -> Tensor:
        return minidynamo.add(x, y)

    def mul(self, x: Tensor, y: Tensor) -> Tensor:
        return self.activation_post_process(minidynamo.mul(x, y))

    def mul_scalar(self, x: Tensor, y: float) -> Tensor:
        return minidynamo.mul(x, y)

    def cat(self, x: Sequence[Tensor], dim: int = 0) -> Tensor:
        return self.activation_post_process(minidynamo.cat(list(x), dim))

    def add_relu(self, x: Tensor, y: Tensor) -> Tensor:
        return self.activation_post_process(minidynamo.relu(minidynamo.add(x, y)))

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        return self.activation_post_process(minidynamo.matmul(x, y))


_explain_missing(__name__)
