"""The names of torch.distributed.nn: there is one process."""

from __future__ import annotations

from ..._missing_names import explain_missing as _explain_missing
from . import functional as functional

_explain_missing(__name__)
