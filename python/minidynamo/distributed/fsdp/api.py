"""Options of torch.distributed.fsdp, as values for arguments: nothing here is sharded."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from ..._missing_names import explain_missing as _explain_missing

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "FullOptimStateDictConfig",
    "FullStateDictConfig",
    "LocalOptimStateDictConfig",
    "LocalStateDictConfig",
    "MixedPrecision",
    "OptimStateDictConfig",
    "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig",
    "ShardingStrategy",
    "StateDictConfig",
    "StateDictSettings",
    "StateDictType",
]


class ShardingStrategy(enum.Enum):
    """How parameters are split, for arguments."""

    FULL_SHARD = 1
    SHARD_GRAD_OP = 2
    NO_SHARD = 3
    HYBRID_SHARD = 4
    _HYBRID_SHARD_ZERO2 = 5


class BackwardPrefetch(enum.Enum):
    """When parameters are gathered for backward, for arguments."""

    BACKWARD_PRE = 1
    BACKWARD_POST = 2


class StateDictType(enum.Enum):
    """Which form a state_dict has, for arguments."""

    FULL_STATE_DICT = 1
    LOCAL_STATE_DICT = 2
    SHARDED_STATE_DICT = 3


class OptimStateKeyType(enum.Enum):
    """What states of optimizers are keyed by, for arguments."""

    PARAM_NAME = 1
    PARAM_ID = 2


@dataclass
class MixedPrecision:
    """Dtypes of parameters, gradients and buffers, for arguments."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """Dtypes of parameters, gradients and outputs, for arguments."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class CPUOffload:
    """Whether parameters wait in the CPU's memory, for arguments."""

    offload_params: bool = False


@dataclass
class OffloadPolicy:
    """A base class, for arguments."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Parameters wait in the CPU's memory, for arguments."""

    pin_memory: bool = True


@dataclass
class StateDictConfig:
    """A base class, for arguments."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """Of whole state_dicts, for arguments."""

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """Of the parts of each process, for arguments."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Of sharded state_dicts, for arguments."""

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """A base class, for arguments."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Of whole states of optimizers, for arguments."""

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Of the parts of each process, for arguments."""

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Of sharded states of optimizers, for arguments."""

    _use_dtensor: bool = False


@dataclass
class StateDictSettings:
    """A form of state_dicts with its options, for arguments."""

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig


_explain_missing(__name__)
