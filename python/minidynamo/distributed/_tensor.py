"""torch.distributed.tensor, by the path of older programs."""

from .._missing_names import explain_missing as _explain_missing
from .tensor import *  # noqa: F403

_explain_missing(__name__)
