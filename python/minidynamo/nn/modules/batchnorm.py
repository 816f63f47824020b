"""The names of torch.nn.modules.batchnorm: the classes of minidynamo.nn themselves."""

from ..._missing_names import explain_missing as _explain_missing
from ..lazy import LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d
from ..module import Module as Module
from ..normalization import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
)
from ..normalization import (
    _BatchNorm as _BatchNorm,
)
from ..normalization import (
    _NormBase as _NormBase,
)
from ..synchronized_batch_norm import (
    SyncBatchNorm,
)

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "SyncBatchNorm",
]

_explain_missing(__name__)
