"""The names of torch.distributed.elastic.multiprocessing that programs import."""

from __future__ import annotations

from ...._missing_names import explain_missing as _explain_missing
from . import errors as errors

_explain_missing(__name__)
