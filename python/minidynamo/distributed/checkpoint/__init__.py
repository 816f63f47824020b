"""The names of torch.distributed.checkpoint: use save() and load(), as there is one process."""

from __future__ import annotations

from ..._missing_names import explain_missing as _explain_missing
from ..single_process import absent_class, absent_function

__all__ = [
    "DefaultLoadPlanner",
    "DefaultSavePlanner",
    "FileSystemReader",
    "FileSystemWriter",
    "async_save",
    "load",
    "load_state_dict",
    "save",
    "save_state_dict",
]

FileSystemReader = absent_class(__name__, "FileSystemReader")
FileSystemWriter = absent_class(__name__, "FileSystemWriter")
DefaultLoadPlanner = absent_class(__name__, "DefaultLoadPlanner")
DefaultSavePlanner = absent_class(__name__, "DefaultSavePlanner")
async_save = absent_function(__name__, "async_save")
load = absent_function(__name__, "load")
load_state_dict = absent_function(__name__, "load_state_dict")
save = absent_function(__name__, "save")
save_state_dict = absent_function(__name__, "save_state_dict")


_explain_missing(__name__)
