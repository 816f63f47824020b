"""The names of torch.distributed.distributed_c10d that programs import."""

from .._missing_names import explain_missing as _explain_missing
from . import Backend, ProcessGroup, ReduceOp, Work, group, init_process_group, is_initialized

__all__ = ["Backend", "ProcessGroup", "ReduceOp", "Work", "group", "init_process_group", "is_initialized"]


def _get_default_group() -> ProcessGroup:
    """Raises ValueError: there is no process group."""
    raise ValueError("Default process group has not been initialized: minidynamo runs in one process")


_explain_missing(__name__)
