"""A softmax over many classes by clusters of rarer and rarer ones."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

import minidynamo

from .._C import Tensor
from .container import ModuleList, Sequential
from .functional import log_softmax
from .linear import Linear
from .module import Module

_Result = namedtuple("_Result", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """(output, loss): the log probabilities of the targets (N,) for inputs (N, in_features), and minus their mean.

    cutoffs: the first class of each cluster behind the head; each cluster's features are divided by div_value once
    more.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: minidynamo.device | str | None = None,
        dtype: minidynamo.dtype | None = None,
    ) -> None:
        super().__init__()
        given = list(cutoffs)
        if not given:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        in_order = given == sorted(given) and len(set(given)) == len(given)
        if not in_order or min(given) <= 0 or max(given) > n_classes - 1 or any(int(c) != c for c in given):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each"
                " value is between 1 and n_classes-1"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*given, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = given[0]
        self.n_clusters = len(given)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, dtype=dtype)
        self.tail = ModuleList([self._cluster(at, dtype) for at in range(self.n_clusters)])

    def _cluster(self, at: int, dtype: minidynamo.dtype | None) -> Sequential:
        width = int(self.in_features // (self.div_value ** (at + 1)))
        size = self.cutoffs[at + 1] - self.cutoffs[at]
        return Sequential(
            Linear(self.in_features, width, bias=False, dtype=dtype), Linear(width, size, bias=False, dtype=dtype)
        )

    def forward(self, input: Tensor, target: Tensor) -> Any:
        if target.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        rows = input if target.dim() == 1 else input.unsqueeze(0)
        places = target if target.dim() == 1 else target.unsqueeze(0)
        if rows.shape[0] != places.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        found = self.log_prob(rows).gather(1, places.unsqueeze(1)).squeeze(1)
        output = found if target.dim() == 1 else found.squeeze(0)
        return _Result(output, -found.mean())

    def log_prob(self, input: Tensor) -> Tensor:
        """The log probabilities of all classes: (N, n_classes)."""
        head = log_softmax(self.head(input), dim=1)
        parts = [head[:, : self.shortlist_size]]
        for at, cluster in enumerate(self.tail):
            parts.append(log_softmax(cluster(input), dim=1) + head[:, self.shortlist_size + at].unsqueeze(1))
        return minidynamo.cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each row."""
        return self.log_prob(input).argmax(1)
