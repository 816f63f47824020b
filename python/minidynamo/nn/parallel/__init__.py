"""Copies of a module on several devices: there is one device, so that a module is run where it is."""

from __future__ import annotations

from ..._missing_names import explain_missing as _explain_missing
from .data_parallel import DataParallel, data_parallel
from .distributed import DistributedDataParallel
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter

__all__ = [
    "DataParallel",
    "DistributedDataParallel",
    "data_parallel",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
]

_explain_missing(__name__)
