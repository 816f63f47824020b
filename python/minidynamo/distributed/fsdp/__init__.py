"""The names of torch.distributed.fsdp: options as values; nothing is sharded, as there is one process."""

from __future__ import annotations

from ..._missing_names import explain_missing as _explain_missing
from ...nn.module import Module
from ..single_process import absent_class, absent_function
from .api import (
    BackwardPrefetch,
    CPUOffload,
    CPUOffloadPolicy,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalOptimStateDictConfig,
    LocalStateDictConfig,
    MixedPrecision,
    MixedPrecisionPolicy,
    OffloadPolicy,
    OptimStateDictConfig,
    OptimStateKeyType,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "CPUOffloadPolicy",
    "FSDPModule",
    "FullOptimStateDictConfig",
    "FullStateDictConfig",
    "FullyShardedDataParallel",
    "LocalOptimStateDictConfig",
    "LocalStateDictConfig",
    "MixedPrecision",
    "MixedPrecisionPolicy",
    "OffloadPolicy",
    "OptimStateDictConfig",
    "OptimStateKeyType",
    "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig",
    "ShardingStrategy",
    "StateDictConfig",
    "StateDictSettings",
    "StateDictType",
    "UnshardHandle",
    "fully_shard",
    "register_fsdp_forward_method",
    "share_comm_ctx",
]

FullyShardedDataParallel = absent_class(__name__, "FullyShardedDataParallel", Module)
FSDPModule = absent_class(__name__, "FSDPModule")
UnshardHandle = absent_class(__name__, "UnshardHandle")
fully_shard = absent_function(__name__, "fully_shard")
register_fsdp_forward_method = absent_function(__name__, "register_fsdp_forward_method")
share_comm_ctx = absent_function(__name__, "share_comm_ctx")


_explain_missing(__name__, ("fully_sharded_data_parallel", "wrap"))
