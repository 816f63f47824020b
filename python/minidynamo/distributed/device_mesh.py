"""The names of torch.distributed.device_mesh: there is one process."""

from __future__ import annotations

from .._missing_names import explain_missing as _explain_missing
from .single_process import absent_class, absent_function

__all__ = ["DeviceMesh", "init_device_mesh"]

DeviceMesh = absent_class(__name__, "DeviceMesh")
init_device_mesh = absent_function(__name__, "init_device_mesh")


_explain_missing(__name__)
