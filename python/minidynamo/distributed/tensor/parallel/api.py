"""The names of torch.distributed.tensor.parallel.api."""

from ...._missing_names import explain_missing as _explain_missing
from . import parallelize_module

__all__ = ["parallelize_module"]

_explain_missing(__name__)
