"""The name of torch.distributed.fsdp.sharded_grad_scaler: there is one process."""

from __future__ import annotations

from ..._missing_names import explain_missing as _explain_missing
from ..single_process import absent_class

__all__ = [
    "ShardedGradScaler",
]

ShardedGradScaler = absent_class(__name__, "ShardedGradScaler")


_explain_missing(__name__)
