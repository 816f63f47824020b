"""The names of torch.distributed.tensor.parallel.loss."""

from ...._missing_names import explain_missing as _explain_missing
from . import loss_parallel

__all__ = ["loss_parallel"]

_explain_missing(__name__)
