"""The names of torch.distributed.tensor.parallel: there is one process."""

from __future__ import annotations

from ...._missing_names import explain_missing as _explain_missing
from ...single_process import absent_class, absent_function

__all__ = [
    "ColwiseParallel",
    "ParallelStyle",
    "PrepareModuleInput",
    "PrepareModuleInputOutput",
    "PrepareModuleOutput",
    "RowwiseParallel",
    "SequenceParallel",
    "loss_parallel",
    "parallelize_module",
]

ColwiseParallel = absent_class(__name__, "ColwiseParallel")
ParallelStyle = absent_class(__name__, "ParallelStyle")
PrepareModuleInput = absent_class(__name__, "PrepareModuleInput")
PrepareModuleInputOutput = absent_class(__name__, "PrepareModuleInputOutput")
PrepareModuleOutput = absent_class(__name__, "PrepareModuleOutput")
RowwiseParallel = absent_class(__name__, "RowwiseParallel")
SequenceParallel = absent_class(__name__, "SequenceParallel")
loss_parallel = absent_function(__name__, "loss_parallel")
parallelize_module = absent_function(__name__, "parallelize_module")


_explain_missing(__name__, ("api", "loss", "style"))
