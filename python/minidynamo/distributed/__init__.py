"""Process groups by name: minidynamo runs in one process, and is_available() is False.

Questions (is_available, is_initialized, ...) are answered; whatever needs a group raises what to do instead.
"""

from __future__ import annotations

import enum
import os
from typing import Any, NoReturn

from .._missing_names import explain_missing as _explain_missing
from .device_mesh import DeviceMesh as DeviceMesh
from .device_mesh import init_device_mesh as init_device_mesh
from .single_process import absent_class

__all__ = [
    "Backend",
    "ProcessGroup",
    "ReduceOp",
    "Work",
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "broadcast_object_list",
    "destroy_process_group",
    "gather",
    "gather_object",
    "get_backend",
    "get_rank",
    "get_world_size",
    "group",
    "init_process_group",
    "irecv",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "isend",
    "monitored_barrier",
    "new_group",
    "recv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
    "send",
]

_INSTEAD = "minidynamo runs in one process (distributed.is_available() is False): leave the call out"


def is_available() -> bool:
    return False


def is_initialized() -> bool:
    return False


def is_backend_available(backend: str) -> bool:
    return False


def is_gloo_available() -> bool:
    return False


def is_mpi_available() -> bool:
    return False


def is_nccl_available() -> bool:
    return False


def is_torchelastic_launched() -> bool:
    """Whether torchrun started the process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


class ProcessGroup:
    """For annotations and isinstance() tests: there are none."""


class Work:
    """For annotations and isinstance() tests: there are none."""


class Backend(str):
    """Names of torch's backends, in lower case."""

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    MPI = "mpi"

    def __new__(cls, name: str) -> Backend:
        return super().__new__(cls, name.lower())


class ReduceOp(enum.IntEnum):
    """How values of processes are joined, for arguments."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7


FileStore = absent_class(__name__, "FileStore")
HashStore = absent_class(__name__, "HashStore")
P2POp = absent_class(__name__, "P2POp")
PrefixStore = absent_class(__name__, "PrefixStore")
Store = absent_class(__name__, "Store")
TCPStore = absent_class(__name__, "TCPStore")


class reduce_op:  # noqa: N801  torch's name
    """ReduceOp, by its older name."""

    SUM = ReduceOp.SUM
    PRODUCT = ReduceOp.PRODUCT
    MIN = ReduceOp.MIN
    MAX = ReduceOp.MAX
    BAND = ReduceOp.BAND
    BOR = ReduceOp.BOR
    BXOR = ReduceOp.BXOR


def is_xccl_available() -> bool:
    return False


def is_ucc_available() -> bool:
    return False


def get_default_backend_for_device(device: Any) -> str:
    """The name of the backend that torch takes for a type of device."""
    kind = str(device).partition(":")[0]
    return {"cuda": "nccl", "xpu": "xccl"}.get(kind, "gloo")


class group:  # noqa: N801  torch's name
    """The groups by name: there are none."""

    WORLD: ProcessGroup | None = None


def init_process_group(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises RuntimeError."""
    raise RuntimeError(f"distributed.init_process_group(): {_INSTEAD}")


def destroy_process_group(group: ProcessGroup | None = None) -> NoReturn:
    """Raises AssertionError, as torch does without a group."""
    raise AssertionError("Process group cannot be None")


def _of_group(name: str) -> Any:
    """A function that needs a group: it raises ValueError, as torch's does without one."""

    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise ValueError(f"Default process group has not been initialized: {_INSTEAD} ({name})")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Raises ValueError: there is no process group."
    return function


all_gather = _of_group("all_gather")
all_gather_into_tensor = _of_group("all_gather_into_tensor")
all_gather_object = _of_group("all_gather_object")
all_reduce = _of_group("all_reduce")
all_to_all = _of_group("all_to_all")
all_to_all_single = _of_group("all_to_all_single")
barrier = _of_group("barrier")
batch_isend_irecv = _of_group("batch_isend_irecv")
broadcast = _of_group("broadcast")
broadcast_object_list = _of_group("broadcast_object_list")
gather = _of_group("gather")
gather_object = _of_group("gather_object")
get_backend = _of_group("get_backend")
get_global_rank = _of_group("get_global_rank")
get_group_rank = _of_group("get_group_rank")
get_process_group_ranks = _of_group("get_process_group_ranks")
get_rank = _of_group("get_rank")
get_world_size = _of_group("get_world_size")
irecv = _of_group("irecv")
isend = _of_group("isend")
monitored_barrier = _of_group("monitored_barrier")
new_group = _of_group("new_group")
recv = _of_group("recv")
reduce = _of_group("reduce")
reduce_scatter = _of_group("reduce_scatter")
reduce_scatter_tensor = _of_group("reduce_scatter_tensor")
scatter = _of_group("scatter")
scatter_object_list = _of_group("scatter_object_list")
send = _of_group("send")

_SUBMODULES = (
    "algorithms",
    "checkpoint",
    "distributed_c10d",
    "elastic",
    "fsdp",
    "nn",
    "optim",
    "pipelining",
    "rpc",
    "tensor",
)
_explain_missing(__name__, _SUBMODULES)
