"""The names of torch.distributed.tensor: placements as values; there are no distributed tensors."""

from __future__ import annotations

from ..._missing_names import explain_missing as _explain_missing
from ..device_mesh import DeviceMesh as DeviceMesh
from ..device_mesh import init_device_mesh as init_device_mesh
from ..single_process import absent_class, absent_function
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = [
    "DTensor",
    "DeviceMesh",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_module",
    "distribute_tensor",
    "empty",
    "full",
    "init_device_mesh",
    "ones",
    "rand",
    "randn",
    "zeros",
]

DTensor = absent_class(__name__, "DTensor")
distribute_module = absent_function(__name__, "distribute_module")
distribute_tensor = absent_function(__name__, "distribute_tensor")
empty = absent_function(__name__, "empty")
full = absent_function(__name__, "full")
ones = absent_function(__name__, "ones")
rand = absent_function(__name__, "rand")
randn = absent_function(__name__, "randn")
zeros = absent_function(__name__, "zeros")


_explain_missing(__name__, ("parallel",))
