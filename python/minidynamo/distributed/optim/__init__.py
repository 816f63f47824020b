"""The names of torch.distributed.optim: there is one process."""

from __future__ import annotations

from ..._missing_names import explain_missing as _explain_missing
from ..single_process import absent_class

__all__ = [
    "DistributedOptimizer",
    "PostLocalSGDOptimizer",
    "ZeroRedundancyOptimizer",
]

DistributedOptimizer = absent_class(__name__, "DistributedOptimizer")
PostLocalSGDOptimizer = absent_class(__name__, "PostLocalSGDOptimizer")
ZeroRedundancyOptimizer = absent_class(__name__, "ZeroRedundancyOptimizer")


_explain_missing(__name__)
