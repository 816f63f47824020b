"""The names of torch.distributed.fsdp.fully_sharded_data_parallel."""

from ..._missing_names import explain_missing as _explain_missing
from . import (
    FullyShardedDataParallel,
    OptimStateKeyType,
)
from .api import (
    BackwardPrefetch as BackwardPrefetch,
)
from .api import (
    CPUOffload as CPUOffload,
)
from .api import (
    FullOptimStateDictConfig as FullOptimStateDictConfig,
)
from .api import (
    FullStateDictConfig as FullStateDictConfig,
)
from .api import (
    LocalOptimStateDictConfig as LocalOptimStateDictConfig,
)
from .api import (
    LocalStateDictConfig as LocalStateDictConfig,
)
from .api import (
    MixedPrecision as MixedPrecision,
)
from .api import (
    OptimStateDictConfig as OptimStateDictConfig,
)
from .api import (
    ShardedOptimStateDictConfig as ShardedOptimStateDictConfig,
)
from .api import (
    ShardedStateDictConfig as ShardedStateDictConfig,
)
from .api import (
    ShardingStrategy as ShardingStrategy,
)
from .api import (
    StateDictConfig as StateDictConfig,
)
from .api import (
    StateDictSettings as StateDictSettings,
)
from .api import (
    StateDictType as StateDictType,
)

__all__ = ["FullyShardedDataParallel", "OptimStateKeyType"]

_explain_missing(__name__)
