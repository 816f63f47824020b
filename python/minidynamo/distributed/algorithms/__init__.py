"""The names of torch.distributed.algorithms that programs import."""

from __future__ import annotations

from ..._missing_names import explain_missing as _explain_missing
from .join import Join as Join
from .join import Joinable as Joinable
from .join import JoinHook as JoinHook

_explain_missing(__name__)
