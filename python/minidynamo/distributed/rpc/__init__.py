"""The names of torch.distributed.rpc: there is one process."""

from __future__ import annotations

from ..._missing_names import explain_missing as _explain_missing
from ..single_process import absent_class, absent_function

__all__ = [
    "BackendType",
    "RRef",
    "TensorPipeRpcBackendOptions",
    "WorkerInfo",
    "get_worker_info",
    "init_rpc",
    "remote",
    "rpc_async",
    "rpc_sync",
    "shutdown",
]

BackendType = absent_class(__name__, "BackendType")
RRef = absent_class(__name__, "RRef")
TensorPipeRpcBackendOptions = absent_class(__name__, "TensorPipeRpcBackendOptions")
WorkerInfo = absent_class(__name__, "WorkerInfo")
init_rpc = absent_function(__name__, "init_rpc")
remote = absent_function(__name__, "remote")
rpc_async = absent_function(__name__, "rpc_async")
rpc_sync = absent_function(__name__, "rpc_sync")
shutdown = absent_function(__name__, "shutdown")
get_worker_info = absent_function(__name__, "get_worker_info")


def is_available() -> bool:
    return False


_explain_missing(__name__)
